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
 * Imports, or with `earlier` continues, or with `apply` carries out a saved plan, whose run may be `earlier`. Yields events, the summary last, and returns the result.
 * @throws ProfilesError for what keeps it from starting: input, usage, another import running, changed input
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
    // What a read or a wait rejects with when it is stopped differs; that it was stopped is what counts.
    const details: ErrorDetails = earlier ? { problem: { code: 'resumable', run: earlier.run } } : {};
    throw deps.stop.aborted && !(error instanceof ProfilesError)
      ? InterruptedError.of(deps.stop, details)
      : error;
  } finally {
    await session.close();
  }
}
