/** An import from its options to its result. A resume is the same with the records of earlier sessions. */
import { type ErrorDetails, InterruptedError, ProfilesError } from './errors.js';
import type { ImportEvent } from './events.js';
import type { ImportOptions } from './options.js';
import type { ImportDeps, ImportResult } from './run/deps.js';
import type { Apply } from './run/planned.js';
import { Session } from './session.js';
import type { StoredRun } from './state/runs.js';

export type { ImportDeps, ImportResult } from './run/deps.js';

/**
 * Starts an import. Yields events, the summary last, and returns the result.
 * @param earlier continues this run
 * @param apply sends this saved plan; `earlier` is then its unfinished run, if any
 * @throws ProfilesError if it cannot start: input, usage, another import is running, an input has changed
 */
export async function* runImport(
  options: ImportOptions,
  deps: ImportDeps,
  earlier: StoredRun | null = null,
  apply: Apply | null = null,
): AsyncGenerator<ImportEvent, ImportResult> {
  const session = new Session(options, deps, earlier, apply);
  try {
    return yield* session.run();
  } catch (error) {
    // Reads and waits that are stopped reject with different errors. What counts is that the import was stopped.
    const details: ErrorDetails = earlier ? { problem: { code: 'resumable', run: earlier.run } } : {};
    throw deps.stop.aborted && !(error instanceof ProfilesError)
      ? InterruptedError.of(deps.stop, details)
      : error;
  } finally {
    await session.close();
  }
}
