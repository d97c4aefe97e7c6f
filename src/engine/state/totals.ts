/** Counts rows by what became of them. Pure. */

import { classOf, isClosed, requestStatus } from '../states.js';
import type { RequestRecord } from './requests.js';
import { RunRequests } from './run-requests.js';

/** Whether it is settled which rows a request has to send. @param chain it, then the one whose rows it sends, and so on */
export const isDecided = (chain: readonly RequestRecord[]): boolean =>
  chain.some((r) => isClosed(requestStatus(r))) || classOf(chain).rows !== 'unsent';

/** Counts of rows, except those of the plan. */
export interface RowTotals {
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

const nothing = (): RowTotals => ({
  submitted: 0,
  completed: 0,
  merged: 0,
  unchanged: 0,
  rejected: 0,
  unknown: 0,
  given_up: 0,
});

function add(sum: RowTotals, more: RowTotals): RowTotals {
  for (const key of Object.keys(sum) as (keyof RowTotals)[]) sum[key] += more[key];
  return sum;
}

/** Counts the rows of a request, as its parts have them. */
function totalsIn(r: RequestRecord, requests: RunRequests): RowTotals {
  const parts = requests.partsOf(r);
  if (parts.length === 0) return ofLast(r, requests.chainOf(r));
  const all = parts.map((part) => totalsIn(part, requests)).reduce(add, nothing());
  // What its job has completed stays so while its rows are sent again.
  all.completed = Math.min(all.submitted, Math.max(all.completed, completedOf(r)));
  return all;
}

function ofLast(r: RequestRecord, chain: readonly RequestRecord[]): RowTotals {
  const totals = nothing();
  const { rows } = classOf(chain);
  const closed = isClosed(requestStatus(r));
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

/** Counts the rows of all requests. */
export function totalsOf(records: readonly RequestRecord[]): RowTotals {
  const requests = new RunRequests(records);
  return records
    .filter(({ parent }) => parent === null)
    .map((r) => totalsIn(r, requests))
    .reduce(add, nothing());
}

export const submittedRows = (records: readonly RequestRecord[]): number => totalsOf(records).submitted;
export const completedRows = (records: readonly RequestRecord[]): number => totalsOf(records).completed;

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
    const before = this.#counted.get(root.seq) ?? nothing();
    const now = totalsIn(root, this.requests);
    this.submitted += now.submitted - before.submitted;
    this.completed += now.completed - before.completed;
    this.#counted.set(root.seq, now);
  }
}
