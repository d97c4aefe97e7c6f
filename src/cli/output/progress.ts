/** The progress of an import, computed from its events: as a live region, or as one plain line. */
import type { ImportEvent } from '../../engine/events.js';
import type { Job } from '../../engine/service/contract.js';
import { failureReason, isFinal } from '../../engine/service/names.js';
import { formatDuration } from '../../engine/util/duration.js';
import { count, grouped, roughly } from '../../engine/util/numbers.js';
import { formatSize } from '../../engine/util/size.js';
import { planLine, toneOf } from '../facts/outcome.js';
import type { DisplayView, RegionSize } from './display.js';
import { markOf, type Styles, safeLine, safeMessage, styleOf } from './terminal.js';
import { cutTo, layout, pad } from './width.js';

type Measure = Extract<ImportEvent, { type: 'progress' }>;
type Clock = { monotonic(): number };
/** Rates measured over less time than this are too inaccurate. */
const MEASURED_MS = 1_000;
const BAR_CELLS = 20;

export class ImportProgress implements DisplayView {
  readonly #board: JobBoard;
  #measure: Measure | undefined;
  #submitted: number | undefined;
  #toSend: number | null = null;
  #followed: number | undefined;
  /** The count and the monotonic time at the start of the phase. A resumed import does not start at 0. */
  #base: { of: string; done: number; at: number } | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly styles: Styles,
  ) {
    this.#board = new JobBoard(clock, styles);
  }

  /** Processes an event. Returns the line that stays on screen, if the event completes something. */
  apply(event: ImportEvent, columns: number): string | undefined {
    if (event.type === 'plan') {
      this.#measure = undefined;
      const tone = event.totals.stopped_by === null ? 'good' : 'bad';
      const mark = styleOf(tone, this.styles)(markOf(tone));
      return layout([{ text: planLine(event.totals), rank: 0 }], columns, `${mark} `);
    }
    if (event.type === 'job') {
      const job = { ...event.job, total_rows: event.job.total_rows ?? event.rows };
      const ended = this.#board.update(job, columns);
      return event.searching ? undefined : ended;
    }
    if (event.type === 'progress') {
      this.#measure = event;
      if (event.phase === 'sending') [this.#submitted, this.#toSend] = [event.rows, event.total_rows];
      if (event.phase === 'following') this.#followed = event.rows;
      const { of, done } = this.#count(event);
      if (this.#base?.of !== of) this.#base = { of, done, at: this.clock.monotonic() };
    }
    return undefined;
  }

  live({ columns, rows }: RegionSize): string[] {
    const measure = this.#measure;
    if (!measure) return [layout([{ text: 'starting', rank: 0 }], columns)];
    const { done, total } = this.#count(measure);
    const share = total ? Math.min(1, done / total) : null;
    const { rate, left } = this.#throughput(measure);
    const { bold, cyan, dim } = this.styles;
    const brief = columns < 54;
    const parts = [
      { text: this.#phase(measure, brief), rank: 0, style: bold },
      { text: share === null || columns < 74 ? '' : bar(share), rank: 6, style: cyan },
      { text: this.#rows(measure, brief), rank: 1 },
      { text: share === null ? '' : `${Math.floor(100 * share)}%`, rank: 2 },
      { text: rate === null ? '' : `${grouped(rate)} rows/s`, rank: 5, style: dim },
      { text: left === null ? '' : `${roughly(left)} left`, rank: 3 },
    ];
    return [layout(parts, columns), ...this.#board.live({ columns, rows: Math.min(rows - 1, 8) })];
  }

  plain(): string | null {
    const measure = this.#measure;
    if (!measure) return null;
    const [all, ended] = this.#board.counts;
    const jobs = all > 0 ? `, ${ended} of ${count(all, 'job')} ended` : '';
    const { left } = this.#throughput(measure);
    const time = left === null ? '' : `, ${roughly(left)} left`;
    return `${this.#phase(measure)} ${this.#rows(measure)}${jobs}${time}`;
  }

  #phase({ phase, kind }: Measure, brief = false): string {
    // Jobs are followed while later rows are still being sent: for users, that is one phase.
    const isSending = this.#toSend !== null && (this.#submitted ?? 0) < this.#toSend;
    const shown = phase === 'following' && isSending ? 'sending' : phase;
    return kind === null || brief ? shown : `${shown} ${kind}`;
  }

  #rows(measure: Measure, brief = false): string {
    if (measure.phase === 'planning') return count(measure.rows, 'row');
    const { of, done, total } = this.#count(measure);
    if (measure.phase === 'downloading')
      return total === null ? formatSize(done) : `${formatSize(done)} of ${formatSize(total)}`;
    const known = total === null ? count(done, 'row') : `${grouped(done)} of ${count(total, 'row')}`;
    return of === 'completed' && !brief ? `${known} completed` : known;
  }

  /**
   * What is counted: bytes while downloading and planning; then completed rows, or submitted rows if jobs are
   * not followed.
   */
  #count({ phase, bytes = 0, total_bytes = null, total_rows }: Measure) {
    if (phase === 'downloading' || phase === 'planning')
      return { of: phase, done: bytes, total: total_bytes };
    // While jobs are followed, the total in an event covers only rows sent so far. The time left must cover
    // all rows.
    const total = this.#toSend ?? total_rows;
    if (this.#followed === undefined && this.#board.counts[0] === 0)
      return { of: 'submitted', done: this.#submitted ?? 0, total };
    return { of: 'completed', done: Math.max(this.#followed ?? 0, this.#board.completedRows), total };
  }

  /**
   * Rows per second and milliseconds left, measured from the start of the phase; null if unknown. Phases that
   * count bytes have no rate.
   */
  #throughput(measure: Measure): { rate: number | null; left: number | null } {
    const { of, done, total } = this.#count(measure);
    const base = this.#base;
    const elapsed = base?.of === of ? this.clock.monotonic() - base.at : 0;
    if (!base || elapsed < MEASURED_MS || done <= base.done) return { rate: null, left: null };
    const perMs = (done - base.done) / elapsed;
    // Everything is done, but the end of the phase is not reported yet: "0ms left" would be wrong.
    const left = total === null || done >= total ? null : (total - done) / perMs;
    return { rate: of === 'downloading' || of === 'planning' ? null : perMs * 1_000, left };
  }
}

const bar = (share: number): string => '━'.repeat(Math.round(share * BAR_CELLS)).padEnd(BAR_CELLS, '─');

/** The fields of a job's record that a line shows. */
type JobSnapshot = Pick<Job, 'job_id' | 'status' | 'total_rows' | 'completed_rows'> &
  Readonly<Record<string, unknown>>;

/** @param since when it was first seen, in milliseconds of the monotonic clock */
type Entry = { job: JobSnapshot; since: number };

/** `pending_refresh` is the longest known status. */
const STATUS_WIDTH = 15;

export class JobBoard implements DisplayView {
  readonly #open = new Map<string, Entry>();
  /** Final status by id. */
  readonly #ended = new Map<string, string>();
  #endedRows = 0;

  constructor(
    private readonly clock: Clock,
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

  /** Numbers of all jobs, and of those that have ended. */
  get counts(): [all: number, ended: number] {
    return [this.#open.size + this.#ended.size, this.#ended.size];
  }

  /** Rows that the jobs have completed so far. */
  get completedRows(): number {
    return [...this.#open.values()].reduce((sum, { job }) => sum + completedOf(job), this.#endedRows);
  }

  /** The unfinished jobs, oldest first, in at most `rows` lines. If there are more, the last one is `… and 4 more jobs`. */
  live({ columns, rows }: RegionSize): string[] {
    const open = [...this.#open.values()];
    const shown = open.length <= rows ? open : open.slice(0, Math.max(0, rows - 1));
    const lines = shown.map((entry) => this.#line(entry, columns));
    const more = open.length - shown.length;
    return more > 0 && rows > 0 ? [...lines, cutTo(`… and ${count(more, 'more job')}`, columns)] : lines;
  }

  /** One job with its rows, or the number of jobs in each status; null before the first job. */
  plain(): string | null {
    const open = [...this.#open.values()].map(({ job }) => [job.job_id, job.status, rowsOf(job)] as const);
    const all = [...open, ...[...this.#ended].map(([id, status]) => [id, status, ''] as const)];
    const [first, second] = all;
    if (!first) return null;
    const [id, status, rows] = first;
    if (!second) return safeLine([`job ${id}: ${status}`, rows].filter(Boolean).join(', '));
    const counts = new Map<string, number>();
    for (const [, status] of all) counts.set(status, (counts.get(status) ?? 0) + 1);
    return `jobs: ${[...counts].map(([status, n]) => `${n} ${safeLine(status)}`).join(', ')}`;
  }

  #line({ job, since }: Entry, columns: number): string {
    const total = job.total_rows ?? 0;
    const isOpen = total > 0 && !isFinal(job.status);
    const status = safeLine(job.status);
    const style = styleOf(toneOf(job.status), this.styles);
    // Tenths of a second: more digits would flicker.
    const age = formatDuration(Math.round((this.clock.monotonic() - since) / 100) * 100);
    const parts = [
      { text: cutTo(safeLine(job.job_id), Math.max(8, columns - STATUS_WIDTH - 4)), rank: 1 },
      { text: columns > 58 ? pad(status, STATUS_WIDTH) : status, rank: 0, style },
      { text: rowsOf(job), rank: 4 },
      { text: isOpen ? `${Math.floor((100 * completedOf(job)) / total)}%` : '', rank: 3 },
      { text: age, rank: 2, style: this.styles.dim },
      { text: safeMessage(failureReason(job) ?? ''), rank: 5 },
    ];
    return layout(parts, columns);
  }
}

/** `1,200 of 5,000 rows`, or `5,000 rows` if all are completed; empty if the number of rows is unknown or 0. */
function rowsOf(job: JobSnapshot): string {
  const done = completedOf(job);
  if (!job.total_rows) return '';
  return done === job.total_rows ? count(done, 'row') : `${grouped(done)} of ${count(job.total_rows, 'row')}`;
}

const completedOf = ({ completed_rows, status, total_rows }: JobSnapshot): number =>
  completed_rows ?? (status === 'completed' ? (total_rows ?? 0) : 0);
