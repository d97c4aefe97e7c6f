/**
 * Deletes what is no longer needed: spools of finished runs when a run begins, and old records when it ends.
 */

import { LockLostError, StateError } from '../errors.js';
import { type Kind, MAX_PLAN_AGE_MS } from '../model.js';
import { RunRequests } from '../state/run-requests.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';
import { failedOf } from './accounting.js';
import type { ImportDeps } from './deps.js';

/**
 * Deletes the spools of finished runs, and old ones of runs that are not known: another machine may have finished or
 * forgotten them. An import that is still planning has a spool before it has a record, and another database may know it.
 */
export async function sweepSpools(known: readonly StoredRun[], state: State, now: number): Promise<void> {
  for (const { run, changedAt } of state.spools.all()) {
    const of = known.find((one) => one.run === run);
    const isOver = of
      ? of.finished && failedOf(new RunRequests(await state.requests.of(run))).length === 0
      : changedAt < now - MAX_PLAN_AGE_MS;
    if (isOver) state.spools.remove(run);
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
    for (const kind of kinds) await state.known.compact(scope, kind, distinct(kind));
    await state.history.prune(clock.now() - historyKeepMs);
  } catch (error) {
    // Not reported: the run is recorded as ended, and the advice to resume would be wrong.
    if (!(error instanceof StateError) && !(error instanceof LockLostError)) throw error;
  }
}
