/**
 * Scans the inputs of a session and makes its plan, also as a document, and as the requests of the run that carries it out
 * (contract §3 "Review before sending").
 */

import type { ImportEvent } from '../events.js';
import type { PlanChanges } from '../model/plan-changes.js';
import type { RequestRecord } from '../model/requests.js';
import { type Kind, kindsOf, type Plan } from '../model.js';
import { checkProperties, isKnownLayout, typeChanges } from '../plan/key-checks.js';
import {
  acceptedOf,
  ofFile,
  plannedRows,
  planOf,
  type RequestTotals,
  type Scanned,
  scanAll,
  scansOf,
} from '../plan/plan.js';
import {
  optionsToSave,
  PLAN_VERSION,
  type SavedPlan,
  type SavedRequest,
  sealed,
} from '../plan/saved-plan.js';
import type { Warning } from '../problems.js';
import { checkScanned, ITEM_FORMAT_VERSION, lineOffsets, startsAnywhere } from '../read/index.js';
import { type Chunk, rangesToRecord } from '../send/chunk.js';
import { countRequests } from '../send/read-chunks.js';
import { prepare, UNTRIED } from '../send/request-record.js';
import type { PlannedRequests } from '../state/runs.js';
import type { State } from '../state/state.js';
import { checkUnchanged } from './door.js';
import { accountOf, checkState, type PlanStart, stateId } from './plan-file.js';
import { chunkDepsOf } from './sending.js';
import type { Session } from './session.js';

/**
 * Scans the inputs, adds rejected rows to the rejects files, and warns of column types that changed since the
 * last import.
 * @throws InputError if an input cannot be read, or has another content than was recorded; UsageError if no input has the column of a rule
 */
export async function* scanInputs(session: Session): AsyncGenerator<ImportEvent, Scanned> {
  const { opened, options, deps, pool, rejecting, recorded } = session;
  const { scope, state } = deps;
  const scanned = yield* scanAll(opened, {
    hashKey: state.secret,
    itemLimitBytes: options.chunkBytes,
    pool,
    signal: deps.stop,
    reject: (input, row) => rejecting!.planned(input, row),
  });
  checkUnchanged(session, scanned);
  await rejecting!.scanned(scanned);
  checkScanned(scanned.inputs, options);
  const changes: Warning[] = [];
  const said = new Set<string>();
  for (const kind of scope ? kindsOf(opened) : []) {
    const last = await state.known.columnTypes(scope!, kind);
    // What was decided before is as it was then.
    const scans = scansOf(scanned, kind).filter(({ rows }) => acceptedOf(rows) > 0);
    if (!recorded) changes.push(...typeChanges(last, scans));
    for (const { opened, scan } of scanned.inputs) {
      if (opened.kind !== kind || !isKnownLayout(last, scan)) continue;
      for (const warning of scan.warnings.filter(isAboutText)) said.add(ofFile(opened, warning).message);
    }
  }
  for (const warning of scanned.warnings) {
    if (session.plan && isAboutText(warning)) continue; // seen when it was reviewed
    yield { type: 'warning', ...warning, ...(said.has(warning.message) && { isKnown: true as const }) };
  }
  for (const warning of changes) yield { type: 'warning', ...warning };
  return scanned;
}

/** Whether a warning is about text that looks like something else. */
const isAboutText = ({ problem }: Warning): boolean =>
  problem?.code === 'looks_typed' || problem?.code === 'null_markers';

export interface Planned {
  plan: Plan;
  totals: RequestTotals;
  changes: PlanChanges | undefined;
}

/**
 * Makes the plan, and saves it if it is to be saved.
 * @param mark what a plan to save took down before anything was read
 * @throws UsageError for a plan that cannot be saved
 */
export async function* makePlan(
  session: Session,
  scanned: Scanned,
  mark: PlanStart | null,
): AsyncGenerator<ImportEvent, Planned> {
  const { options, deps, plan: saved } = session;
  const { scope, state } = deps;
  const compared = session.wasCompared ? undefined : await session.changes.all(scanned);
  for (const warning of compared?.warnings ?? []) yield { type: 'warning', ...warning };
  const changes = compared?.changes ?? saved?.changes;
  const requests: SavedRequest[] = [];
  const keep = (chunk: Chunk) => void requests.push(savedRequest(chunk));
  const exactly = !session.isRecorded || deps.confirm !== undefined;
  const totals = saved
    ? totalsOfPlan(saved)
    : await countRequests(scanned, chunkDepsOf(session, scanned), exactly, mark ? keep : undefined);
  const throughput = new Map<Kind, number | null>();
  for (const kind of scope ? session.kinds : [])
    throughput.set(kind, await state.jobs.throughput(scope!, kind));
  const plan = planOf(scanned, totals, (kind) => throughput.get(kind) ?? null);
  if (changes) plan.changes = changes;
  if (mark) {
    await addOffsets(requests, scanned, deps.stop);
    const document = await documentOf(session, scanned, { plan, totals, changes }, requests, mark);
    await checkState(document, deps); // another import may have sent something while it was made
    await deps.savePlan!(document);
    plan.digest = document.digest;
  }
  if (options.checkProperties) {
    const { records } = await (await deps.client()).lookup('user_properties', deps.stop);
    const columns = scansOf(scanned, 'users').flatMap((scan) => scan.columns);
    plan.properties = checkProperties(columns, records);
  }
  return { plan, totals, changes };
}

/** The plan to save. */
async function documentOf(
  { id: run, options, deps, scope, plannedAt }: Session,
  scanned: Scanned,
  { plan: { duplicates }, totals, changes }: Planned,
  requests: SavedRequest[],
  { number, marks }: PlanStart,
): Promise<SavedPlan> {
  const inputs = scanned.inputs.map(({ opened: { path, kind, format }, scan }) => ({
    ...{ path, kind, format, bytes: scan.size, digest: scan.digest },
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
    ...{ inputs, requests, run },
    created_at: new Date(plannedAt).toISOString(),
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

/** A request as a plan has it: what is recorded of it, without what is the same for all that were not sent yet. */
function savedRequest(chunk: Chunk): SavedRequest {
  const [first, ...more] = rangesToRecord(chunk);
  const { rows: _, ...range } = first!;
  const { rows, merged, unchanged, bytes, digest } = prepare(chunk).content;
  return {
    ...range,
    offset: undefined, // its place among the others
    ...(more.length > 0 && { more }),
    ...{ rows, merged, unchanged },
    ...(chunk.rejected !== null && { rejected: true as const }),
    ...{ bytes, digest },
  };
}

/** The totals of the plan, for an import that does not need to count its requests again. */
function totalsOfPlan({ inputs, requests: planned, totals }: SavedPlan): RequestTotals {
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

/** A request of a plan as its run records it, before it is sent. */
const recordOf = (
  { offset: _, rejected: _r, more = [], ...request }: SavedRequest,
  index: number,
): RequestRecord => ({
  ...request,
  ...UNTRIED,
  ...{ more, seq: index + 1, parent: null },
  ...{ left_out: 0, left_out_by: null, overtaken: 0, doubtful: 0 },
  ...{ state: 'withdrawn', reason: 'planned' },
});
