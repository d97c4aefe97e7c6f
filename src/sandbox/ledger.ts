/** What arrived at a sandbox since it started, request by request: for tests to hold a client against. */
import type { Operation } from './service.js';
import type { Kind, Region } from './types.js';

export interface LedgerEntry {
  /** Ordinal, from 1, in order of arrival. */
  n: number;
  /** ISO 8601, by the sandbox's clock. */
  time: string;
  listener: Region | 'lookup';
  method: string;
  /** As it was sent. */
  path: string;
  /** Null when the request meant none. */
  operation: Operation | null;
  /** The `x-request-id` of the reply. */
  request_id: string;
  /** Status of the reply; null while there is none, or when it was never completed. */
  status: number | null;
  /** The fault that struck, as it was written. */
  fault: string | null;
  /** Set when the request was carried out: it is in the store, whatever the client was told. */
  accepted: Accepted | null;
}

export interface Accepted {
  kind: Kind;
  region: Region;
  items: number;
  /** Identifiers in order; null where the sandbox was told not to keep them. */
  ids: string[] | null;
  bytes: number;
  /** Of the body, hex. */
  sha256: string;
  /** Null for a single company's upsert. */
  job_id: string | null;
}

export interface Ledger {
  /** A new entry, for the exchange to fill in. */
  open(entry: Omit<LedgerEntry, 'n'>): LedgerEntry;
  /** Copies, oldest first, of those after ordinal `after`. */
  list(after?: number): LedgerEntry[];
  clear(): void;
}

/** @param most older entries are forgotten beyond so many */
export function createLedger(most = 100_000): Ledger {
  let entries: LedgerEntry[] = [];
  let n = 0;
  return {
    open(entry) {
      n++;
      const opened = { n, ...entry };
      entries.push(opened);
      if (entries.length > most * 1.1) entries = entries.slice(-most);
      return opened;
    },
    list: (after = 0) => entries.filter((entry) => entry.n > after).map((entry) => structuredClone(entry)),
    clear() {
      entries = [];
    },
  };
}
