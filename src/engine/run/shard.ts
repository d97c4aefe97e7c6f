/**
 * One shard of a saved plan (contract §10), and the requests that it sends. All shards share one run, and
 * read the progress of the others from the state. The *part* of a request is the number of the shard that
 * sends it, from 1.
 */
import { UsageError } from '../errors.js';
import type { FileRows, Kind, Summary } from '../model.js';
import { count } from '../numbers.js';
import type { ImportOptions } from '../options.js';
import type { SavedPlan, SavedRequest } from '../plan/saved-plan.js';
import { partsOf } from '../plan/shards.js';
import { type Numbers, type RequestRecord, rangesOf, rootsNow } from '../state/requests.js';
import type { WholeRun } from '../state/shards.js';
import type { ShardId, State } from '../state/state.js';
import { CauseTotals } from './causes.js';
import { isHeld } from './compared.js';
import { rangesOfSaved } from './plan-requests.js';
import { countRows, type Ending, type Facts, isWithinBound, summarize } from './summary.js';

/**
 * How long a shard waits for the lock of a dead process with the same shard: longer than its lease lasts
 * after the last heartbeat.
 */
export const PREDECESSOR_MS = 120_000;

export class Shard {
  readonly id: ShardId;
  /** The part of each request of the plan, in order. */
  readonly #parts: readonly number[];
  #numbers: Numbers;

  constructor(
    private readonly plan: SavedPlan,
    { shard, shards }: { shard: number; shards: number },
  ) {
    this.id = { run: plan.run, shard, shards };
    this.#parts = partsOf(plan.requests, plan.inputs, shards);
    this.#numbers = { after: plan.requests.length, shard, shards };
  }

  /** Numbers for new requests of this shard. */
  get numbers(): Numbers {
    return this.#numbers;
  }

  /**
   * Divides the requests of the run into those of this shard, and those of the plan that other shards send.
   */
  divide(records: readonly RequestRecord[]): { own: RequestRecord[]; others: Set<RequestRecord> } {
    const partOf = this.#partsIn(records);
    this.#numbers = {
      ...this.#numbers,
      after: Math.max(this.plan.requests.length, records.at(-1)?.seq ?? 0),
    };
    return {
      own: records.filter((r) => partOf(r) === this.id.shard),
      others: new Set(records.filter((r) => r.seq <= this.#parts.length && partOf(r) !== this.id.shard)),
    };
  }

  /** Row counts of this part, for one input or all. Filtered and rejected rows count for the first shard. */
  rows(input?: number): FileRows {
    const rows: FileRows = { read: 0, filtered: 0, rejected: 0 };
    for (const [index, { filtered, rejected }] of this.plan.inputs.entries()) {
      if (this.id.shard !== 1 || (input !== undefined && index !== input)) continue;
      rows.filtered += filtered;
      rows.rejected += rejected;
      rows.read += filtered + rejected;
    }
    for (const [at, request] of this.plan.requests.entries()) {
      if (this.#parts[at] === this.id.shard) rows.read += rowsIn(request, input);
    }
    return rows;
  }

  /** The inputs with the row counts of this part. */
  inputs(inputs: Facts['inputs']): Facts['inputs'] {
    return inputs.map((input, index) => ({ ...input, scan: { ...input.scan, rows: this.rows(index) } }));
  }

  /**
   * Returns a function that finds the part of a request. A request that was added later belongs to the part
   * of its rows.
   */
  #partsIn(records: readonly RequestRecord[]): (r: RequestRecord) => number {
    const bySeq = new Map(records.map((r) => [r.seq, r]));
    const planned = records.filter(({ seq }) => seq <= this.#parts.length);
    const partOf = (r: RequestRecord): number => {
      const own = this.#parts[r.seq - 1];
      if (own !== undefined) return own;
      if (r.parent !== null) return partOf(bySeq.get(r.parent)!);
      const [first] = rangesOf(r);
      const whole = planned.find((of) =>
        rangesOf(of).some(
          ({ input, first_row, end_row }) =>
            input === first!.input && first_row <= first!.first_row && first!.first_row < end_row,
        ),
      );
      return whole ? partOf(whole) : 1;
    };
    return partOf;
  }

  /**
   * The parts with unfinished requests of a kind, ascending.
   * @param records of the whole run, in order
   * @param wait whether a request is finished only when its job has ended
   */
  open(records: readonly RequestRecord[], kind: Kind, wait: boolean): number[] {
    const partOf = this.#partsIn(records);
    const roots = new Set(rootsNow(records));
    const isOpen = (r: RequestRecord): boolean => {
      if (this.plan.inputs[r.input]!.kind !== kind) return false;
      if (r.state === 'acknowledged') return wait;
      if (r.state === 'withdrawn' && r.parent === null) return roots.has(r);
      return ['intent', 'unknown', 'withdrawn', 'waiting'].includes(r.state);
    };
    return [...new Set(records.filter(isOpen).map(partOf))].sort((a, b) => a - b);
  }

  /** Requests of a part with a job that is not known to have ended. */
  unfinished(records: readonly RequestRecord[], shard: number): RequestRecord[] {
    const partOf = this.#partsIn(records);
    return records.filter((r) => r.state === 'acknowledged' && r.job !== null && partOf(r) === shard);
  }

  /** The shard that sends the canary: that of the first request with rows to send. */
  get ofCanary(): number | undefined {
    return this.#parts[this.plan.requests.findIndex(({ rows }) => rows > 0)];
  }

  get hasCanary(): boolean {
    return this.ofCanary === this.id.shard;
  }
}

/** Number of rows of a request, in one input or in all. Unchanged rows count for its first input. */
function rowsIn(request: SavedRequest, input: number | undefined): number {
  const { unchanged = 0 } = request;
  return rangesOfSaved(request).reduce(
    (sum, range, at) =>
      input === undefined || range.input === input ? sum + range.rows + (at === 0 ? unchanged : 0) : sum,
    0,
  );
}

/** @throws UsageError if the state has no shards */
export function checkShardState({ shards }: State): void {
  if (shards) return;
  throw new UsageError('shards need a state that they can all reach: a PostgreSQL database', {
    problem: { code: 'shards_need_postgres' },
  });
}

/**
 * @throws UsageError if the state has no shards, or the plan changes too many rows or has too many invalid
 * ones
 */
export function checkShard(plan: SavedPlan, options: ImportOptions, state: State): void {
  checkShardState(state);
  const { totals, changes } = plan;
  if (isHeld(totals, changes, options)) {
    throw new UsageError('the plan changes more rows than its limit allows, so its shards send nothing', {
      problem: { code: 'shards_of_held' },
    });
  }
  if (isWithinBound(totals, options.invalid)) return;
  throw new UsageError(`the plan has ${count(totals.rejected, 'rejected row')}, so its shards send nothing`, {
    problem: { code: 'shards_of_invalid' },
  });
}

/** The summary of a whole run, from the requests of all its shards. */
export function summarizeRun(
  records: readonly RequestRecord[],
  planned: FileRows,
  wait: boolean,
  facts: Facts,
): Summary {
  const ending: Ending = { mode: 'sent', rows: countRows(planned, records), records, wait, failure: null };
  const causes = new CauseTotals();
  return summarize(ending, { ...facts, rejected: [], causes, warnings: [], resume: null });
}

/** A shard and the whole run, as the summary has them. */
export const shardSummary = (
  { shard, shards }: ShardId,
  { status, finished, summary: { rows, requests } }: WholeRun,
): NonNullable<Summary['shard']> => ({ shard, shards, finished, run: { status, rows, requests } });
