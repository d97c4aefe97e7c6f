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
  test('shows what each job is doing, and for how long', () => {
    const clock = new IdleClock();
    const board = new JobBoard(clock, plain);
    board.update(job('a1', 'queued'), 80);
    clock.pass(2_500);
    board.update(job('b2', 'processing', 1_250), 80);
    expect(board.live({ columns: 80, rows: 9 })).toEqual([
      'a1  queued           0 of 5,000 rows  0%  2.5s',
      'b2  processing       1,250 of 5,000 rows  25%  0ms',
    ]);
  });

  test('a job that ends leaves one line, and only one', () => {
    const clock = new IdleClock();
    const board = new JobBoard(clock, plain);
    board.update(job('a1', 'processing', 10), 80);
    clock.pass(12_300);
    expect(board.update(job('a1', 'completed'), 80)).toBe('✓ a1  completed        5,000 rows  12.3s');
    expect(board.update(job('a1', 'completed'), 80)).toBeUndefined();
    expect(board.update(job('b2', 'failed', 17), 80)).toBe('✗ b2  failed           17 of 5,000 rows  0ms');
    expect(board.live({ columns: 80, rows: 9 })).toEqual([]);
    expect([...board.counts, board.completedRows]).toEqual([2, 2, 5_017]);
  });

  test.each([
    [
      'the reason of a failure stands beside it',
      { ...job('a1', 'failed', 0), error_code: 'plan_limit', message: 'too many companies' },
      '✗ a1  failed           0 of 5,000 rows  0ms  plan_limit: too many companies',
    ],
    [
      'one that completed fewer rows than it was sent is not checked off',
      job('a1', 'completed', 4_999),
      '! a1  completed        4,999 of 5,000 rows  0ms',
    ],
    [
      'an id cannot send control sequences',
      job('\u001b[2J', 'failed', 0),
      '✗ \\x1b[2J  failed           0 of 5,000 rows  0ms',
    ],
  ])('a job that has ended: %s', (_, ended, line) => {
    expect(new JobBoard(new IdleClock(), plain).update(ended, 100)).toBe(line);
  });

  test.each([
    [12, '… and 9 more jobs'],
    [4, 'job-3'],
  ])('more jobs than rows become a count: %d in four rows', (jobs, last) => {
    const board = new JobBoard(new IdleClock(), plain);
    for (let i = 0; i < jobs; i++) board.update(job(`job-${i}`, 'queued'), 80);
    const lines = board.live({ columns: 80, rows: 4 });
    expect([lines.length, lines[3]]).toEqual([4, expect.stringContaining(last)]);
  });

  test.each([120, 60, 40, 20])('a long id keeps within %i columns, its status first', (columns) => {
    const board = new JobBoard(new IdleClock(), plain);
    board.update(job(`工作-👍🏽-${'長'.repeat(60)}`, 'pending_refresh', 12), columns);
    const [line] = board.live({ columns, rows: 3 });
    expect(widthOf(line!)).toBeLessThanOrEqual(columns);
    expect(line).toContain('pending_refresh');
  });

  test.each<[string, ReturnType<typeof job>[], string | null]>([
    ['nothing seen', [], null],
    ['one job', [job('a', 'processing', 2_000)], 'job a: processing, 2,000 of 5,000 rows'],
    ['one job, ended', [job('a', 'completed', 5_000)], 'job a: completed'],
    [
      'several',
      ['queued', 'completed', 'queued'].map((s, i) => job(`${i}`, s)),
      'jobs: 2 queued, 1 completed',
    ],
  ])('in one line: %s', (_name, jobs, text) => {
    const board = new JobBoard(new IdleClock(), plain);
    for (const one of jobs) board.update(one, 80);
    expect(board.plain()).toBe(text);
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
  test.each<[string, Step[], plain: string | null, head?: string, columns?: number]>([
    ['before the first event', [], null, 'starting'],
    [
      'planning: the share and time of the bytes',
      [planning(0, 0), 2, planning(12_000, 250)],
      'planning companies 12,000 rows, 6s left',
      ...(['planning companies  12,000 rows  25%  6s left', 60] as const),
    ],
    ['planned, and nothing accepted yet', [planning(12_000, 1_000), aPlanEvent()], null, 'starting'],
    [
      'planning stdin: no share and no time are known',
      [planning(12_000, 250, null, null)],
      ...(['planning 12,000 rows', 'planning  12,000 rows'] as const),
    ],
    [
      'sending without following: rows submitted',
      [sending(0), 5, sending(10_000)],
      'sending companies 10,000 of 50,000 rows, 20s left',
      'sending companies  ━━━━────────────────  10,000 of 50,000 rows  20%  2,000 rows/s  20s left',
    ],
    [
      'following: time left comes from what the jobs have completed, not from what was sent',
      [sending(5_000), running(0), following(0), 10, running(2_500)],
      'sending companies 2,500 of 50,000 rows completed, 0 of 1 job ended, 3m 10s left',
      'sending companies  ━───────────────────  2,500 of 50,000 rows completed  5%  250 rows/s  3m 10s left',
    ],
    [
      'everything is sent: only jobs are followed',
      [running(2_500), sending(50_000), following(2_500)],
      'following companies 2,500 of 50,000 rows completed, 0 of 1 job ended',
    ],
    [
      'while jobs are followed, the time left is that of all rows, not of those sent so far',
      [sending(5_000), following(0, 5_000), 5, following(5_000, 5_000)],
      'sending companies 5,000 of 50,000 rows completed, 45s left',
    ],
    [
      'a resumed import: what was done before does not count towards the rate',
      [following(40_000), 10, following(41_000)],
      'following companies 41,000 of 50,000 rows completed, 1m 30s left',
    ],
    [
      'no time left is shown when all rows are done',
      [following(0), 10, following(50_000)],
      'following companies 50,000 of 50,000 rows completed',
    ],
    [
      'nothing is estimated from less than a second',
      [sending(0), 0.9, sending(49_000)],
      'sending companies 49,000 of 50,000 rows',
    ],
  ])('%s', (_, steps, line, head, columns = 120) => {
    const progress = having(steps);
    expect(progress.plain()).toBe(line);
    if (head !== undefined) expect(progress.live({ columns, rows: 20 })[0]).toBe(head);
  });

  test('jobs are below, and a line stays for the plan and for each ended job, but not in a search', () => {
    const progress = having([]);
    expect(progress.apply(aPlanEvent(), 80)).toBe('✓ 50,000 rows: 50,000 to send in 10 requests (4 MiB)');
    progress.apply(sending(5_000), 80);
    const event = { job_id: 'a', completed_rows: 0 };
    expect(progress.apply(aJobEvent({ ...event, status: 'queued' }), 80)).toBeUndefined();
    const lines = progress.live({ columns: 80, rows: 20 });
    expect(lines).toEqual([expect.any(String), expect.stringMatching(/^a {2}queued/)]);
    const ended = aJobEvent({ job_id: 'a', completed_rows: 5_000 });
    expect(progress.apply(ended, 80)).toMatch(/^✓ a {2}completed/);
    const failed = { ...aJobEvent({ ...event, job_id: 'b', status: 'failed' }), searching: true as const };
    expect(progress.apply(failed, 80)).toBeUndefined();
    expect(progress.live({ columns: 80, rows: 20 })).toHaveLength(1);
  });

  test.each([120, 76, 60, 40, 12])('keeps within %i columns and says what matters first', (columns) => {
    const jobs = Array.from({ length: 9 }, (_, i) =>
      aJobEvent({ job_id: `株式会社-${i}`, status: 'processing' }),
    );
    const lines = having([sending(0), 5, sending(12_345), ...jobs]).live({ columns, rows: 30 });
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    if (columns >= 40) expect(lines[0]).toContain(' of 50,000 rows');
    expect(lines[0]).toMatch(/^sending/);
    expect(lines.length).toBeLessThanOrEqual(9);
  });
});
