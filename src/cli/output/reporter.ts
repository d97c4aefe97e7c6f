/** Reports an import: progress and what happens on stderr, and the result in the chosen form. */

import { OutputError } from '../../engine/errors.js';
import { formatDuration } from '../../engine/util/duration.js';
import type { Context } from '../context.js';
import { documentOf, eventLine, type Facts, type Told } from '../facts/index.js';
import { type Form, planLine } from '../facts/outcome.js';
import { createDisplay, lineWidth } from './display.js';
import { annotate } from './github.js';
import { ImportProgress } from './progress.js';
import { failureLines, summaryLines, totalsLine } from './summary.js';
import * as terminal from './terminal.js';
import { inGitHubActions, safeHint, safeMessage, writeJson, writeOut } from './terminal.js';

/** @property form what output that others read shows */
export type How = { mode: 'text' | 'json' | 'ndjson'; form: Form };
type Place = Pick<Context, 'stdout' | 'stderr' | 'env' | 'cwd' | 'flags' | 'platform' | 'clock'>;

type Part = (event: Told) => void | Promise<void>;

/**
 * The reporter of one import (contract §3 "Result", §6).
 *
 * - `text`: progress, retries, warnings, and the summary on stderr; with `--dry-run` the plan on stdout.
 * - `json`: the same on stderr without the summary (only a line about a failure); the summary as one document on stdout.
 * - `ndjson`: like `json`, but stdout has a line for each event, except `progress` and `notice`.
 *
 * @throws ConfigError for an unknown `PROFILES_PROGRESS`
 */
export function createReporter({ mode, form }: How, context: Place) {
  const { stdout, stderr, env, flags, platform, clock } = context;
  // In one terminal, lines of events and a live region would overwrite each other.
  const shared = mode === 'ndjson' && stdout.isTTY === true;
  const drawn = shared ? 'none' : terminal.progressMode(stderr, context);
  const styles = terminal.stylesOn(stderr, context);
  const progress = new ImportProgress(clock, styles);
  const display = createDisplay(progress, { stream: stderr, mode: drawn, clock });
  /** The first error while writing the result or the conversation. */
  let lost: OutputError | null = null;

  /** With `--quiet`, only the plan of a dry run and what went wrong are printed. */
  const conclude = async (facts: Facts): Promise<void> => {
    display.close();
    const { plan, run } = facts.summary;
    // If stdout has failed, the summary is printed on stderr, in every mode.
    const isText = mode === 'text' || lost?.stream === 'stdout';
    // Only for a dry run. An import that was held back also has a plan, but unlike a dry run it has a run.
    if (mode === 'text' && plan && run === null && lost?.stream !== 'stdout') {
      const { planText } = await import('./plan.js'); // only a dry run draws tables
      await writeOut(stdout, planText(plan, terminal.tableForm(context)));
    }
    const lines = (isText && !flags.quiet ? summaryLines : failureLines)(facts, styles, platform);
    await writeOut(stderr, lines.map((line) => `${line}\n`).join(''));
  };
  const talk: Part = (event) => {
    if (event.type === 'summary') return conclude(event.facts);
    if (drawn !== 'none') {
      const ended = progress.apply(event, lineWidth(stderr));
      if (ended !== undefined) display.finished(ended);
    }
    const isLog = drawn === 'plain' && event.type === 'plan';
    const notice = isLog ? planLine(event.totals) : noticeOf(event, styles, platform);
    if (notice !== undefined && !flags.quiet) display.notice(notice);
    return display.changed();
  };
  const print: Part = (event) => {
    // It is short, and people read it in logs, so it is indented.
    if (mode === 'json' && event.type === 'summary')
      return writeJson(stdout, JSON.stringify({ version: 1, ...documentOf(event.facts) }, null, 2));
    const line = mode === 'ndjson' ? eventLine(event, clock.now()) : null;
    return line === null ? undefined : writeJson(stdout, line);
  };
  const conclusions: Part = async (event) => {
    if (event.type !== 'summary') return;
    if (inGitHubActions(env)) await annotate(event.facts, form, context);
    // Last, so that a log ends with the totals: the result on stdout is for programs.
    if (mode !== 'text' && drawn === 'plain') await writeOut(stderr, `${totalsLine(event.facts)}\n`);
  };
  /** If one part fails, the others must still report. */
  const reportTo = async (part: Part, event: Told): Promise<void> => {
    try {
      await part(event);
    } catch (error) {
      if (!(error instanceof OutputError)) throw error;
      const isFirst = lost === null;
      lost ??= error;
      if (isFirst && event.type === 'summary' && error.stream === 'stdout') await reportTo(talk, event);
    }
  };
  let last: Promise<void> = Promise.resolve();
  return {
    /** The error, if output could not be written. The import must then stop and still report its summary. */
    lost: (): OutputError | null => lost,
    /** Clears the display until the next event, to make room for a question. */
    pause: (): void => display.pause(),
    /** Reports an event. If there are many events, await it: it resolves when stdout has accepted them. */
    report: (event: Told): Promise<void> => {
      // One event after the other: the live region must be cleared before the result is printed.
      last = last.then(async () => {
        for (const part of [talk, print, conclusions]) await reportTo(part, event);
      });
      // A caller that does not await gets the error from `close`.
      last.catch(() => {});
      return last;
    },
    /** Ends the display and shows the cursor, also after a failure. Resolves when everything is written. */
    close: (): Promise<void> => last.finally(() => display.close()),
  };
}

function noticeOf(event: Told, styles: terminal.Styles, platform: NodeJS.Platform): string | undefined {
  if (event.type === 'notice') return safeHint(event.message, platform);
  if (event.type === 'warning')
    return `${styles.yellow('warning:')} ${safeHint(event.text ?? event.message, platform)}`;
  if (event.type !== 'retry') return undefined;
  const again = event.maybe_sent_twice ? '; its rows may be sent twice' : '';
  const wait = formatDuration(event.delay_ms);
  return `${styles.yellow('retry:')} request ${event.request} in ${wait}: ${safeMessage(event.reason)}${again}`;
}
