/** Saves what a command learns about jobs, for `jobs`, `resume`, and `--changed-only`. */

import { StateError, UsageError } from '../../engine/errors.js';
import type { Job } from '../../engine/service/contract.js';
import type { Scope } from '../../engine/state/state.js';
import type { Context } from '../context.js';

/**
 * Saves jobs in the state. If the state cannot be written or has moved, it only warns, so that the records
 * are still printed.
 */
export async function saveJobs(
  context: Context,
  jobs: readonly Job[],
  recorded: Scope | null,
): Promise<void> {
  try {
    const state = await context.state();
    await state.refuseMoved();
    const scope = recorded ?? (await context.scope());
    for (const job of jobs) await state.jobs.update(scope, job);
  } catch (error) {
    if (!(error instanceof StateError || error instanceof UsageError)) throw error;
    context.warn(error.message);
  }
}
