/** What a command learns about jobs is kept, so that `jobs`, `resume` and `--changed-only` know it too. */
import type { Context } from '../context.js';
import { StateError } from '../errors.js';
import type { Job } from '../service/contract.js';
import type { Scope } from '../state/state.js';

/** Notes jobs in this machine's state. A state that cannot be written must not hide the record: it is a warning. */
export async function remember(context: Context, jobs: readonly Job[]): Promise<void> {
  try {
    const state = await context.state();
    const scope = await scopeOf(context);
    for (const job of jobs) state.sawJob(scope, job);
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    context.warn(error.message);
  }
}

/** Whose service the command speaks to: account and host together. */
export const scopeOf = (context: Context): Promise<Scope> =>
  (context as Context & { scope(): Promise<Scope> }).scope();
