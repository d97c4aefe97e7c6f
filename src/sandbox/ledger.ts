/** The requests that a sandbox has received since it started, for tests that check a client. */
import type { Kind, Region } from './profile.js';

/** What an operation is called in faults and in the ledger. */
export type OperationName = 'submit' | 'identify' | 'job' | 'lookup' | 'openapi';

/** A request that arrived, and how it was answered. */
export interface LedgerEntry {
  /** Number of the request, from 1, in order of arrival. */
  n: number;
  /** ISO 8601, by the clock of the sandbox. */
  time: string;
  listener: Region | 'lookup';
  method: string;
  /** As it was sent. */
  path: string;
  /** Null for a path that is not an operation. */
  operation: OperationName | null;
  /** The `x-request-id` of the reply. */
  request_id: string;
  /** Status of the reply; null while there is none, or if it was never completed. */
  status: number | null;
  /**
   * Milliseconds from the headers of the request to the end of the reply, by the clock of the sandbox; null
   * before that.
   */
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
  /** Identifiers in order; null if the sandbox does not store them. */
  ids: string[] | null;
  /** Size of the body. */
  bytes: number;
  /** SHA-256 of the body, in hexadecimal. */
  sha256: string;
  /** Null for a single company's upsert. */
  job_id: string | null;
}

/**
 * Filters for a page of entries. `problems`: requests that a fault applied to, or that were not answered with
 * 2xx.
 */
const FILTERS = {
  all: () => true,
  writes: ({ operation }) => operation === 'submit' || operation === 'identify',
  polls: ({ operation }) => operation === 'job',
  lookups: ({ operation }) => operation === 'lookup',
  problems: ({ status, fault, duration_ms }) =>
    fault !== null || (status === null ? duration_ms !== null : status >= 300),
} satisfies Record<string, (entry: LedgerEntry) => boolean>;
type RequestFilter = keyof typeof FILTERS;
export const REQUEST_FILTERS = Object.keys(FILTERS) as RequestFilter[];

/** The number of entries to keep. Up to 10% more are kept for a while. */
const MOST = 100_000;

export class Ledger {
  /** Increases with every change of an entry. */
  revision = 0;
  #entries: LedgerEntry[] = [];
  #n = 0;

  get count(): number {
    return this.#entries.length;
  }

  /** Adds an entry of a request without a reply. The caller fills it in, and then calls `changed`. */
  open(arrived: Omit<LedgerEntry, 'n' | 'status' | 'duration_ms' | 'error' | 'accepted'>): LedgerEntry {
    const opened = { n: ++this.#n, ...arrived, status: null, duration_ms: null, error: null, accepted: null };
    this.#entries.push(opened);
    if (this.#entries.length > MOST * 1.1) this.#entries = this.#entries.slice(-MOST);
    this.changed();
    return opened;
  }

  changed(): void {
    this.revision++;
  }

  /** Copies of the entries after number `after`, oldest first. */
  list(after = 0): LedgerEntry[] {
    return this.#entries.filter((entry) => entry.n > after).map((entry) => structuredClone(entry));
  }

  /** A page of entries, newest first. `total` is the number of entries that match. */
  page(filter: RequestFilter, offset: number, limit: number): { total: number; entries: LedgerEntry[] } {
    const found = this.#entries.filter(FILTERS[filter]);
    const end = Math.max(0, found.length - offset);
    return { total: found.length, entries: found.slice(Math.max(0, end - limit), end).reverse() };
  }

  get(n: number): LedgerEntry | undefined {
    return this.#entries.find((entry) => entry.n === n);
  }

  /** The request that created a job. */
  ofJob(jobId: string): LedgerEntry | undefined {
    return this.#entries.findLast(({ accepted }) => accepted?.job_id === jobId);
  }

  clear(): void {
    this.#entries = [];
    this.changed();
  }
}
