/**
 * Shows jobs as lines: the status of each unfinished one, and a line that stays on screen for each that has
 * ended.
 */

import type { Job } from '../../engine/service/contract.js';
import { failureReason, isFinal } from '../../engine/service/names.js';
import { formatDuration } from '../../engine/util/duration.js';
import { count, grouped } from '../../engine/util/numbers.js';
import { toneOf } from '../facts/outcome.js';
import type { DisplayView } from './display.js';
import type { RegionSize } from './live.js';
import { safeLine, safeMessage } from './safe.js';
import { markOf, type Styles, styleOf } from './terminal.js';
import { cutTo, layout, type Part, pad } from './width.js';

/** The fields of a job's record that a line shows. */
export type JobSnapshot = Pick<Job, 'job_id' | 'status' | 'total_rows' | 'completed_rows'> &
  Readonly<Record<string, unknown>>;

interface Entry {
  job: JobSnapshot;
  /** When it was first seen, in milliseconds of the monotonic clock. */
  since: number;
}

/** `pending_refresh` is the longest known status. */
const STATUS_WIDTH = 15;

export class JobBoard implements DisplayView {
  readonly #open = new Map<string, Entry>();
  /** Final status by id. */
  readonly #ended = new Map<string, string>();
  #endedRows = 0;

  constructor(
    private readonly clock: { monotonic(): number },
    private readonly styles: Styles,
  ) {}

  /** Updates a job. Returns the line that stays on screen, if the job has just ended. */
  update(job: JobSnapshot, columns: number): string | undefined {
    if (this.#ended.has(job.job_id)) return undefined;
    const entry = { job, since: this.#open.get(job.job_id)?.since ?? this.clock.monotonic() };
    this.#open.set(job.job_id, entry);
    if (!isFinal(job.status)) return undefined;
    this.#open.delete(job.job_id);
    this.#ended.set(job.job_id, job.status);
    this.#endedRows += completedOf(job);
    const isShort = completedOf(job) < (job.total_rows ?? 0);
    const tone = job.status !== 'completed' ? 'bad' : isShort ? 'warn' : 'good';
    return `${styleOf(tone, this.styles)(markOf(tone))} ${this.#line(entry, columns - 2)}`;
  }

  get size(): number {
    return this.#open.size + this.#ended.size;
  }

  get ended(): number {
    return this.#ended.size;
  }

  /** Rows that the jobs have completed so far. */
  get completedRows(): number {
    return [...this.#open.values()].reduce((sum, { job }) => sum + completedOf(job), this.#endedRows);
  }

  /**
   * The unfinished jobs, oldest first, in at most `rows` lines. If there are more, the last line is `… and 4
   * more jobs`.
   */
  live({ columns, rows }: RegionSize): string[] {
    const open = [...this.#open.values()];
    const shown = open.length <= rows ? open : open.slice(0, Math.max(0, rows - 1));
    const lines = shown.map((entry) => this.#line(entry, columns));
    if (open.length > shown.length && rows > 0) {
      lines.push(cutTo(`… and ${count(open.length - shown.length, 'more job')}`, columns));
    }
    return lines;
  }

  /** One job with its rows, or the number of jobs in each status; null before the first job. */
  plain(): string | null {
    const open = [...this.#open.values()].map(({ job }) => [job.job_id, job.status, rowsOf(job)] as const);
    const all = [...open, ...[...this.#ended].map(([id, status]) => [id, status, ''] as const)];
    if (all.length === 0) return null;
    const [[id, status, rows]] = all as [(typeof all)[0]];
    if (all.length === 1) return safeLine([`job ${id}: ${status}`, rows].filter(Boolean).join(', '));
    const counts = new Map<string, number>();
    for (const [, status] of all) counts.set(status, (counts.get(status) ?? 0) + 1);
    return `jobs: ${[...counts].map(([status, n]) => `${n} ${safeLine(status)}`).join(', ')}`;
  }

  #line({ job, since }: Entry, columns: number): string {
    const total = job.total_rows ?? 0;
    const percent = total > 0 ? `${Math.floor((100 * completedOf(job)) / total)}%` : '';
    const status = safeLine(job.status);
    const parts: Part[] = [
      { text: cutTo(safeLine(job.job_id), Math.max(8, columns - STATUS_WIDTH - 4)), rank: 1 },
      {
        text: columns > 58 ? pad(status, STATUS_WIDTH) : status,
        rank: 0,
        style: styleOf(toneOf(job.status), this.styles),
      },
      { text: rowsOf(job), rank: 4 },
      { text: isFinal(job.status) ? '' : percent, rank: 3 },
      { text: tenths(this.clock.monotonic() - since), rank: 2, style: this.styles.dim },
      { text: safeMessage(failureReason(job) ?? ''), rank: 5 },
    ];
    return layout(parts, columns);
  }
}

/**
 * `1,200 of 5,000 rows`, or `5,000 rows` if all are completed; empty if the number of rows is unknown or 0.
 */
function rowsOf(job: JobSnapshot): string {
  const done = completedOf(job);
  if (!job.total_rows) return '';
  return done === job.total_rows ? count(done, 'row') : `${grouped(done)} of ${count(job.total_rows, 'row')}`;
}

function completedOf(job: JobSnapshot): number {
  return job.completed_rows ?? (job.status === 'completed' ? (job.total_rows ?? 0) : 0);
}

/** A duration rounded to tenths of a second: more digits would flicker. */
const tenths = (ms: number): string => formatDuration(Math.round(ms / 100) * 100);
