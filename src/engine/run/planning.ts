/** Scans the inputs of a session, makes its plan, and decides what follows it. */
import type { ImportEvent } from '../events.js';
import type { PlanChanges, PlanTotals } from '../model/plan-changes.js';
import type { RunRequests } from '../model/run-requests.js';
import { type Kind, kindsOf, type Plan, type RowCounts } from '../model.js';
import type { RequestTotals } from '../plan/estimate.js';
import { checkProperties, isKnownLayout, typeChanges } from '../plan/key-checks.js';
import { ofFile, planOf, type Scanned, scanAll, scansOf } from '../plan/plan.js';
import type { SavedRequest } from '../plan/saved-plan.js';
import type { Warning } from '../problems.js';
import { checkScanned } from '../read/index.js';
import { countRequests } from '../send/read-chunks.js';
import { isHeld } from './changes.js';
import { checkUnchanged } from './door.js';
import { checkState, type PlanStart } from './plan-file.js';
import { planToSave, savedRequest, totalsOfPlan } from './saved-plans.js';
import { chunkDepsOf } from './sending.js';
import type { Session } from './session.js';
import { countPlanned, countRows, isWithinBound, leftToSend } from './summary.js';

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
    if (!recorded) changes.push(...typeChanges(last, scansOf(scanned, kind)));
    for (const { opened, scan } of scanned.inputs) {
      if (opened.kind !== kind || !isKnownLayout(last, scan)) continue;
      for (const warning of scan.warnings.filter(isAboutText)) said.add(ofFile(opened, warning).message);
    }
  }
  for (const warning of scanned.warnings) {
    // The types of a plan stand.
    if (session.start.from === 'plan' && isAboutText(warning)) continue;
    yield { type: 'warning', ...warning, ...(said.has(warning.message) && { isKnown: true as const }) };
  }
  for (const warning of changes) yield { type: 'warning', ...warning };
  return scanned;
}

/** Whether a warning is about text that looks like something else. */
const isAboutText = ({ problem }: Warning): boolean =>
  problem?.code === 'looks_typed' || problem?.code === 'null_markers';

export interface Planned {
  /** Undefined where no row is needed. */
  plan?: Plan;
  /** Number of requests, as far as it is known. */
  requests: number;
  decision: Decision;
}

/** Where no row is needed, there is no plan, and jobs are followed. */
export const followed = ({ planned, requests }: Session): Planned => ({
  requests: 0,
  decision: { mode: 'sent', rows: countRows(planned, requests.all), left: 0, stopped_by: null },
});

/**
 * Makes the plan, saves it if it is to be saved, and decides what follows.
 * @param mark what a plan to save took down before anything was read
 * @throws UsageError for a plan that cannot be saved
 */
export async function* makePlan(
  session: Session,
  scanned: Scanned,
  mark: PlanStart | null,
): AsyncGenerator<ImportEvent, Planned> {
  const { options, deps, plan: saved, earlier } = session;
  const { scope, state } = deps;
  // What continues was compared when it began.
  const compared = saved || earlier ? undefined : await session.changes.all(scanned);
  for (const warning of compared?.warnings ?? []) yield { type: 'warning', ...warning };
  const changes = compared?.changes ?? saved?.changes;
  const made: SavedRequest[] = [];
  const keep: Parameters<typeof countRequests>[3] = (...of) => void made.push(savedRequest(...of));
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
    const document = await planToSave(session, scanned, made, { totals, changes }, mark);
    await checkState(document, deps); // another import may have sent something while it was made
    await deps.savePlan!(document);
    plan.digest = document.digest;
  }
  if (options.checkProperties) {
    const { records } = await (await deps.client()).lookup('user_properties', deps.stop);
    const columns = scansOf(scanned, 'users').flatMap((scan) => scan.columns);
    plan.properties = checkProperties(columns, records);
  }
  const found = { totals, changes, begun: earlier && session.requests };
  const decision = decide(session, found);
  yield { type: 'plan', plan, totals: planTotals(decision, found) };
  return { plan, requests: totals.requests, decision };
}

export interface Decision {
  /** `planned`: a dry run. `held`: held back by `maxChanged`. `refused`: too many invalid rows. */
  mode: 'planned' | 'held' | 'refused' | 'sent';
  rows: RowCounts;
  /** Number of rows that are left to send. */
  left: number;
  stopped_by: PlanTotals['stopped_by'];
}

interface Found {
  totals: RequestTotals;
  changes: PlanChanges | undefined;
  /** The requests of a run that continues; null for a new one. */
  begun: RunRequests | null;
}

/** What happens after the plan: the course ends without sending, or sends. */
function decide({ planned, options, isRecorded }: Session, { totals, changes, begun }: Found): Decision {
  const isValid = isWithinBound(planned, options.invalid);
  const held = isValid && isHeld(planned, changes, options);
  const stopped_by = held ? 'changed' : isValid ? null : 'invalid';
  const { merged, unchanged } = totals;
  const found = { merged, unchanged: changes?.unchanged ?? unchanged, rejected: changes?.rejected ?? 0 };
  const rows = countPlanned(planned, found);
  const as = (mode: Decision['mode'], of = rows, left = of.unsent ?? 0): Decision => ({
    ...{ mode, rows: of, left, stopped_by },
  });
  if (held) return as('held');
  if (!isRecorded) return as('planned');
  if (!isValid) return as('refused', countRows(planned, begun?.all ?? []));
  return as('sent', rows, begun ? leftToSend(planned, begun, options.failed) : undefined);
}

/** The totals of the plan that `decision` follows. */
function planTotals(
  { mode, rows, left, stopped_by }: Decision,
  { totals, changes, begun }: Found,
): PlanTotals {
  const { read, filtered, rejected, merged, unchanged } = rows;
  const { requests, bytes } = totals.exact && !begun ? totals : { requests: null, bytes: null };
  return {
    ...{ read, filtered, rejected, merged, unchanged, requests, bytes },
    ...(mode !== 'refused' && changes?.rejected && { rejected_before: changes.rejected }),
    to_send: left,
    stopped_by,
  };
}
