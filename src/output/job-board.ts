/** Several jobs at once, as lines: what each is doing now, and a line that stays when it has ended. */

import { formatDuration } from '../duration.js';
import { isFinal, type Job } from '../service/contract.js';
import { layout, type Part } from './layout.js';
import { count, grouped } from './numbers.js';
import { safeLine } from './safe.js';
import type { Style, Styles } from './style.js';
import { cutTo, pad } from './width.js';

/** As much of a job's record as a line shows. */
export type Sighting = Pick<Job, 'job_id' | 'status' | 'total_rows' | 'completed_rows'>;

interface Entry {
  job: Sighting;
  /** Monotonic, of its first sight. */
  since: number;
}

/** `pending_refresh` is the longest known status. */
const STATUS_WIDTH = 15;

export class JobBoard {
  readonly #open = new Map<string, Entry>();
  readonly #ended = new Set<string>();
  #endedRows = 0;
  readonly #clock: { monotonic(): number };
  readonly #styles: Styles;

  constructor(clock: { monotonic(): number }, styles: Styles) {
    this.#clock = clock;
    this.#styles = styles;
  }

  /** Notes a record. Gives the line that stays behind, when this sight is the one in which the job has ended. */
  see(job: Sighting, columns: number): string | undefined {
    if (this.#ended.has(job.job_id)) return undefined;
    const entry = { job, since: this.#open.get(job.job_id)?.since ?? this.#clock.monotonic() };
    this.#open.set(job.job_id, entry);
    if (!isFinal(job.status)) return undefined;
    this.#open.delete(job.job_id);
    this.#ended.add(job.job_id);
    this.#endedRows += completedOf(job);
    const done = job.status === 'completed';
    return this.#line(entry, columns, done ? this.#styles.green('✓') : this.#styles.red('✗'));
  }

  get size(): number {
    return this.#open.size + this.#ended.size;
  }

  get ended(): number {
    return this.#ended.size;
  }

  /** Rows that the jobs say they have completed. */
  get completedRows(): number {
    return [...this.#open.values()].reduce((sum, { job }) => sum + completedOf(job), this.#endedRows);
  }

  /** The unfinished jobs, oldest first, in at most `rows` lines; more of them become `… and 4 more jobs`. */
  lines(columns: number, rows: number, frame: string): string[] {
    const open = [...this.#open.values()];
    const shown = open.length <= rows ? open : open.slice(0, Math.max(0, rows - 1));
    const lines = shown.map((entry) => this.#line(entry, columns, frame));
    if (open.length > shown.length && rows > 0) {
      lines.push(cutTo(`  … and ${count(open.length - shown.length, 'more job')}`, columns));
    }
    return lines;
  }

  #line({ job, since }: Entry, columns: number, mark: string): string {
    const total = job.total_rows ?? 0;
    const done = completedOf(job);
    const percent = total > 0 ? `${Math.floor((100 * done) / total)}%` : '';
    const rows =
      total > 0 ? (isFinal(job.status) ? count(done, 'row') : `${grouped(done)} of ${grouped(total)}`) : '';
    const status = safeLine(job.status);
    const parts: Part[] = [
      { text: cutTo(safeLine(job.job_id), Math.max(8, columns - STATUS_WIDTH - 6)), rank: 1 },
      {
        text: columns > 60 ? pad(status, STATUS_WIDTH) : status,
        rank: 0,
        style: statusStyle(job.status, this.#styles),
      },
      { text: rows, rank: 4 },
      { text: isFinal(job.status) ? '' : percent, rank: 3 },
      { text: formatDuration(this.#clock.monotonic() - since), rank: 2, style: this.#styles.dim },
    ];
    return layout(parts, columns, `${mark} `);
  }
}

function completedOf(job: Sighting): number {
  return job.completed_rows ?? (job.status === 'completed' ? (job.total_rows ?? 0) : 0);
}

/** Green for done, red for failed, yellow for anything on its way. */
export function statusStyle(status: string, styles: Styles): Style {
  if (status === 'completed') return styles.green;
  return status === 'failed' ? styles.red : styles.yellow;
}
