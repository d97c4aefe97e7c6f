/** What is shown while an import runs, by what has happened so far. */
import { describe, expect, test } from 'vitest';
import { ImportProgress, JobBoard } from '../../../src/cli/output/progress.js';
import { stylesFor } from '../../../src/cli/output/terminal.js';
import { widthOf } from '../../../src/cli/output/width.js';
import { IdleClock } from '../../support/clock.js';
import { aJobEvent, aPlanEvent, aProgress } from '../../support/runs.js';

const plain = stylesFor(false);
const job = (job_id: string, status: string, completed_rows: number | null = null, total_rows = 5_000) => {
  return { job_id, status, completed_rows, total_rows };
};

describe('JobBoard', () => {
  test('a job that ends leaves one line, and only one', () => {
    const clock = new IdleClock();
    const board = new JobBoard(clock, plain);
    board.update(job('a1', 'processing', 10), 80);
    clock.pass(12_300);
    expect(board.update(job('a1', 'completed'), 80)).toBe('✓ job a1: completed, 5,000 rows, 12.3s');
    expect(board.update(job('a1', 'completed'), 80)).toBeUndefined();
    expect(board.update(job('b2', 'failed', 17), 80)).toBe('✗ job b2: failed, 17 of 5,000 rows, 0ms');
    expect([...board.counts, board.completedRows]).toEqual([2, 2, 5_017]);
  });

  test.each([
    [
      'the reason of a failure stands beside it',
      { ...job('a1', 'failed', 0), error_code: 'plan_limit', message: 'too many companies' },
      '✗ job a1: failed, 0 of 5,000 rows, 0ms: plan_limit: too many companies',
    ],
    [
      'one that completed fewer rows than it was sent is not checked off',
      job('a1', 'completed', 4_999),
      '! job a1: completed, 4,999 of 5,000 rows, 0ms',
    ],
    [
      'an id cannot send control sequences',
      job('\u001b[2J', 'failed', 0),
      '✗ job \\x1b[2J: failed, 0 of 5,000 rows, 0ms',
    ],
  ])('a job that has ended: %s', (_, ended, line) => {
    expect(new JobBoard(new IdleClock(), plain).update(ended, 100)).toBe(line);
  });

  test.each([120, 60, 40])('a long id keeps within %i columns, and leaves room for its status', (columns) => {
    const board = new JobBoard(new IdleClock(), plain);
    board.update(job(`工作-👍🏽-${'長'.repeat(60)}`, 'pending_refresh', 12), columns);
    expect(widthOf(board.text(columns)!)).toBeLessThanOrEqual(columns);
    expect(board.text(columns)).toContain('pending_refresh');
  });

  test.each<[string, ReturnType<typeof job>[], string | null]>([
    ['nothing seen', [], null],
    ['one job', [job('a', 'processing', 2_000)], 'job a: processing, 2,000 of 5,000 rows'],
    ['one job, ended', [job('a', 'completed', 5_000)], 'job a: completed, 5,000 rows'],
    [
      'several',
      ['queued', 'completed', 'queued'].map((s, i) => job(`${i}`, s)),
      'jobs: 2 queued, 1 completed',
    ],
  ])('%s', (_name, jobs, text) => {
    const board = new JobBoard(new IdleClock(), plain);
    for (const one of jobs) board.update(one, 80);
    expect(board.text(80)).toBe(text);
  });
});

/** An event, or seconds that pass. */
type Step = Parameters<ImportProgress['apply']>[0] | number;
const planning = (rows: number, bytes: number, total_bytes: number | null = 1_000, kind?: null) =>
  aProgress('planning', rows, { total_rows: null, bytes, total_bytes, ...(kind === null && { kind }) });
const sending = (rows: number) => aProgress('sending', rows);
const following = (rows: number, total_rows = 50_000) => aProgress('following', rows, { total_rows });
const running = (completed_rows: number) => aJobEvent({ status: 'processing', completed_rows });

function having(steps: readonly Step[]): ImportProgress {
  const clock = new IdleClock();
  const progress = new ImportProgress(clock, plain);
  for (const step of steps) {
    if (typeof step === 'number') clock.pass(step * 1_000);
    else progress.apply(step, 80);
  }
  return progress;
}

describe('ImportProgress', () => {
  test.each<[string, Step[], string | null]>([
    ['before the first event', [], null],
    [
      'planning: the time of the bytes',
      [planning(0, 0), 2, planning(12_000, 250)],
      'planning companies 12,000 rows, 6s left',
    ],
    ['planning stdin: no time is known', [planning(12_000, 250, null, null)], 'planning 12,000 rows'],
    [
      'sending without following: rows submitted',
      [sending(0), 5, sending(10_000)],
      'sending companies 10,000 of 50,000 rows, 20s left, 2,000 rows/s',
    ],
    [
      'following: time left comes from what the jobs have completed, not from what was sent',
      [sending(5_000), running(0), following(0), 10, running(2_500)],
      'sending companies 2,500 of 50,000 rows completed, 3m 10s left, 250 rows/s, 0 of 1 job ended',
    ],
    [
      'everything is sent: only jobs are followed',
      [running(2_500), sending(50_000), following(2_500)],
      'following companies 2,500 of 50,000 rows completed, 0 of 1 job ended',
    ],
    [
      'while jobs are followed, the time left is that of all rows, not of those sent so far',
      [sending(5_000), following(0, 5_000), 5, following(5_000, 5_000)],
      'sending companies 5,000 of 50,000 rows completed, 45s left, 1,000 rows/s',
    ],
    [
      'a resumed import: what was done before does not count towards the rate',
      [following(40_000), 10, following(41_000)],
      'following companies 41,000 of 50,000 rows completed, 1m 30s left, 100 rows/s',
    ],
    [
      'no time left is shown when all rows are done',
      [following(0), 10, following(50_000)],
      'following companies 50,000 of 50,000 rows completed, 5,000 rows/s',
    ],
    [
      'nothing is estimated from less than a second',
      [sending(0), 0.9, sending(49_000)],
      'sending companies 49,000 of 50,000 rows',
    ],
  ])('%s', (_, steps, line) => {
    const progress = having(steps);
    expect(progress.text(120)).toBe(line);
    for (const columns of [76, 40, 12])
      expect(widthOf(progress.text(columns) ?? '')).toBeLessThanOrEqual(columns);
  });

  test('a line stays for the plan and for each ended job, but not in a search', () => {
    const progress = having([]);
    expect(progress.apply(aPlanEvent(), 80)).toBe('✓ 50,000 rows: 50,000 to send in 10 requests (4 MiB)');
    const event = { job_id: 'a', completed_rows: 0 };
    expect(progress.apply(aJobEvent({ ...event, status: 'queued' }), 80)).toBeUndefined();
    const ended = aJobEvent({ job_id: 'a', completed_rows: 5_000 });
    expect(progress.apply(ended, 80)).toMatch(/^✓ job a: completed/);
    const failed = { ...aJobEvent({ ...event, job_id: 'b', status: 'failed' }), searching: true as const };
    expect(progress.apply(failed, 80)).toBeUndefined();
  });
});
