/** Reports an import: the conversation on stderr, and the result in the chosen form. */
import { OutputError } from '../../engine/errors.js';
import { type AnnotateOptions, annotate, namesIn } from './annotations.js';
import { conversation, type Reporter } from './conversation.js';
import { nextCommands, type PrintedEvent, type PrintedSummary } from './result.js';
import { inGitHubActions } from './runner.js';
import { totalsLine } from './summary-text.js';
import { type Env, type OutputFlags, progressMode, type TextStream } from './terminal.js';
import { writeJson, writeOut } from './write.js';

export interface ImportReporter extends Reporter {
  /** The error, if output could not be written. The import must then stop and still report its summary. */
  lost(): OutputError | null;
  /** Clears the display until the next event, to make room for a question. */
  pause(): void;
}

export interface ReporterOptions {
  mode: 'text' | 'json' | 'ndjson';
  stdout: TextStream;
  stderr: TextStream;
  env: Env;
  platform?: NodeJS.Platform;
  /** Base of relative paths in the events. */
  cwd: string;
  flags: OutputFlags;
  /** Whether annotations and the step summary may show cells. Default: false. */
  reportValues?: boolean;
  clock: { now(): number; monotonic(): number };
}

/**
 * The reporter of one import (contract §3 "Result", §6).
 *
 * - `text`: progress, retries, warnings, and the summary on stderr; with `--dry-run` the plan on stdout.
 * - `json`: the same on stderr without the summary (only a line about a failure); the summary as one document
 * on stdout.
 * - `ndjson`: like `json`, but stdout has a line for each event, except `progress` and `notice`.
 *
 * @throws ConfigError for an unknown `PROFILES_PROGRESS`
 */
export function createReporter(options: ReporterOptions): ImportReporter {
  const { mode, stdout, stderr, env, flags } = options;
  // In one terminal, lines of events and a live region would overwrite each other.
  const shared = mode === 'ndjson' && stdout.isTTY === true;
  const progress = shared ? 'none' : progressMode(stderr, env, flags);
  /** The first error while writing the result or the conversation. */
  let lost: OutputError | null = null;
  const talk = conversation({ ...options, progress, stdoutLost: () => lost?.stream === 'stdout' });
  const parts: Reporter[] = [
    talk,
    ...(mode === 'json' ? [documentResult(stdout)] : []),
    ...(mode === 'ndjson' ? [eventResult(stdout, options.clock)] : []),
    ...(inGitHubActions(env) ? [annotations(options)] : []),
    // Last, so that a log ends with the totals.
    ...(mode !== 'text' && progress === 'plain' ? [totals(stderr)] : []),
  ];
  /** If one part fails, the others must still report. */
  const reportTo = async (part: Reporter, event: PrintedEvent): Promise<void> => {
    try {
      await part.report(event);
    } catch (error) {
      if (!(error instanceof OutputError)) throw error;
      const before = lost;
      lost ??= error;
      if (!before && event.type === 'summary' && error.stream === 'stdout') await reportTo(talk, event);
    }
  };
  let last: Promise<void> = Promise.resolve();
  return {
    lost: () => lost,
    pause: () => talk.pause(),
    report: (event) => {
      // One event after the other: the live region must be cleared before the result is printed.
      last = last.then(async () => {
        for (const part of parts) await reportTo(part, event);
      });
      // A caller that does not await gets the error from `close`.
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

function annotations({ env, cwd, stderr, reportValues }: ReporterOptions): Reporter {
  const options: AnnotateOptions = { env, cwd, values: reportValues === true, names: new Set() };
  const warnings: string[] = [];
  return {
    report: (event) => {
      if (event.type === 'plan') options.names = namesIn(event.plan);
      if (event.type === 'warning' && !event.isKnown) {
        // A command below the sentence may hold values that are not for all readers.
        const [sentence] = (event.text ?? event.message).split('\n', 1);
        warnings.push(sentence!);
      }
      return event.type === 'summary' ? annotate({ ...event.summary, warnings }, options, stderr) : undefined;
    },
    close: async () => {},
  };
}

/** Prints the totals as the last line of a log, because the result on stdout is for programs. */
function totals(stderr: TextStream): Reporter {
  return {
    report: (event) =>
      event.type === 'summary' ? writeOut(stderr, `${totalsLine(event.summary)}\n`) : undefined,
    close: async () => {},
  };
}

/** `--json`: the summary as one document. It is short, and people read it in logs, so it is indented. */
function documentResult(stdout: TextStream): Reporter {
  return {
    report: (event) =>
      event.type === 'summary'
        ? writeJson(stdout, JSON.stringify(documentOf(event.summary), null, 2))
        : undefined,
    close: async () => {},
  };
}

/**
 * `--ndjson`: one line for each event, except `progress` and `notice`. Every line has `type`, `time` (ISO
 * 8601), and `version: 1`, then the event's own fields. The fields of the summary are at the top level, so
 * paths are the same as in the document of `--json`.
 */
function eventResult(stdout: TextStream, clock: { now(): number }): Reporter {
  return {
    report: (event) =>
      event.type === 'progress' || event.type === 'notice'
        ? undefined
        : writeJson(stdout, JSON.stringify(eventLine(event, clock.now()))),
    close: async () => {},
  };
}

/** The JSON document, with the version of its form: next steps as commands, and causes without their example cells. */
function documentOf({ tokenFrom, ...summary }: PrintedSummary): Record<string, unknown> {
  return {
    version: 1,
    ...summary,
    next: nextCommands(summary),
    causes: summary.causes.map(({ at, example, problem, ...cause }) => cause),
  };
}

function eventLine(event: PrintedEvent, now: number): Record<string, unknown> {
  const { type, ...fields } = event.type === 'warning' ? { type: event.type, message: event.message } : event;
  const own = event.type === 'summary' ? documentOf(event.summary) : fields;
  return { type, time: new Date(now).toISOString(), version: 1, ...own };
}
