/** Runs an import. A resume is the same with the records of earlier sessions. */
import { type ErrorDetails, InterruptedError, ProfilesError } from './errors.js';
import type { ImportEvent } from './events.js';
import type { ImportOptions } from './options.js';
import type { ImportDeps, ImportResult } from './run/deps.js';
import { Following, isFollowedOnly } from './run/following.js';
import type { Apply } from './run/planned.js';
import { Session } from './session.js';
import type { StoredRun } from './state/runs.js';

export type { ImportDeps, ImportResult } from './run/deps.js';

/**
 * Runs an import. Yields its events, the last one with the summary, and returns its result.
 * @param earlier the run to continue, or null
 * @param apply the saved plan to send, or null; `earlier` is then its unfinished run, if there is one
 * @throws ProfilesError if it cannot start: input, usage, another import is running, an input has changed
 */
export async function* runImport(
  options: ImportOptions,
  deps: ImportDeps,
  earlier: StoredRun | null = null,
  apply: Apply | null = null,
): AsyncGenerator<ImportEvent, ImportResult> {
  const session =
    !apply && isFollowedOnly(earlier, options)
      ? new Following(options, deps, earlier)
      : new Session(options, deps, earlier, apply);
  try {
    return yield* session.run();
  } catch (error) {
    // After a stop, reads and waits reject with different errors. All of them mean that the import was
    // interrupted.
    const details: ErrorDetails = earlier ? { problem: { code: 'resumable', run: earlier.run } } : {};
    throw deps.stop.aborted && !(error instanceof ProfilesError)
      ? InterruptedError.of(deps.stop, details)
      : error;
  } finally {
    await session.close();
  }
}
