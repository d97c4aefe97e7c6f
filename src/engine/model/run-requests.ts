/** The requests of a run as one object with indexes, which is made once, and counts of their rows by what became of them. */
import { classOf, isClosed, requestStatus } from '../states.js';
import type { RequestRecord } from './requests.js';

/** Whoever adds or changes a request tells it. */
export class RunRequests {
  /** In the order of their numbers. */
  readonly all: RequestRecord[] = [];
  /** By number: the place in `all`. */
  readonly #places = new Map<number, number>();
  /** By number: the numbers of those that send its rows again. */
  readonly #parts = new Map<number, number[]>();
  #hasCompleted = false;

  constructor(records: readonly RequestRecord[] = []) {
    this.add(...records);
  }

  /** The number of the next request. */
  get next(): number {
    return (this.all.at(-1)?.seq ?? 0) + 1;
  }

  of(seq: number): RequestRecord | undefined {
    return this.all[this.#places.get(seq) ?? -1];
  }

  add(...records: readonly RequestRecord[]): void {
    for (const record of records) {
      const { seq, parent } = record;
      this.#places.set(seq, this.all.push(record) - 1);
      if (parent === null) continue;
      const parts = this.#parts.get(parent);
      if (parts) parts.push(seq);
      else this.#parts.set(parent, [seq]);
    }
  }

  /** Replaces the request with the same number. */
  replace(record: RequestRecord): void {
    this.all[this.#places.get(record.seq)!] = record;
  }

  /** The requests that send its rows again. */
  partsOf({ seq }: Pick<RequestRecord, 'seq'>): RequestRecord[] {
    return (this.#parts.get(seq) ?? []).map((part) => this.of(part)!);
  }

  /** The request, then the one whose rows it sends again, and so on. */
  chainOf(r: RequestRecord): RequestRecord[] {
    const chain = [r];
    for (let of = r; of.parent !== null; chain.push(of)) of = this.of(of.parent)!;
    return chain;
  }

  /** The requests whose rows no other request sends again. Together, they have the outcome of every row. */
  get ends(): RequestRecord[] {
    return this.#parts.size === 0 ? this.all : this.all.filter(({ seq }) => !this.#parts.has(seq));
  }

  /** Counts of the rows of all requests. */
  get totals(): RowTotals {
    return sumOf(this.all.filter(({ parent }) => parent === null).map((r) => totalsIn(r, this)));
  }

  /** Whether the service has all rows of any request. */
  get hasCompleted(): boolean {
    this.#hasCompleted ||= this.all.some(isCompleted);
    return this.#hasCompleted;
  }
}

/** Whether the service has all its rows. */
export const isCompleted = (r: RequestRecord): boolean => r.rows > 0 && requestStatus(r) === 'completed';

/** Whether it is settled which rows a request has to send. @param chain it, then the one whose rows it sends, and so on */
export const isDecided = (chain: readonly RequestRecord[]): boolean =>
  chain.some((r) => isClosed(r)) || classOf(chain).rows !== 'unsent';

/**
 * `completed`: of those submitted, the ones that jobs have reported as completed. `given_up`: unsent or unknown rows that a
 * resume leaves as they are.
 */
const NOTHING = { submitted: 0, completed: 0, merged: 0, unchanged: 0, rejected: 0, unknown: 0, given_up: 0 };

/** Counts of rows, except those of the plan. */
export type RowTotals = typeof NOTHING;

function sumOf(all: readonly RowTotals[]): RowTotals {
  const sum = { ...NOTHING };
  for (const each of all) for (const key of Object.keys(sum) as (keyof RowTotals)[]) sum[key] += each[key];
  return sum;
}

/** Counts the rows of a request, as its parts have them. */
function totalsIn(r: RequestRecord, requests: RunRequests): RowTotals {
  const parts = requests.partsOf(r);
  if (parts.length === 0) return ofLast(r, requests.chainOf(r));
  const all = sumOf(parts.map((part) => totalsIn(part, requests)));
  // What its job has completed stays so while its rows are sent again.
  all.completed = Math.min(all.submitted, Math.max(all.completed, completedOf(r)));
  return all;
}

function ofLast(r: RequestRecord, chain: readonly RequestRecord[]): RowTotals {
  const totals = { ...NOTHING };
  const { rows } = classOf(chain);
  const closed = isClosed(r);
  if (rows === 'submitted') {
    totals.submitted += r.rows;
    totals.merged += r.merged;
    totals.completed += completedOf(r);
  } else if (rows === 'rejected' || rows === 'unknown') totals[rows] += r.rows + r.merged;
  if (closed && (rows === 'unknown' || rows === 'unsent')) totals.given_up += r.rows + r.merged;
  if (isDecided(chain)) totals.unchanged += r.unchanged;
  totals.submitted += r.overtaken;
  totals.unknown += r.doubtful;
  if (closed) totals.given_up += r.left_out - r.overtaken;
  return totals;
}

/** Rows that its own job has completed. If a completed job has no `completed_rows`, all its rows count. */
function completedOf({ job, rows, state }: RequestRecord): number {
  if (!job || state === 'rejected') return 0;
  const all = job.status === 'completed' ? rows : 0;
  // The spec says integer; nothing keeps a service from a number that counts no rows.
  return Math.max(0, Math.min(rows, Math.floor(job.completed_rows ?? all)));
}

/**
 * Running totals of submitted and completed rows. Adding up all requests after each one would take quadratic
 * time.
 */
export class Totals {
  submitted = 0;
  completed = 0;
  /** By number of a request that sends no rows again: what it and those below it add to the totals. */
  readonly #counted = new Map<number, RowTotals>();

  constructor(private readonly requests: RunRequests) {
    for (const record of requests.all) if (record.parent === null) this.count(record);
  }

  /** Updates the totals after the state, the job, or the parts of a request have changed. */
  count(record: RequestRecord): void {
    const root = this.requests.chainOf(record).at(-1)!;
    const before = this.#counted.get(root.seq) ?? NOTHING;
    const now = totalsIn(root, this.requests);
    this.submitted += now.submitted - before.submitted;
    this.completed += now.completed - before.completed;
    this.#counted.set(root.seq, now);
  }
}
