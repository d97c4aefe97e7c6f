/** Counts rows by what became of them. Pure. */

import { classOf, isClosed, type RowClass, requestStatus } from '../states.js';
import { isDividedAgain, type RequestRecord, requestOf } from './requests.js';

/** The requests of a run, with those that send rows of others again below them. */
export class RequestTree {
  readonly #parts = new Map<number, number[]>();

  /** @param records in order; requests that are added later are passed to `add` */
  constructor(readonly records: readonly RequestRecord[]) {
    for (const record of records) this.add(record);
  }

  add({ seq, parent }: Pick<RequestRecord, 'seq' | 'parent'>): void {
    if (parent === null) return;
    const parts = this.#parts.get(parent);
    if (parts) parts.push(seq);
    else this.#parts.set(parent, [seq]);
  }

  partsOf({ seq }: RequestRecord): RequestRecord[] {
    return (this.#parts.get(seq) ?? []).map((part) => requestOf(this.records, part)!);
  }

  /** The request, then the one whose rows it sends again, and so on. */
  chainOf(r: RequestRecord): RequestRecord[] {
    const chain = [r];
    for (let of = r; of.parent !== null; chain.push(of)) of = requestOf(this.records, of.parent)!;
    return chain;
  }
}

/** Whether it is settled which rows it has to send. Only those of a request without a parent are divided again. */
export const isDecided = (r: RequestRecord, rows: RowClass): boolean =>
  r.parent !== null || isClosed(requestStatus(r)) || rows !== 'unsent';

/** Counts of rows, except those of the plan. */
export interface Tally {
  submitted: number;
  /** Of those submitted, the ones that jobs have reported as completed. */
  completed: number;
  merged: number;
  unchanged: number;
  rejected: number;
  unknown: number;
  /** Unsent or unknown rows that a resume leaves as they are. */
  given_up: number;
}

const nothing = (): Tally => ({
  submitted: 0,
  completed: 0,
  merged: 0,
  unchanged: 0,
  rejected: 0,
  unknown: 0,
  given_up: 0,
});

function add(sum: Tally, more: Tally): Tally {
  for (const key of Object.keys(sum) as (keyof Tally)[]) sum[key] += more[key];
  return sum;
}

/** Counts the rows of a request, as its parts have them. */
function tallyOf(r: RequestRecord, tree: RequestTree): Tally {
  const parts = tree.partsOf(r);
  if (parts.length === 0) return ofLast(r, tree.chainOf(r));
  const all = parts.map((part) => tallyOf(part, tree)).reduce(add, nothing());
  // What its job has completed stays so while its rows are sent again.
  all.completed = Math.min(all.submitted, Math.max(all.completed, completedOf(r)));
  return all;
}

function ofLast(r: RequestRecord, chain: readonly RequestRecord[]): Tally {
  const tally = nothing();
  // Its rows are divided into requests again, or were by now.
  if (isDividedAgain(r)) return tally;
  const { rows } = classOf(chain);
  const closed = isClosed(requestStatus(r));
  if (rows === 'submitted') {
    tally.submitted += r.rows;
    tally.merged += r.merged;
    tally.completed += completedOf(r);
  } else if (rows === 'rejected' || rows === 'unknown') tally[rows] += r.rows + r.merged;
  if (closed && (rows === 'unknown' || rows === 'unsent')) tally.given_up += r.rows + r.merged;
  if (isDecided(r, rows)) tally.unchanged += r.unchanged;
  tally.submitted += r.overtaken;
  tally.unknown += r.doubtful;
  if (closed) tally.given_up += r.left_out - r.overtaken;
  return tally;
}

/** Rows that its own job has completed. If a completed job has no `completed_rows`, all its rows count. */
function completedOf({ job, rows, state }: RequestRecord): number {
  if (!job || state === 'rejected') return 0;
  const all = job.status === 'completed' ? rows : 0;
  // The spec says integer; nothing keeps a service from a number that counts no rows.
  return Math.max(0, Math.min(rows, Math.floor(job.completed_rows ?? all)));
}

/** Counts the rows of all requests. */
export function tallyAll(records: readonly RequestRecord[]): Tally {
  const tree = new RequestTree(records);
  return records
    .filter(({ parent }) => parent === null)
    .map((r) => tallyOf(r, tree))
    .reduce(add, nothing());
}

export const submittedRows = (records: readonly RequestRecord[]): number => tallyAll(records).submitted;
export const completedRows = (records: readonly RequestRecord[]): number => tallyAll(records).completed;

/**
 * Running totals of submitted and completed rows. Adding up all requests after each one would take quadratic
 * time.
 */
export class Totals {
  submitted = 0;
  completed = 0;
  readonly #tree: RequestTree;
  /** By number of a request that sends no rows again: what it and those below it add to the totals. */
  readonly #counted = new Map<number, Tally>();

  /** @param records of the run, in order. New ones are added to the array */
  constructor(records: readonly RequestRecord[]) {
    this.#tree = new RequestTree(records);
    for (const record of records) if (record.parent === null) this.count(record);
  }

  /** Updates the totals after the state or the job of a request has changed. */
  count(record: RequestRecord): void {
    const root = this.#tree.chainOf(record).at(-1)!;
    const before = this.#counted.get(root.seq) ?? nothing();
    const now = tallyOf(root, this.#tree);
    this.submitted += now.submitted - before.submitted;
    this.completed += now.completed - before.completed;
    this.#counted.set(root.seq, now);
  }

  /** Adds requests that send rows of others again. */
  divide(parts: readonly RequestRecord[]): void {
    for (const part of parts) this.#tree.add(part);
    for (const part of parts) this.count(part);
  }
}
