/**
 * Deletes what is no longer needed: spools of finished runs when a run begins, and old records when it ends.
 */
import { LockLostError, StateError } from '../errors.js';
import type { Kind } from '../model.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';
import type { ImportDeps } from './deps.js';
import { failedOf } from './failed-requests.js';

/** Deletes the spools of finished runs: another machine may have finished them. */
export async function sweepSpools(known: readonly StoredRun[], state: State): Promise<void> {
  for (const spool of state.spools()) {
    const of = known.find(({ run }) => run === spool);
    if (of?.finished && failedOf(await state.requests(of.run)).length === 0) state.removeSpool(spool);
  }
}

/** How much of the state to keep. */
export interface Keep {
  /** A lower bound for the number of different identifiers of a kind that the run has sent. */
  distinct: (kind: Kind) => number;
  /** How long the history of profiles is kept, in milliseconds. */
  historyKeepMs: number;
}

/** Deletes outdated fingerprints and old history. If that fails, the next run does it when it ends. */
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
    // Not reported: the run is recorded as ended, and the advice to resume would be wrong.
    if (!(error instanceof StateError) && !(error instanceof LockLostError)) throw error;
  }
}
