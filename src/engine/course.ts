/**
 * The course of an import: where it starts differs, and nothing after it. A new import, a saved plan and a run that
 * continues take the same steps; what a step does follows from what is known, not from the command.
 */
import { type ErrorDetails, InterruptedError, ProfilesError, StateError } from './errors.js';
import type { ImportEvent } from './events.js';
import type { ImportOptions } from './options.js';
import type { Scanned } from './plan/plan.js';
import type { ImportDeps, ImportResult } from './run/deps.js';
import { checkAtDoor, checkStart, stillOpen, unfinishedOf } from './run/door.js';
import { checkOwnFiles, openInputs } from './run/inputs.js';
import { startPlan } from './run/plan-file.js';
import { followed, makePlan, scanInputs } from './run/planning.js';
import { addRetries, begin, nameRejects, reopen } from './run/record.js';
import { report } from './run/report.js';
import { RunRows } from './run/rows.js';
import { runPlanned } from './run/saved-plans.js';
import { sendRows } from './run/sending.js';
import { Session } from './run/session.js';
import { isContinuing, type Start } from './run/start.js';
import type { Ending } from './run/summary.js';
import { countRows } from './run/summary.js';
import { unsentOf } from './run/unsent.js';
import { sameScope } from './state/access.js';

/**
 * Carries out an import. Yields its events, the last one with the summary, and returns its result.
 * @throws ProfilesError if it cannot start: input, usage, another import is running, an input has changed
 */
export async function* carryOut(
  start: Start,
  options: ImportOptions,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, ImportResult> {
  const session = new Session(start, options, deps);
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
  const mark = deps.savePlan ? await startPlan(session.id, session.plannedAt, options.paths, deps) : null;
  await checkStart(session);
  const needsRows = start.from !== 'run' || !start.isSent;
  if (needsRows) session.open(yield* openInputs(start, session.recorded, session.spool, options, deps));
  checkOwnFiles(options, session.opened, session.earlier, deps);
  if (isRecorded) {
    yield* session.lock();
    await checkAtDoor(session); // the one check at the door
  }
  if (needsRows) {
    session.scanned = yield* scanInputs(session);
    yield* continueUnfinished(session, session.scanned);
  }

  const { plan, requests, decision } = session.scanned
    ? yield* makePlan(session, session.scanned, mark)
    : followed(session);
  const ending: Ending = { ...decision, records: session.requests.all, wait: options.wait, failure: null };
  if (!isRecorded) return yield* report(session, ending, plan);
  const { mode, left } = decision;
  if (plan && left > 0 && mode === 'sent') {
    await deps.confirm?.({ plan, rows: left, continues: session.earlier?.run ?? null });
  }
  yield* beginRun(session, ending);
  if (mode !== 'sent') return yield* report(session, ending, mode === 'held' ? plan : undefined);

  const failure = yield* sendRows(session, requests);
  // What could not be recorded did not happen, for a resume.
  if (failure instanceof StateError) await session.readRequests();
  const { all: records } = session.requests;
  return yield* report(session, { ...ending, rows: countRows(session.planned, records), records, failure });
}

/** Continues the unfinished run of the same content, if there is one and that is asked for. */
async function* continueUnfinished(session: Session, scanned: Scanned): AsyncGenerator<ImportEvent> {
  const found = await unfinishedOf(session, scanned);
  if (!found) return;
  if (!sameScope(found.scope, session.scope)) {
    yield* session.lock(found.scope);
    session.changes.forget();
  }
  // Another process may have ended it before its lock was taken.
  await session.continueWith(await stillOpen(found, isContinuing, session.deps.state));
  yield { type: 'notice', message: `resuming run ${found.run}, started at ${found.started_at}` };
}

/** Records that the session begins, before anything is sent. */
async function* beginRun(session: Session, ending: Ending): AsyncGenerator<ImportEvent> {
  const { plan, overtakes, earlier, rejecting, scanned, deps } = session;
  const sends = ending.mode === 'sent';
  /** Gives the rejects files their names, and records them. */
  const writeRejects = async () => {
    const files = rejecting!.flush();
    await rejecting!.record(unsentOf(scanned!, ending, session.options, deps));
    return files;
  };
  const retries = earlier ? addRetries(session, sends && scanned !== null) : [];
  if (scanned) {
    const rows = new RunRows(session.id, session.requests.all, { ...deps, signal: deps.stop });
    await rejecting!.restore(rows, deps.stop);
  }
  if (earlier) {
    await reopen(session, earlier, retries);
    // Its file stays until its retries are recorded: before that, their rows count as rejected.
    if (scanned) await nameRejects(session, await writeRejects());
  } else {
    const planned = plan ? runPlanned(plan, overtakes, deps.state) : undefined;
    for (const old of await begin(session, scanned!, await writeRejects(), planned, sends)) {
      const message = `this import replaces run ${old} of the same file, which was unfinished`;
      yield { type: 'warning', message };
    }
  }
  await rejecting?.remember(session.scope);
}
