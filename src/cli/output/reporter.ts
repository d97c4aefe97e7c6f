/** Who tells of an import: the conversation on stderr, and the result in the form that was asked for. */
import { OutputError } from '../../engine/errors.js';
import type { ImportEvent } from '../../engine/model.js';
import { annotate, inGitHubActions } from './annotations.js';
import { conversation } from './conversation.js';
import type { Reporter, ReporterOptions } from './reporter-types.js';
import { documentResult, eventResult } from './result.js';
import { progressMode } from './terminal.js';

export interface ImportReporter extends Reporter {
  /** Set once something could not be written; the import is to stop then, and its summary still to be reported. */
  lost(): OutputError | null;
}

/**
 * The reporter of one import (contract §3 "Result", §6).
 *
 * - `text`: progress, retries, warnings and the summary on stderr; with `--dry-run` the plan on stdout.
 * - `json`: the same conversation without the summary, which is one document on stdout; of a failure one line of it.
 * - `ndjson`: likewise, with each event but `progress` and `notice` as a line on stdout.
 *
 * @throws ConfigError for an unknown `PROFILES_PROGRESS`
 */
export function createReporter(options: ReporterOptions): ImportReporter {
  const { mode, stdout, stderr, env, flags } = options;
  // Lines of events and a live region in one terminal would fight for it.
  const shared = mode === 'ndjson' && stdout.isTTY === true;
  const progress = shared ? 'none' : progressMode(stderr, env, flags);
  /** The first part of the result or the conversation that could not be written. */
  let lost: OutputError | null = null;
  const talk = conversation({ ...options, progress, stdoutLost: () => lost?.stream === 'stdout' });
  const parts: Reporter[] = [
    talk,
    ...(mode === 'json' ? [documentResult(stdout)] : []),
    ...(mode === 'ndjson' ? [eventResult(stdout, options.clock)] : []),
    ...(inGitHubActions(env) ? [annotations(options)] : []),
  ];
  /** One that fails must not keep the others from what they have to say. */
  const tell = async (part: Reporter, event: ImportEvent): Promise<void> => {
    try {
      await part.report(event);
    } catch (error) {
      if (!(error instanceof OutputError)) throw error;
      const before = lost;
      lost ??= error;
      if (!before && event.type === 'summary' && error.stream === 'stdout') await tell(talk, event);
    }
  };
  let last: Promise<void> = Promise.resolve();
  return {
    lost: () => lost,
    report: (event) => {
      // One after the other: the region is wiped before the result is printed.
      last = last.then(async () => {
        for (const part of parts) await tell(part, event);
      });
      // A caller that does not wait is told by `close`.
      last.catch(() => {});
      return last;
    },
    close: async () => {
      try {
        await last;
      } finally {
        for (const part of parts) await part.close();
      }
    },
  };
}

function annotations({ env, cwd, stderr }: ReporterOptions): Reporter {
  return {
    report: (event) => (event.type === 'summary' ? annotate(event.summary, env, cwd, stderr) : undefined),
    close: async () => {},
  };
}
