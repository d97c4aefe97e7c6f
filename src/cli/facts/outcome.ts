/** How an import ended, and why that is not a success. */
import type { RunStatus, Summary } from '../../engine/model.js';
import { count, grouped } from '../../engine/numbers.js';

/** How well something went. A word or a sign always says the same as its color. */
export type Tone = 'good' | 'warn' | 'bad' | 'none';

/** How well a job went. Any status that the specification does not name is that of an unfinished one. */
export const toneOf = (status: string): Tone =>
  status === 'completed' ? 'good' : status === 'failed' ? 'bad' : 'none';

export interface Outcome {
  tone: Tone;
  words: string;
  /** Why it is not a success, for the exit codes that have several reasons. */
  why: string;
}

const OUTCOMES: Record<RunStatus, [tone: Tone, words: string]> = {
  completed: ['good', 'completed'],
  submitted: ['good', 'accepted; the jobs continue'],
  planned: ['good', 'planned; nothing was sent'],
  rejected: ['bad', 'nothing was sent: rows are invalid'],
  held: ['bad', 'held back; nothing was sent'],
  partial: ['warn', 'partially completed'],
  failed: ['bad', 'a job failed'],
  stopped: ['bad', 'stopped early'],
  timed_out: ['warn', 'timed out; the jobs continue'],
  interrupted: ['warn', 'interrupted'],
};

/** Whether there is only a plan, and nothing was sent. */
export const isOnlyPlanned = (status: string): boolean => status === 'planned' || status === 'held';

export function outcomeOf(summary: Summary): Outcome {
  const { status, rows } = summary;
  const [tone, words] = OUTCOMES[status];
  // A dry run that would reject rows is not a success.
  const isGood = tone === 'good' && !(status === 'planned' && rows.rejected > 0);
  return { tone: tone === 'good' && !isGood ? 'bad' : tone, words, why: whyOf(summary) };
}

/** What exit codes 5 and 9 mean for this result. */
export function whyOf({ status, rows, jobs, not_sent, plan }: Summary): string {
  if (status === 'held') {
    const { changed = 0, new: added = 0 } = plan?.changes ?? {};
    return `${grouped(added + changed)} of ${count(rows.read, 'row')} are new or changed, more than --max-changed allows`;
  }
  if (status === 'planned') return 'some rows would be rejected';
  if (status === 'rejected') return 'some rows were rejected';
  if (rows.unknown) return 'some rows may have arrived, and were not sent again';
  if (rows.unsent) return 'some rows were not sent, since others sent their identifiers later';
  if (rows.rejected > 0) return 'some rows were rejected';
  if (jobs.some((job) => job.status === 'failed')) {
    return 'some rows of failed jobs were not sent again, since others sent their identifiers later';
  }
  if (not_sent !== undefined) return 'valid rows of an earlier import were not sent';
  const isShort = rows.completed < rows.submitted && jobs.some(isCompletedShort);
  if (isShort) return 'a job completed fewer rows than it was sent';
  return jobs.some((job) => job.status === 'unknown')
    ? 'some rows were accepted, but the service no longer knows their job'
    : 'some rows were accepted, but the reply names no job to follow';
}

/** Whether a completed job completed fewer rows than it has. */
export const isCompletedShort = ({ status, completed_rows, total_rows }: Summary['jobs'][number]): boolean =>
  status === 'completed' && completed_rows != null && (total_rows == null || completed_rows < total_rows);
