/** Lets go of what is not needed any more: when a run begins, of what others left on this machine; when it ends, of what is old. */
import { LockLostError, StateError } from '../errors.js';
import type { Kind } from '../model.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';
import type { ImportDeps } from './deps.js';
import { failedOf } from './retry.js';

/** Removes what this machine keeps of runs that another one has finished. A shard's folder has its number behind the run. */
export async function sweepSpools(known: readonly StoredRun[], state: State): Promise<void> {
  for (const spool of state.spools()) {
    const of = known.find(({ run }) => run === spool.split('.')[0]);
    if (of?.finished && failedOf(await state.requests(of.run)).length === 0) state.removeSpool(spool);
  }
}

/** How much is kept. */
export interface Keep {
  /** Identifiers of a kind that the run has sent, at least. */
  distinct: (kind: Kind) => number;
  historyKeepMs: number;
}

/** Lets go of what is old. What fails is done at the end of the next run. */
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
    // The run has ended, and is on record as that: who is told to resume would send all of it again.
    if (!(error instanceof StateError) && !(error instanceof LockLostError)) throw error;
  }
}
