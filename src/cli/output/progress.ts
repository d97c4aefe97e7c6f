/** The progress of an import, computed from its events: as a live region, or as one plain line. */
import type { ImportEvent } from '../../engine/events.js';
import { count, grouped, roughly } from '../../engine/util/numbers.js';
import { formatSize } from '../../engine/util/size.js';
import { planLine } from '../facts/outcome.js';
import type { DisplayView } from './display.js';
import { JobBoard } from './job-board.js';
import type { RegionSize } from './live.js';
import { markOf, type Styles, styleOf } from './terminal.js';
import { layout } from './width.js';

type Measure = Extract<ImportEvent, { type: 'progress' }>;
type Counted = 'downloading' | 'planning' | 'submitted' | 'completed';
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
  #base: { of: Counted; done: number; at: number } | undefined;

  constructor(
    private readonly clock: { monotonic(): number },
    private readonly styles: Styles,
  ) {
    this.#board = new JobBoard(clock, styles);
  }

  /** Processes an event. Returns the line that stays on screen, if the event completes something. */
  apply(event: ImportEvent, columns: number): string | undefined {
    if (event.type === 'plan') {
      const { stopped_by } = event.totals;
      const tone = stopped_by === null ? 'good' : 'bad';
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
      const { of, done } = this.#count();
      if (this.#base?.of !== of) this.#base = { of, done, at: this.clock.monotonic() };
    }
    return undefined;
  }

  live({ columns, rows }: RegionSize): string[] {
    const measure = this.#measure;
    if (!measure) return [layout([{ text: 'starting', rank: 0 }], columns)];
    const { done, total } = this.#count();
    const share = total ? Math.min(1, done / total) : null;
    const { rate, left } = this.#throughput();
    const brief = columns < 54;
    const head = layout(
      [
        { text: this.#phase(measure, brief), rank: 0, style: this.styles.bold },
        { text: share === null || columns < 74 ? '' : bar(share), rank: 6, style: this.styles.cyan },
        { text: this.#rows(measure, brief), rank: 1 },
        { text: share === null ? '' : `${Math.floor(100 * share)}%`, rank: 2 },
        { text: rate === null ? '' : `${grouped(rate)} rows/s`, rank: 5, style: this.styles.dim },
        { text: left === null ? '' : `${roughly(left)} left`, rank: 3 },
      ],
      columns,
    );
    return [head, ...this.#board.live({ columns, rows: Math.min(rows - 1, 8) })];
  }

  plain(): string | null {
    const measure = this.#measure;
    if (!measure) return null;
    const jobs =
      this.#board.size > 0 ? `, ${this.#board.ended} of ${count(this.#board.size, 'job')} ended` : '';
    const { left } = this.#throughput();
    const time = left === null ? '' : `, ${roughly(left)} left`;
    return `${this.#phase(measure)} ${this.#rows(measure)}${jobs}${time}`;
  }

  #phase(measure: Measure, brief = false): string {
    // Jobs are followed while later rows are still being sent: for users, that is one phase.
    const sending = this.#toSend !== null && (this.#submitted ?? 0) < this.#toSend;
    const phase = measure.phase === 'following' && sending ? 'sending' : measure.phase;
    return measure.kind === null || brief ? phase : `${phase} ${measure.kind}`;
  }

  #rows(measure: Measure, brief = false): string {
    if (measure.phase === 'downloading') {
      const { bytes = 0, total_bytes: total } = measure;
      return total == null ? formatSize(bytes) : `${formatSize(bytes)} of ${formatSize(total)}`;
    }
    const { of, done, total } = this.#count();
    if (measure.phase === 'planning') return count(measure.rows, 'row');
    const known = total === null ? count(done, 'row') : `${grouped(done)} of ${count(total, 'row')}`;
    return of === 'completed' && !brief ? `${known} completed` : known;
  }

  /**
   * What is counted: bytes while downloading and planning; then completed rows, or submitted rows if jobs are
   * not followed.
   */
  #count(): { of: Counted; done: number; total: number | null } {
    const measure = this.#measure;
    if (!measure) return { of: 'submitted', done: 0, total: null };
    if (measure.phase === 'downloading' || measure.phase === 'planning') {
      return { of: measure.phase, done: measure.bytes ?? 0, total: measure.total_bytes ?? null };
    }
    // While jobs are followed, the total in an event covers only rows sent so far. The time left must cover
    // all rows.
    const total = this.#toSend ?? measure.total_rows;
    if (this.#followed !== undefined || this.#board.size > 0) {
      return { of: 'completed', done: Math.max(this.#followed ?? 0, this.#board.completedRows), total };
    }
    return { of: 'submitted', done: this.#submitted ?? 0, total };
  }

  /**
   * Rows per second and milliseconds left, measured from the start of the phase; null if unknown. Phases that
   * count bytes have no rate.
   */
  #throughput(): { rate: number | null; left: number | null } {
    const { of, done, total } = this.#count();
    const base = this.#base;
    if (!base || base.of !== of) return { rate: null, left: null };
    const elapsed = this.clock.monotonic() - base.at;
    if (elapsed < MEASURED_MS || done <= base.done) return { rate: null, left: null };
    const perMs = (done - base.done) / elapsed;
    // Everything is done, but the end of the phase is not reported yet: "0ms left" would be wrong.
    const left = total === null || done >= total ? null : (total - done) / perMs;
    return { rate: of === 'downloading' || of === 'planning' ? null : perMs * 1_000, left };
  }
}

function bar(share: number): string {
  const full = Math.round(share * BAR_CELLS);
  return '━'.repeat(full) + '─'.repeat(BAR_CELLS - full);
}
