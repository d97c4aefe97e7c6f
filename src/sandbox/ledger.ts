/** What arrived at a sandbox since it started, request by request: for tests to hold a client against. */
import type { Operation } from './routes.js';
import type { Kind, Region } from './types.js';

/** A request that arrived, and how it was answered. */
export interface LedgerEntry {
  /** Number, from 1, in order of arrival. */
  n: number;
  /** ISO 8601, by the sandbox's clock. */
  time: string;
  listener: Region | 'lookup';
  method: string;
  /** As it was sent. */
  path: string;
  /** Null for a path that is not an operation. */
  operation: Operation | null;
  /** The `x-request-id` of the reply. */
  request_id: string;
  /** Status of the reply; null while there is none, or when it was never completed. */
  status: number | null;
  /** Milliseconds from its headers to the end of its reply, by the sandbox's clock; null before that. */
  duration_ms: number | null;
  /** The fault that applied, as it was written. */
  fault: string | null;
  /** Message of the first error in the reply. */
  error: string | null;
  /** What was accepted, if the request was carried out, whatever the reply said. */
  accepted: Accepted | null;
}

/** What a request upserted. */
export interface Accepted {
  kind: Kind;
  region: Region;
  items: number;
  /** Identifiers in order; null where the sandbox does not keep them. */
  ids: string[] | null;
  /** Size of the body. */
  bytes: number;
  /** SHA-256 of the body, in hexadecimal. */
  sha256: string;
  /** Null for a single company's upsert. */
  job_id: string | null;
}

/** Which entries a page shows: `problems` were not answered with 2xx, or a fault struck them. */
export const REQUEST_FILTERS = ['all', 'writes', 'polls', 'lookups', 'problems'] as const;
export type RequestFilter = (typeof REQUEST_FILTERS)[number];

export interface Ledger {
  /** Grows with every change of an entry. */
  readonly revision: number;
  readonly count: number;
  /** A new entry, for the exchange to fill in; it calls `changed` when it has. */
  open(entry: Omit<LedgerEntry, 'n'>): LedgerEntry;
  changed(): void;
  /** Copies, oldest first, of those after ordinal `after`. */
  list(after?: number): LedgerEntry[];
  /** Newest first, without the identifiers; `total` is how many the filter finds. */
  page(filter: RequestFilter, offset: number, limit: number): { total: number; entries: LedgerEntry[] };
  get(n: number): LedgerEntry | undefined;
  /** The request that created a job. */
  ofJob(jobId: string): LedgerEntry | undefined;
  clear(): void;
}

/** @param most older entries are forgotten beyond so many */
export function createLedger(most = 100_000): Ledger {
  let entries: LedgerEntry[] = [];
  let n = 0;
  let revision = 0;
  return {
    get revision() {
      return revision;
    },
    get count() {
      return entries.length;
    },
    open(entry) {
      n++;
      revision++;
      const opened = { n, ...entry };
      entries.push(opened);
      if (entries.length > most * 1.1) entries = entries.slice(-most);
      return opened;
    },
    changed() {
      revision++;
    },
    list: (after = 0) => entries.filter((entry) => entry.n > after).map((entry) => structuredClone(entry)),
    page(filter, offset, limit) {
      const found = filter === 'all' ? entries : entries.filter((entry) => isOf(filter, entry));
      const end = Math.max(0, found.length - offset);
      const slice = found.slice(Math.max(0, end - limit), end).reverse();
      return { total: found.length, entries: slice.map(withoutIds) };
    },
    get(wanted) {
      // Ordinals have no gaps, and only the oldest are forgotten.
      const entry = entries[wanted - (entries[0]?.n ?? 0)];
      return entry && withoutIds(entry);
    },
    ofJob(jobId) {
      const entry = entries.findLast(({ accepted }) => accepted?.job_id === jobId);
      return entry && withoutIds(entry);
    },
    clear() {
      entries = [];
      revision++;
    },
  };
}

function isOf(filter: RequestFilter, { operation, status, fault, duration_ms }: LedgerEntry): boolean {
  switch (filter) {
    case 'writes':
      return operation === 'submit' || operation === 'identify';
    case 'polls':
      return operation === 'job';
    case 'lookups':
      return operation === 'lookup';
    case 'problems':
      return fault !== null || (status === null ? duration_ms !== null : status >= 300);
    default:
      return true;
  }
}

function withoutIds(entry: LedgerEntry): LedgerEntry {
  return { ...entry, accepted: entry.accepted && { ...entry.accepted, ids: null } };
}
