/** The progress of an import, or of jobs, in one line, computed from what happens. */
import type { ImportEvent } from '../../engine/events.js';
import type { Job } from '../../engine/service/contract.js';
import { failureReason, isFinal } from '../../engine/service/names.js';
import { formatDuration } from '../../engine/util/duration.js';
import { count, grouped, roughly } from '../../engine/util/numbers.js';
import { formatSize } from '../../engine/util/size.js';
import { planLine, type Tone } from '../facts/outcome.js';
import type { DisplayView } from './display.js';
import { markOf, type Styles, safeLine, safeMessage, styleOf } from './terminal.js';
import { cutTo } from './width.js';

type Measure = Extract<ImportEvent, { type: 'progress' }>;
type Clock = { monotonic(): number };
/** Rates measured over less time than this are too inaccurate. */
const MEASURED_MS = 1_000;

/** A line that stays on screen. */
const lasting = (tone: Tone, text: string, columns: number, styles: Styles): string =>
  `${styleOf(tone, styles)(markOf(tone))} ${cutTo(text, columns - 2)}`;

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
      const tone = event.totals.stopped_by === null ? 'good' : 'bad';
      return lasting(tone, planLine(event.totals), columns, this.styles);
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

  text(columns: number): string | null {
    const measure = this.#measure;
    if (!measure) return null;
    const { rate, left } = this.#throughput(measure);
    const [all, ended] = this.#board.counts;
    // What is least important comes last, because a narrow terminal cuts it.
    const parts = [
      `${this.#phase(measure)} ${this.#rows(measure)}`,
      left !== null && `${roughly(left)} left`,
      rate !== null && `${grouped(rate)} rows/s`,
      all > 0 && `${ended} of ${count(all, 'job')} ended`,
    ];
    return cutTo(parts.filter(Boolean).join(', '), columns);
  }

  #phase({ phase, kind }: Measure): string {
    // Jobs are followed while later rows are still being sent: for users, that is one phase.
    const isSending = this.#toSend !== null && (this.#submitted ?? 0) < this.#toSend;
    const shown = phase === 'following' && isSending ? 'sending' : phase;
    return kind === null ? shown : `${shown} ${kind}`;
  }

  #rows(measure: Measure): string {
    if (measure.phase === 'planning') return count(measure.rows, 'row');
    const { of, done, total } = this.#count(measure);
    if (measure.phase === 'downloading')
      return total === null ? formatSize(done) : `${formatSize(done)} of ${formatSize(total)}`;
    const known = total === null ? count(done, 'row') : `${grouped(done)} of ${count(total, 'row')}`;
    return of === 'completed' ? `${known} completed` : known;
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

/** The fields of a job's record that a line shows. */
type JobSnapshot = Pick<Job, 'job_id' | 'status' | 'total_rows' | 'completed_rows'> &
  Readonly<Record<string, unknown>>;

export class JobBoard implements DisplayView {
  /** By id, with the time at which each was first seen, in milliseconds of the monotonic clock. */
  readonly #jobs = new Map<string, { job: JobSnapshot; since: number }>();
  #ended = 0;
  #completedRows = 0;

  constructor(
    private readonly clock: Clock,
    private readonly styles: Styles,
  ) {}

  /** Updates a job. Returns the line that stays on screen, if the job has just ended. */
  update(job: JobSnapshot, columns: number): string | undefined {
    const before = this.#jobs.get(job.job_id);
    if (before && isFinal(before.job.status)) return undefined;
    const { since } = before ?? { since: this.clock.monotonic() };
    this.#jobs.set(job.job_id, { job, since });
    this.#completedRows += completedOf(job) - (before ? completedOf(before.job) : 0);
    if (!isFinal(job.status)) return undefined;
    this.#ended++;
    const isShort = completedOf(job) < (job.total_rows ?? 0);
    const tone = job.status !== 'completed' ? 'bad' : isShort ? 'warn' : 'good';
    // Tenths of a second are enough.
    const took = formatDuration(Math.round((this.clock.monotonic() - since) / 100) * 100);
    const reason = failureReason(job);
    const why = reason === null ? '' : `: ${safeMessage(reason)}`;
    return lasting(tone, `${sentenceOf(job, columns)}, ${took}${why}`, columns, this.styles);
  }

  /** Numbers of all jobs, and of those that have ended. */
  get counts(): [all: number, ended: number] {
    return [this.#jobs.size, this.#ended];
  }

  /** Rows that the jobs have completed so far. */
  get completedRows(): number {
    return this.#completedRows;
  }

  /** One job with its rows, or the number of jobs in each status; null before the first job. */
  text(columns: number): string | null {
    const [first, ...others] = [...this.#jobs.values()].map(({ job }) => job);
    if (!first) return null;
    if (others.length === 0) return cutTo(sentenceOf(first, columns), columns);
    const statuses = new Map<string, number>();
    for (const { status } of [first, ...others]) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const counted = [...statuses].map(([status, jobs]) => `${jobs} ${safeLine(status)}`);
    return cutTo(`jobs: ${counted.join(', ')}`, columns);
  }
}

/** Columns of a sentence about a job, without its id. */
const BESIDE_ID = 24;

/** `job 17: processing, 1,200 of 5,000 rows`. A long id is cut, so that a narrow terminal shows the status. */
function sentenceOf(job: JobSnapshot, columns: number): string {
  const { job_id, status, total_rows: total } = job;
  const done = completedOf(job);
  const known = done === total ? count(done, 'row') : `${grouped(done)} of ${count(total ?? 0, 'row')}`;
  const id = cutTo(safeLine(job_id), Math.max(8, columns - BESIDE_ID));
  return `job ${id}: ${safeLine(status)}${total ? `, ${known}` : ''}`;
}

const completedOf = ({ completed_rows, status, total_rows }: JobSnapshot): number =>
  completed_rows ?? (status === 'completed' ? (total_rows ?? 0) : 0);
