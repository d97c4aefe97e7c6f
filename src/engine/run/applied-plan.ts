/** Turns a saved plan into the requests and the totals of its run (contract §3 "Review before sending"). */
import { InputError } from '../errors.js';
import { type CellType, type ColumnPlan, envelopeBytes, type Kind, kindsOf } from '../model.js';
import { DuplicateFinder } from '../plan/duplicates.js';
import type { RequestTotals } from '../plan/estimate.js';
import type { Scanned } from '../plan/plan.js';
import type { SavedPlan, SavedRequest } from '../plan/saved-plan.js';
import type { OpenedInput, Scan } from '../read/index.js';
import { UNSENT } from '../send/request.js';
import type { RequestRecord } from '../state/requests.js';
import type { PlannedRequests } from '../state/runs.js';
import type { State } from '../state/state.js';
import { stateId } from './saved-plans.js';
import type { DigestedInput } from './sources.js';

type SavedRange = NonNullable<SavedRequest['more']>[number];

/** The totals of the plan, for an import that does not need to count its requests again. */
export function totalsOfPlan({ inputs, requests: planned, totals }: SavedPlan): RequestTotals {
  const items = new Map<Kind, number>();
  for (const { input, rows } of planned.filter(({ rejected }) => !rejected)) {
    const { kind } = inputs[input]!;
    items.set(kind, (items.get(kind) ?? 0) + rows);
  }
  const { requests, bytes, merged, unchanged } = totals;
  return { exact: true, requests, bytes, merged, unchanged, items };
}

/**
 * Makes the result of a scan from the plan, so that the inputs are read only once. `bytes` and
 * `largestItemBytes` are 0. Null if the plan is not enough: a scan must find out which rows to filter or
 * reject, which identifiers repeat, and which rows have changed.
 */
export function scannedByPlan(
  plan: SavedPlan,
  opened: readonly OpenedInput[],
  located: readonly DigestedInput[],
  chunkBytes: number,
): Scanned | null {
  const { filtered, rejected, duplicates } = plan.totals;
  if (filtered + rejected > 0 || duplicates > 0 || plan.state) return null;
  const inputs = opened.map((input, index) => {
    const { read, types, columns } = plan.inputs[index]!;
    const { digest, marks, size } = located[index]!;
    const found = columns.map((column) => ({ ...column, reason: 'as planned' }) as ColumnPlan);
    const scan = {
      digest,
      marks,
      size,
      rows: { read, filtered: 0, rejected: 0 },
      bytes: 0,
      largestItemBytes: 0,
      columns: found,
      schema: { types: types as CellType[], itemLimitBytes: chunkBytes - envelopeBytes(input.kind) },
      sample: null,
      warnings: [],
      types: found.flatMap(({ key, type }): Scan['types'] =>
        key === null || key === 'user_id' || key === 'company_id' ? [] : [[key, type]],
      ),
    };
    return { opened: input, scan };
  });
  return {
    inputs,
    duplicates: new Map(kindsOf(opened).map((kind) => [kind, new DuplicateFinder()])),
    warnings: [],
  };
}

/** Compares the row counts of a scan with the plan. @throws InputError if they differ */
export function checkScan({ inputs }: SavedPlan, scanned: Scanned): void {
  for (const [index, { opened, scan }] of scanned.inputs.entries()) {
    const { read, filtered, rejected } = inputs[index]!;
    const found = scan.rows;
    if (found.read === read && found.filtered === filtered && found.rejected === rejected) continue;
    throw new InputError(`does not have the ${read} rows of the plan, ${rejected} of them rejected`, {
      file: opened.path,
      problem: { code: 'plan_input', path: opened.path },
    });
  }
}

/** What the run of a plan begins with: its requests, and when their data was read. */
export const runPlanned = (
  { plan, again }: { plan: SavedPlan; again: boolean },
  state: Pick<State, 'secret'>,
): PlannedRequests => ({
  requests: recordsOf(plan),
  made: again ? null : { plan: plan.run, at: plan.created_at, after: madeAfter(plan, state) },
});

const madeAfter = ({ made_after }: SavedPlan, state: Pick<State, 'secret'>): number | null =>
  made_after?.state === stateId(state) ? made_after.number : null;

/** The requests of a plan as its run records them, before any of them is sent. */
function recordsOf({ requests }: SavedPlan): RequestRecord[] {
  const rangeOf = ({ input, first_row, last_row, first_line, last_line }: SavedRequest | SavedRange) => ({
    input,
    first_row: first_row - 1,
    end_row: last_row,
    first_line,
    last_line,
  });
  return requests.map((request, index) => ({
    ...rangeOf(request),
    ...UNSENT,
    seq: index + 1,
    parent: null,
    more: (request.more ?? []).map((range) => ({ ...rangeOf(range), rows: range.rows })),
    rows: request.rows,
    merged: request.merged ?? 0,
    unchanged: request.unchanged ?? 0,
    left_out: 0,
    left_out_by: null,
    overtaken: 0,
    doubtful: 0,
    bytes: request.bytes,
    digest: request.sha256,
    state: 'withdrawn',
    reason: 'planned',
  }));
}
