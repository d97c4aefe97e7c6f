/** Deletes what is no longer needed: when a run begins, what other runs left on this machine; when it ends, what is old. */
import { LockLostError, StateError } from '../errors.js';
import type { Kind } from '../model.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';
import type { ImportDeps } from './deps.js';
import { failedOf } from './failed-requests.js';

/** Deletes the spools of runs that another machine has finished. The name of a shard's spool ends in its number. */
export async function sweepSpools(known: readonly StoredRun[], state: State): Promise<void> {
  for (const spool of state.spools()) {
    const of = known.find(({ run }) => run === spool.split('.')[0]);
    if (of?.finished && failedOf(await state.requests(of.run)).length === 0) state.removeSpool(spool);
  }
}

/** How much of the state to keep. */
export interface Keep {
  /** How many different identifiers of a kind the run has sent, at least. */
  distinct: (kind: Kind) => number;
  historyKeepMs: number;
}

/** Deletes what is old. If that fails, the next run does it when it ends. */
export async function tidy(
  scope: Scope,
  kinds: readonly Kind[],
  { distinct, historyKeepMs }: Keep,
  { state, clock }: Pick<ImportDeps, 'state' | 'clock'>,
): Promise<void> {
  try {
    for (const kind of kinds) await state.compactFingerprints(scope, kind, distinct(kind));
    await state.pruneHistory(clock.now() - historyKeepMs);
  } catch (error) {
    // The run is recorded as ended. To report this as a failure would tell the user to resume, which sends it all again.
    if (!(error instanceof StateError) && !(error instanceof LockLostError)) throw error;
  }
}
