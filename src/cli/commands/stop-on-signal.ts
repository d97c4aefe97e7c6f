/** Commands that only read end at the first signal: there is nothing in flight that should be let finish. */

import { InterruptedError, ProfilesError } from '../../engine/errors.js';
import type { Context } from '../context.js';

/** Does the work under the stop signal. @throws InterruptedError with the hint, when a signal ended it */
export async function stopOnSignal<T>(
  { stop }: Pick<Context, 'stop'>,
  work: (signal: AbortSignal) => Promise<T>,
  hint?: string,
): Promise<T> {
  try {
    return await work(stop);
  } catch (error) {
    if (!stop.aborted || error instanceof ProfilesError) throw error;
    throw InterruptedError.of(stop, { hint });
  }
}
