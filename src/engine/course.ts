/**
 * The course of an import: where it starts differs, and nothing after it. A new import, a saved plan and a run that
 * continues take the same steps; what a step does follows from what is known, not from the command.
 */
import { type ErrorDetails, InterruptedError, ProfilesError, StateError } from './errors.js';
import type { ImportEvent } from './events.js';
import type { ImportOptions } from './options.js';
import { contentOf } from './plan/plan.js';
import { countRows } from './run/accounting.js';
import { runPlanned } from './run/applied-plan.js';
import type { ImportDeps, ImportResult } from './run/deps.js';
import {
  checkAtDoor,
  checkContinuable,
  checkStart,
  checkUnchanged,
  isContinuable,
  stillUnfinished,
  unfinished,
} from './run/door.js';
import { identityOf } from './run/identity.js';
import { openInputs } from './run/inputs.js';
import { checkOwnFiles } from './run/own-files.js';
import { makePlan, type Planned, scanInputs } from './run/planning.js';
import { report } from './run/report.js';
import { RunRows } from './run/rows.js';
import { startPlan } from './run/saved-plans.js';
import { sendRows } from './run/sending.js';
import { Session } from './run/session.js';
import type { Start } from './run/start.js';
import type { Ending } from './run/summary.js';
import { unsentOf } from './run/unsent.js';
import { sameScope } from './state/scopes.js';

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
  const { start, run, options, deps, deadline } = session;
  await deps.state.refuseMoved();
  const mark = deps.savePlan ? await startPlan(run.id, session.plannedAt, options.paths, deps) : null;
  await checkStart(session);
  const needsRows = start.from !== 'run' || !start.isSent;
  const inputs = needsRows ? yield* openInputs(start, session.spool, options, deps) : null;
  if (inputs) session.open(inputs.opened);
  checkOwnFiles(options, session.opened, run.earlier, deps);
  yield* run.lock(inputs?.opened ?? run.earlier!.inputs, deadline.signal);
  await checkAtDoor(session); // the one check at the door
  if (inputs) {
    session.scanned = yield* scanInputs(session, inputs.located);
    yield* sameContent(session);
  }

  const planned = session.scanned && (yield* makePlan(session, session.scanned, mark));
  const { plan, requests, decision } = planned ?? followed(session);
  const { all: records } = run.requests;
  const ending: Ending = { ...decision, records, wait: options.wait, failure: null };
  if (options.dryRun) return yield* report(session, ending, plan);
  const { mode, left } = decision;
  if (plan && left > 0 && mode === 'sent') {
    await deps.confirm?.({ plan, rows: left, continues: run.earlier?.run ?? null });
  }
  yield* begin(session, ending);
  if (mode !== 'sent') return yield* report(session, ending, mode === 'held' ? plan : undefined);

  const failure = yield* sendRows(session, requests);
  // What could not be recorded did not happen, for a resume.
  if (failure instanceof StateError) await run.readRequests();
  const sent = countRows(session.planned, run.requests.all);
  return yield* report(session, { ...ending, rows: sent, records: run.requests.all, failure });
}

/** Where no row is needed, there is no plan, and jobs are followed. */
function followed({ planned, run }: Session): Planned | (Omit<Planned, 'plan'> & { plan?: undefined }) {
  const rows = countRows(planned, run.requests.all);
  return { requests: 0, decision: { mode: 'sent', rows, left: 0, stopped_by: null } };
}

/**
 * Holds the content against that of the run, or continues the unfinished run of the same content, if there is one and that
 * is asked for.
 */
async function* sameContent(session: Session): AsyncGenerator<ImportEvent> {
  const { run, options, deps, opened, deadline } = session;
  const { state, service, scope: here, offer } = deps;
  const scanned = session.scanned!;
  if (run.earlier) {
    const what = options.dryRun ? 'no plan of it can be made' : 'it cannot be continued';
    return checkUnchanged(run.earlier, scanned, deps.cwd, what);
  }
  if (session.start.from === 'inputs' && (options.resume || offer) && here) {
    const identity = identityOf(here, contentOf(scanned), options);
    const found = await unfinished(identity, here, service.account, state, options.resume);
    if (found && options.resume) checkContinuable(found, scanned.inputs);
    // A run that cannot be continued is superseded, as without `offer`.
    if (found && (options.resume || (isContinuable(found, scanned.inputs) && (await offer!(found))))) {
      if (!sameScope(found.scope, here)) {
        yield* run.lock(opened, deadline.signal, found.scope);
        session.known.forget();
      }
      // Another process may have ended it before its lock was taken.
      await run.continueWith(await stillUnfinished(found, state));
      yield { type: 'notice', message: `resuming run ${found.run}, started at ${found.started_at}` };
    }
  }
}

/** Records that the session begins, before anything is sent. */
async function* begin(session: Session, ending: Ending): AsyncGenerator<ImportEvent> {
  const { start, run, rejecting, scanned, deps } = session;
  const sends = ending.mode === 'sent';
  if (run.earlier) run.addRetries(sends && scanned !== null);
  if (scanned) {
    const rows = new RunRows(run.id, run.requests.all, { ...deps, signal: deps.stop });
    await rejecting!.restore(rows, deps.stop);
  }
  // The file of a run that continues stays until its retries are recorded: before that, their rows count as rejected.
  const { earlier } = run;
  const files = earlier ? null : await writeRejects(session, ending);
  const planned = start.from === 'plan' ? runPlanned(start, deps.state) : undefined;
  for (const old of await run.begin(scanned, files, planned, sends)) {
    yield {
      type: 'warning',
      message: `this import replaces run ${old} of the same file, which was unfinished`,
    };
  }
  if (scanned && earlier) await run.nameRejects(await writeRejects(session, ending));
  await rejecting?.remember(run.scope);
}

/** Gives the rejects files their names, and records them. @returns their paths, by input */
async function writeRejects(session: Session, ending: Ending): Promise<(string | null)[]> {
  const { rejecting, scanned, options, deps } = session;
  const files = rejecting!.flush();
  await rejecting!.record(unsentOf(scanned!, ending, options, deps));
  return files;
}
