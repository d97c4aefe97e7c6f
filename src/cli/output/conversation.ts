/**
 * What an import prints on stderr: progress, retries and warnings as they happen, and the summary at the end.
 */
import { formatDuration } from '../../engine/duration.js';
import { createDisplay, lineWidth } from './display.js';
import { safeHint } from './hint-text.js';
import { planLine } from './plan-line.js';
import { ImportProgress } from './progress.js';
import type { PrintedEvent, PrintedSummary } from './result.js';
import { safeMessage } from './safe.js';
import { formOn, type Styles, stylesOn } from './style.js';
import { failureLines, summaryLines } from './summary-text.js';
import type { Env, OutputFlags, ProgressMode, TextStream } from './terminal.js';
import { writeOut } from './write.js';

export interface Reporter {
  /** Reports an event. If there are many events, await it: it resolves when stdout has accepted them. */
  report(event: PrintedEvent): void | Promise<void>;
  /**
   * Ends the display and shows the cursor, also after a failure. Resolves when everything is written. May be
   * called again.
   */
  close(): Promise<void>;
}

interface ConversationOptions {
  mode: 'text' | 'json' | 'ndjson';
  stdout: TextStream;
  stderr: TextStream;
  env: Env;
  platform?: NodeJS.Platform;
  flags: OutputFlags;
  clock: { now(): number; monotonic(): number };
  progress: ProgressMode;
  /** Whether stdout has failed: then the summary is printed on stderr, in every mode. */
  stdoutLost: () => boolean;
}

/** With `--quiet`, only the plan of a dry run and what went wrong are printed. */
export function conversation(options: ConversationOptions): Reporter & { pause(): void } {
  const { stdout, stderr, env, flags, clock } = options;
  const styles = stylesOn(stderr, env, flags);
  const progress = new ImportProgress(clock, styles);
  const display = createDisplay(progress, {
    stream: stderr,
    mode: options.progress,
    clock,
  });

  const conclude = async (summary: PrintedSummary): Promise<void> => {
    display.close();
    const { mode, stdoutLost } = options;
    // Only for a dry run. An import that was held back also has a plan, but unlike a dry run it has a run.
    if (mode === 'text' && summary.plan && summary.run === null && !stdoutLost()) {
      const { planText } = await import('./plan-text.js'); // only a dry run draws tables
      const form = formOn(stdout, env, flags);
      await writeOut(stdout, planText(summary.plan, form));
    }
    const whole = (mode === 'text' || stdoutLost()) && !flags.quiet;
    const lines = (whole ? summaryLines : failureLines)(summary, styles, options.platform);
    await writeOut(stderr, lines.map((line) => `${line}\n`).join(''));
  };
  return {
    report: (event) => {
      if (event.type === 'summary') return conclude(event.summary);
      if (options.progress !== 'none') {
        const ended = progress.apply(event, lineWidth(stderr));
        if (ended !== undefined) display.finished(ended);
      }
      const isLog = options.progress === 'plain' && event.type === 'plan';
      const told = isLog ? planLine(event.totals) : noticeOf(event, styles, options.platform);
      const notice = flags.quiet ? undefined : told;
      if (notice !== undefined) display.notice(notice);
      return display.changed();
    },
    pause: () => display.pause(),
    close: async () => display.close(),
  };
}

function noticeOf(
  event: PrintedEvent,
  styles: Styles,
  platform: NodeJS.Platform = 'linux',
): string | undefined {
  if (event.type === 'notice') return safeHint(event.message, platform);
  if (event.type === 'warning')
    return `${styles.yellow('warning:')} ${safeHint(event.text ?? event.message, platform)}`;
  if (event.type !== 'retry') return undefined;
  const again = event.maybe_sent_twice ? '; its rows may be sent twice' : '';
  const wait = formatDuration(event.delay_ms);
  return `${styles.yellow('retry:')} request ${event.request} in ${wait}: ${safeMessage(event.reason)}${again}`;
}
