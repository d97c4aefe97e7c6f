/** The result of an import as Markdown, for `$GITHUB_STEP_SUMMARY`. */
import { rangesIn, type Summary } from '../../engine/model.js';
import { count, grouped, lineRange } from '../../engine/numbers.js';
import { ROW_CLASSES } from '../../engine/plan-changes.js';
import { failureReason } from '../../engine/service/names.js';
import { type Public, publicCauseText, withoutValues } from './cause-text.js';
import type { PrintedSummary } from './result.js';
import { safeLine } from './safe.js';

interface StepOptions extends Public {
  /** Size limit in UTF-8 bytes. Longer tables are cut after a row. */
  maxBytes: number;
}

/**
 * The outcome, totals, causes, jobs with their lines, and next steps. Empty if not even the short parts fit.
 */
export function stepSummary(summary: PrintedSummary, { maxBytes, ...shown }: StepOptions): string {
  const { rows, causes, jobs } = summary;
  const counts = (
    [
      'read',
      'filtered',
      'rejected',
      'merged',
      'unchanged',
      'submitted',
      'completed',
      'unknown',
      'unsent',
    ] as const
  ).filter((name) => rows[name] !== undefined && (name !== 'filtered' || rows.filtered > 0));
  const outcome = `### Import ${summary.kinds.join(' and ')}: ${summary.status}\n\n`;
  const totals = table(
    counts,
    counts.map(() => true),
    [counts.map((name) => grouped(rows[name] ?? 0))],
  );
  const changes = summary.plan?.changes;
  const classes = ROW_CLASSES.filter((name) => changes?.[name] !== undefined);
  const compared = changes
    ? table(
        classes,
        classes.map(() => true),
        [classes.map((name) => grouped(changes[name] ?? 0))],
      )
    : [];
  const next = nextText(summary);
  // Only these tables are cut, because readers need the totals and the next command.
  const room = new Room(maxBytes - bytes(outcome + [...totals, ...compared].join('') + next) - CUT_BYTES);
  const long = [
    ...room.cut(
      table(
        ['key', 'changed rows'],
        [false, true],
        (changes?.keys ?? []).map(({ key, rows }) => [cell(key), grouped(rows)]),
      ),
      'key',
    ),
    ...room.cut(
      table(
        ['file', 'cause of rejection', 'rows', 'hint'],
        [false, false, true, false],
        causes.map((cause) => [
          cell(cause.file),
          cell(publicCauseText(cause, shown)),
          grouped(cause.rows),
          cell(cause.hint ?? ''),
        ]),
      ),
      'cause',
    ),
    ...room.cut(
      table(
        ['job', 'status', 'rows', 'lines'],
        [false, false, true, false],
        jobs.map((job) => [
          cell(job.job_id),
          cell(statusText(job, shown)),
          `${grouped(job.completed_rows ?? 0)} of ${grouped(job.total_rows ?? 0)}`,
          cell(linesText(job)),
        ]),
      ),
      'job',
    ),
  ];
  const text = [outcome, ...totals, ...compared, ...long, next].join('');
  return bytes(text) <= maxBytes ? text : '';
}

/** Space for the sentences that say what was cut. */
const CUT_BYTES = 200;

const bytes = (text: string): number => Buffer.byteLength(text);

/** Counts the bytes that may still be written. */
class Room {
  constructor(private left: number) {}

  /**
   * The rows of a table that fit, and a sentence about the others. Expects the lines that `table` returns.
   */
  cut(lines: readonly string[], noun: string): string[] {
    if (lines.length <= 2) return [];
    const [names, rule, ...rest] = lines as [string, string, ...string[]];
    const end = rest.pop()!;
    this.left -= bytes(names + rule + end);
    const kept: string[] = [];
    for (const line of rest) {
      if (bytes(line) > this.left) break;
      this.left -= bytes(line);
      kept.push(line);
    }
    const more = rest.length - kept.length;
    return [names, rule, ...kept, end, ...(more > 0 ? [`and ${count(more, `more ${noun}`)}\n\n`] : [])];
  }
}

/**
 * The lines of a table and an empty line; no lines if there are no rows. `right` marks columns aligned to the
 * right.
 */
function table(
  names: readonly string[],
  right: readonly boolean[],
  rows: readonly (readonly string[])[],
): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return [
    line(names),
    `|${right.map((is) => (is ? ' ---: |' : ' --- |')).join('')}\n`,
    ...rows.map(line),
    '\n',
  ];
}

/** The maximum number of line ranges shown for a job. */
const SHOWN_RANGES = 5;

/** `failed: plan_limit`: with the reason of the service, which may quote cells. */
function statusText(job: Summary['jobs'][number], { values, names }: Public): string {
  const reason = failureReason(job);
  if (reason === null) return job.status;
  return `${job.status}: ${values ? reason : withoutValues(reason, names)}`;
}

function linesText(job: Summary['jobs'][number]): string {
  const ranges = rangesIn(job);
  const texts = ranges
    .slice(0, SHOWN_RANGES)
    .map(({ file, first_line, last_line }) => `${file}, ${lineRange(first_line, last_line)}`);
  const more = ranges.length - texts.length;
  return [...texts, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

/** The next steps in a code block. Its fence is longer than any run of backticks in the text. */
function nextText({ next }: PrintedSummary): string {
  const lines = next.flatMap(({ what, shared }) => [`# ${safeLine(what)}`, shared]);
  if (lines.length === 0) return '';
  const text = lines.join('\n');
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `Next:\n\n${fence}\n${text}\n${fence}\n\n`;
}

/** Escapes a text for a Markdown table: it cannot make columns, lines, markup, links, or mentions. */
const cell = (text: string): string =>
  safeLine(text)
    .replace(/[\\|<>`*_~[\]&@:#!$]/g, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/\bwww\./gi, (start) => `${start.slice(0, 3)}&#46;`);
