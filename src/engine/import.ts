/** An import from its options to its result. A resume is the same with the records of earlier sessions. */
import type { Readable } from 'node:stream';
import type { Clock } from './clock.js';
import { type ErrorDetails, type ExitCode, InterruptedError, ProfilesError } from './errors.js';
import type { ImportEvent, Summary } from './model.js';
import type { ImportOptions } from './options.js';
import type { ServiceClient } from './service/client.js';
import { Session } from './session.js';
import type { StoredRun } from './state/runs.js';
import type { Scope, State } from './state/state.js';

export interface ImportDeps {
  state: State;
  /** Null where there is no token yet: enough for a dry run, which then knows nothing of past imports. */
  scope: Scope | null;
  /** Asked for as planning begins, where something may be sent; it connects when it sends. */
  client(): Promise<ServiceClient>;
  /** As reports name it. */
  service: { account: string | null; region: string; base_url: string };
  clock: Clock;
  random: () => number;
  cwd: string;
  platform: NodeJS.Platform;
  stdin: Readable;
  /** Worker threads for parsing; 0 parses in this thread. */
  threads: number;
  /** First Ctrl-C: intake and waiting end. Its reason names the signal, or is the error that ends the import. */
  stop: AbortSignal;
  /** Second Ctrl-C: requests in flight end. */
  abort: AbortSignal;
}

/** How it ended: `failure` is the error that ended it early, or null. */
export interface ImportResult {
  summary: Summary;
  exit: ExitCode;
  failure: unknown;
}

/**
 * Imports, or with `earlier` continues. Yields events, the summary last, and returns the result.
 * @throws ProfilesError for what keeps it from starting: input, usage, another import running, changed input
 */
export async function* runImport(
  options: ImportOptions,
  deps: ImportDeps,
  earlier: StoredRun | null = null,
): AsyncGenerator<ImportEvent, ImportResult> {
  const session = new Session(options, deps, earlier);
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
