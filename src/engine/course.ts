/**
 * The course of an import: where it starts differs, and nothing after it. A new import, a saved plan and a run that
 * continues take the same steps; what a step does follows from what is known, not from the command.
 */
import { type ErrorDetails, InterruptedError, ProfilesError, StateError } from './errors.js';
import type { ImportEvent } from './events.js';
import type { PlanTotals } from './model/plan-changes.js';
import type { RowCounts } from './model.js';
import type { ImportOptions } from './options.js';
import { unsentOf } from './run/again.js';
import { isHeld } from './run/changes.js';
import { checkStart, continueUnfinished, enter } from './run/door.js';
import { checkOwnFiles, openInputs } from './run/inputs.js';
import { startPlan } from './run/plan-file.js';
import { makePlan, type Planned, runPlanned, scanInputs } from './run/planning.js';
import { addRetries, begin, reopen } from './run/record.js';
import { report } from './run/report.js';
import { RunRows } from './run/rows.js';
import { keepVerified, sendRows } from './run/sending.js';
import { Session } from './run/session.js';
import type { ImportDeps, ImportResult, Start } from './run/start.js';
import { countPlanned, countRows, type Ending, isWithinBound, leftToSend } from './run/summary.js';

/**
 * Carries out an import. Yields its events, the last one with the summary, and returns its result.
 * @throws ProfilesError if it cannot start: input, usage, another import is running, an input has changed
 */
export async function* carryOut(
  start: Start,
  options: ImportOptions,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, ImportResult> {
  // The search for rows at fault needs to see how jobs end.
  const onFailure = options.onFailure === 'isolate' && !options.wait ? 'stop' : options.onFailure;
  const session = new Session(start, { ...options, onFailure }, deps);
  try {
    return yield* session.noting(steps(session));
  } catch (error) {
    // After a stop, reads and waits reject with different errors. All of them mean that the import was
    // interrupted.
    const run = start.from === 'run' ? start.run.run : null;
    const details: ErrorDetails = run === null ? {} : { problem: { code: 'resumable', run } };
    throw deps.stop.aborted && !(error instanceof ProfilesError)
      ? InterruptedError.of(deps.stop, details)
      : error;
  } finally {
    await session.close();
  }
}

async function* steps(session: Session): AsyncGenerator<ImportEvent, ImportResult> {
  const { start, options, deps, isRecorded } = session;
  await deps.state.refuseMoved();
  const mark = deps.savePlan ? await startPlan(session.id, options.paths, deps) : null;
  await checkStart(session);
  const needsRows = start.from !== 'run' || !start.isSent;
  if (needsRows) session.open(yield* openInputs(start, session.recorded, session.spool, options, deps));
  checkOwnFiles(options, session.opened, session.earlier, deps);
  if (isRecorded) yield* enter(session); // the one check at the door
  if (needsRows) {
    session.scanned = yield* scanInputs(session);
    yield* continueUnfinished(session, session.scanned);
  }

  const made = session.scanned && (yield* makePlan(session, session.scanned, mark));
  const decision = decide(session, made);
  const { mode, left } = decision;
  const totals = made && totalsFor(session, decision, made);
  if (totals) yield { type: 'plan', plan: made.plan, totals };
  const begun = countRows(session.planned, session.requests).submitted;
  const ending: Ending = { ...decision, requests: session.requests, wait: options.wait, failure: null };
  if (!isRecorded) return yield* report(session, ending, made?.plan);
  if (made && left > 0 && mode === 'sent') {
    await deps.confirm?.({ plan: made.plan, rows: left, continues: session.earlier?.run ?? null });
  }
  yield* beginRun(session, ending);
  if (mode !== 'sent') return yield* report(session, ending, mode === 'held' ? made?.plan : undefined);

  const failure = yield* sendRows(session, begun + (totals?.to_send ?? 0));
  // What could not be recorded did not happen, for a resume.
  if (failure instanceof StateError) await session.readRequests();
  const { planned, requests } = session;
  return yield* report(session, { ...ending, rows: countRows(planned, requests), requests, failure });
}

interface Decision {
  mode: Ending['mode'];
  rows: RowCounts;
  /** Number of rows that are left to send. */
  left: number;
  stopped_by: PlanTotals['stopped_by'];
}

/** What happens after the plan: the course ends without sending, or sends. @param made null: no row is needed, and jobs are followed */
function decide(session: Session, made: Planned | null): Decision {
  const { planned, options, isRecorded, earlier, requests, failed } = session;
  const begun = countRows(planned, requests);
  if (!made) return { mode: 'sent', rows: begun, left: 0, stopped_by: null };
  const { totals, changes } = made;
  const { merged, unchanged } = totals;
  const found = { merged, unchanged: changes?.unchanged ?? unchanged, rejected: changes?.rejected ?? 0 };
  const rows = countPlanned(planned, found);
  const isValid = isWithinBound(planned, options.invalid);
  const held = isValid && isHeld(planned, changes, options);
  const stopped_by = held ? 'changed' : isValid ? null : 'invalid';
  const all = { rows, left: rows.unsent ?? 0, stopped_by } as const;
  if (held) return { mode: 'held', ...all };
  if (!isRecorded) return { mode: 'planned', ...all };
  if (!isValid) return { mode: 'refused', rows: begun, left: begun.unsent ?? 0, stopped_by };
  return { mode: 'sent', ...all, ...(earlier && { left: leftToSend(planned, requests, failed) }) };
}

/** The totals of the plan that `decision` follows. */
function totalsFor(session: Session, decision: Decision, { totals, changes }: Planned): PlanTotals {
  const { earlier, planned, options } = session;
  const { mode, left, stopped_by } = decision;
  const continues = earlier !== null && mode === 'sent';
  // What the run has completed is unchanged by now, and no more than what differs is left to send.
  const same = continues && options.changedOnly ? Math.max(0, left - (decision.rows.unsent ?? 0)) : 0;
  const { read, filtered, rejected } = decision.rows;
  const { merged, unchanged } = continues ? countRows(planned, session.requests) : decision.rows;
  const { requests, bytes } = totals.exact && !earlier ? totals : { requests: null, bytes: null };
  return {
    ...{ read, filtered, rejected, merged, unchanged: unchanged + same, requests, bytes },
    ...(mode !== 'refused' && changes?.rejected && { rejected_before: changes.rejected }),
    ...{ to_send: left - same, stopped_by },
  };
}

/** Records that the session begins, before anything is sent. */
async function* beginRun(session: Session, ending: Ending): AsyncGenerator<ImportEvent> {
  const { plan, overtakes, earlier, rejecting, scanned, options, deps } = session;
  const sends = ending.mode === 'sent';
  /** Gives the rejects files their names, and records them. */
  const writeRejects = async () => {
    rejecting!.flush();
    await rejecting!.record(unsentOf(scanned!, ending, options, deps));
  };
  const retries = earlier ? addRetries(session, sends && scanned !== null) : [];
  if (scanned) {
    const rows = new RunRows(session.id, session.requests, { ...deps, signal: deps.stop });
    await rejecting!.restore(rows, deps.stop);
  }
  if (earlier) {
    await reopen(session, earlier, retries);
    // Its file stays until its retries are recorded: before that, their rows count as rejected.
    if (scanned) await writeRejects();
  } else {
    const planned = plan ? runPlanned(plan, overtakes, deps.state) : undefined;
    // Before the run is recorded: a resume of the run must be able to rely on it.
    if (sends && options.full)
      for (const kind of session.kinds) await deps.state.known.clear(session.scope, kind);
    await writeRejects();
    for (const old of await begin(session, scanned!, planned, sends)) {
      const message = `this import replaces run ${old} of the same file, which was unfinished`;
      yield { type: 'warning', message };
    }
    if (sends && options.changedOnly) await keepVerified(session, scanned!);
  }
  await rejecting?.remember(session.scope);
}
