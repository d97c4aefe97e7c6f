/** Commands that only read stop at the first signal: they have nothing in flight that must finish. */

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
