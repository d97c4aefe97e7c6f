/** What a command learns about jobs is kept, so that `jobs`, `resume` and `--changed-only` know it too. */

import { StateError } from '../../engine/errors.js';
import type { Job } from '../../engine/service/contract.js';
import type { Context } from '../context.js';

/** Notes jobs in this machine's state. A state that cannot be written must not hide the record: it is a warning. */
export async function saveJobs(context: Context, jobs: readonly Job[]): Promise<void> {
  try {
    const state = await context.state();
    const scope = await context.scope();
    for (const job of jobs) state.sawJob(scope, job);
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    context.warn(error.message);
  }
}
