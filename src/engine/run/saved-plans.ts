/**
 * A plan as a document, and as the requests of the run that carries it out (contract §3 "Review before sending"). In a
 * document, rows count from 1 and `last_row` is inclusive; in a run, rows count from 0 and `end_row` is exclusive.
 */
import type { PlanChanges } from '../model/plan-changes.js';
import type { RequestRecord } from '../model/requests.js';
import { type Kind, kindsOf } from '../model.js';
import type { RequestTotals } from '../plan/estimate.js';
import { acceptedOf, plannedRows, type Scanned } from '../plan/plan.js';
import {
  optionsToSave,
  PLAN_VERSION,
  type SavedPlan,
  type SavedRequest,
  sealed,
} from '../plan/saved-plan.js';
import { ITEM_FORMAT_VERSION, lineOffsets, startsAnywhere } from '../read/index.js';
import { type Chunk, rangesToRecord, type serialize } from '../send/chunk.js';
import { UNSENT } from '../send/request.js';
import { content } from '../send/request-record.js';
import type { PlannedRequests } from '../state/runs.js';
import type { State } from '../state/state.js';
import { accountOf, type PlanStart, stateId } from './plan-file.js';
import type { Session } from './session.js';

/** Makes the plan to save. @param mark what was taken down before anything was read */
export async function planToSave(
  { id: run, options, deps }: Session,
  scanned: Scanned,
  requests: SavedRequest[],
  { totals, changes }: { totals: RequestTotals; changes: PlanChanges | undefined },
  { scope, at, number, marks }: PlanStart,
): Promise<SavedPlan> {
  await addOffsets(requests, scanned, deps.stop);
  const inputs = scanned.inputs.map(({ opened: { path, kind, format }, scan }) => ({
    ...{ path, kind, format, bytes: scan.size, sha256: scan.digest },
    ...scan.rows,
    types: scan.schema.types,
    // Reasons are left out, because they quote cells.
    columns: scan.columns.map(({ column, key, type, conversion, empty }) => ({
      ...{ column, key, type },
      ...(conversion && { conversion }),
      empty,
    })),
  }));
  const rows = plannedRows(scanned);
  const { merged, unchanged, bytes } = totals;
  const before = changes?.rejected ?? 0;
  const duplicates = [...scanned.duplicates.values()].reduce((sum, found) => sum + found.count, 0);
  const kept = ['id', ...kindsOf(inputs)].map((name) => [name, marks[name]!]);
  return sealed({
    version: PLAN_VERSION,
    totals: {
      ...{ read: rows.read, filtered: rows.filtered, rejected: rows.rejected + before, merged, unchanged },
      to_send: acceptedOf(rows) - before - merged - unchanged,
      ...{ requests: totals.requests, bytes, duplicates },
    },
    ...(changes && { changes }),
    ...(await accountOf(scope, inputs, deps)),
    region: scope.region,
    base_url: scope.base_url,
    ...(options.changedOnly && { state: Object.fromEntries(kept) as Record<string, string> }),
    item_format: ITEM_FORMAT_VERSION,
    options: optionsToSave(options),
    inputs,
    requests,
    run,
    created_at: new Date(at).toISOString(),
    made_after: { state: marks.id!, number },
  });
}

/** Adds to each request the byte offset of its first line, if its input can be read from any line. */
async function addOffsets(requests: SavedRequest[], { inputs }: Scanned, signal: AbortSignal): Promise<void> {
  for (const [index, { opened }] of inputs.entries()) {
    if (!startsAnywhere(opened)) continue;
    const own = requests.filter(({ input, rows }) => input === index && rows > 0);
    const lines = own.map(({ first_line }) => first_line);
    const offsets = await lineOffsets(opened, lines, signal);
    for (const [at, request] of own.entries()) request.offset = offsets[at]!;
  }
}

/** A request as a plan has it. */
export function savedRequest(chunk: Chunk, body: ReturnType<typeof serialize>): SavedRequest {
  const [first, ...more] = rangesToRecord(chunk).map(({ first_row, end_row, rows, input, ...lines }) => ({
    range: { input, first_row: first_row + 1, last_row: end_row, ...lines },
    rows,
  }));
  const { rows, merged, unchanged, bytes, digest } = content(chunk, body);
  return {
    ...first!.range,
    offset: undefined, // its place among the others
    ...(more.length > 0 && { more: more.map(({ range, rows }) => ({ ...range, rows })) }),
    rows,
    ...(merged > 0 && { merged }),
    ...(unchanged > 0 && { unchanged }),
    ...(chunk.rejected !== null && { rejected: true as const }),
    bytes,
    sha256: digest,
  };
}

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

/** What the run of a plan begins with: its requests, and when their data was read. @param again whether newer data does not matter */
export function runPlanned(
  { run, created_at, made_after, requests }: SavedPlan,
  again: boolean,
  state: Pick<State, 'secret'>,
): PlannedRequests {
  const after = made_after?.state === stateId(state) ? made_after.number : null;
  return { requests: requests.map(recordOf), made: again ? null : { plan: run, at: created_at, after } };
}

type SavedRange = Omit<NonNullable<SavedRequest['more']>[number], 'rows'>;

const rangeOf = ({ input, first_row, last_row, first_line, last_line }: SavedRange) => ({
  ...{ input, first_row: first_row - 1, end_row: last_row, first_line, last_line },
});

/** A request of a plan as its run records it, before it is sent. */
const recordOf = (request: SavedRequest, index: number): RequestRecord => ({
  ...rangeOf(request),
  ...UNSENT,
  seq: index + 1,
  parent: null,
  more: (request.more ?? []).map((range) => ({ ...rangeOf(range), rows: range.rows })),
  rows: request.rows,
  merged: request.merged ?? 0,
  unchanged: request.unchanged ?? 0,
  ...{ left_out: 0, left_out_by: null, overtaken: 0, doubtful: 0 },
  bytes: request.bytes,
  digest: request.sha256,
  state: 'withdrawn',
  reason: 'planned',
});
