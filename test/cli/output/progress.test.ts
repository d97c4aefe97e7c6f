import { describe, expect, test } from 'vitest';
import { JobBoard } from '../../../src/cli/output/job-board.js';
import { ImportProgress } from '../../../src/cli/output/progress.js';
import { stylesFor } from '../../../src/cli/output/terminal.js';
import { widthOf } from '../../../src/cli/output/width.js';
import { IdleClock } from '../../support/clock.js';
import { aJobEvent, aPlanEvent, aProgress } from '../../support/runs.js';

const plain = stylesFor(false);
const job = (job_id: string, status: string, completed_rows: number | null = null, total_rows = 5_000) => ({
  job_id,
  status,
  completed_rows,
  total_rows,
});

describe('JobBoard', () => {
  test('shows what each job is doing, and for how long', () => {
    const clock = new IdleClock();
    const board = new JobBoard(clock, plain);
    board.update(job('a1', 'queued'), 80);
    clock.advance(2_500);
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
    clock.advance(12_300);
    expect(board.update(job('a1', 'completed'), 80)).toBe('✓ a1  completed        5,000 rows  12.3s');
    expect(board.update(job('a1', 'completed'), 80)).toBeUndefined();
    expect(board.update(job('b2', 'failed', 17), 80)).toBe('✗ b2  failed           17 of 5,000 rows  0ms');
    expect(board.live({ columns: 80, rows: 9 })).toEqual([]);
    expect([board.size, board.ended, board.completedRows]).toEqual([2, 2, 5_017]);
  });

  test('the reason that the service names stands beside a failed job', () => {
    const board = new JobBoard(new IdleClock(), plain);
    const failed = { ...job('a1', 'failed', 0), error_code: 'plan_limit', message: 'too many companies' };
    expect(board.update(failed, 100)).toBe(
      '✗ a1  failed           0 of 5,000 rows  0ms  plan_limit: too many companies',
    );
  });

  test('a job that completed fewer rows than it was sent is not checked off', () => {
    const board = new JobBoard(new IdleClock(), plain);
    expect(board.update(job('a1', 'completed', 4_999), 80)).toMatch(
      /^! a1 {2}completed .* 4,999 of 5,000 rows/,
    );
    expect(board.update(job('b2', 'completed', 5_000), 80)).toMatch(/^✓ b2/);
  });

  test('more jobs than rows become a count', () => {
    const board = new JobBoard(new IdleClock(), plain);
    for (let i = 0; i < 12; i++) board.update(job(`job-${i}`, 'queued'), 80);
    const lines = board.live({ columns: 80, rows: 4 });
    expect(lines).toHaveLength(4);
    expect(lines[3]).toBe('… and 9 more jobs');
  });

  test.each([120, 60, 40, 20])(
    'a long id with CJK and emoji keeps within %i columns, its status first',
    (columns) => {
      const board = new JobBoard(new IdleClock(), plain);
      board.update(job(`工作-👍🏽-${'長'.repeat(60)}`, 'pending_refresh', 12), columns);
      const [line] = board.live({ columns, rows: 3 });
      expect(widthOf(line!)).toBeLessThanOrEqual(columns);
      expect(line).toContain('pending_refresh');
    },
  );

  test('an id cannot send control sequences', () => {
    const board = new JobBoard(new IdleClock(), plain);
    expect(board.update(job('\u001b[2J', 'failed'), 80)).toContain('\\x1b[2J');
  });

  test.each<[string, ReturnType<typeof job>[], string | null]>([
    ['nothing seen', [], null],
    ['one job', [job('a', 'processing', 2_000)], 'job a: processing, 2,000 of 5,000 rows'],
    ['one job, ended', [job('a', 'completed', 5_000)], 'job a: completed'],
    [
      'several',
      [job('a', 'completed'), job('b', 'queued'), job('c', 'queued')],
      'jobs: 2 queued, 1 completed',
    ],
  ])('in one line: %s', (_name, jobs, text) => {
    const board = new JobBoard(new IdleClock(), plain);
    for (const one of jobs) board.update(one, 80);
    expect(board.plain()).toBe(text);
  });
});

describe('ImportProgress', () => {
  function importing() {
    const clock = new IdleClock();
    const progress = new ImportProgress(clock, plain);
    return { clock, progress, head: (columns = 120) => progress.live({ columns, rows: 20 })[0] };
  }

  test('planning: rows read, and the share and time of the bytes', () => {
    const { clock, progress, head } = importing();
    progress.apply(aProgress('planning', 0, { total_rows: null, bytes: 0, total_bytes: 1_000 }), 80);
    clock.advance(2_000);
    progress.apply(aProgress('planning', 12_000, { total_rows: null, bytes: 250, total_bytes: 1_000 }), 80);
    expect(head(60)).toBe('planning companies  12,000 rows  25%  6s left');
    expect(progress.plain()).toBe('planning companies 12,000 rows, 6s left');
  });

  test('planning stdin: no share and no time are known', () => {
    const { progress, head } = importing();
    progress.apply(
      aProgress('planning', 12_000, { kind: null, total_rows: null, bytes: 250, total_bytes: null }),
      80,
    );
    expect(head()).toBe('planning  12,000 rows');
  });

  test('sending without following: rows submitted', () => {
    const { clock, progress, head } = importing();
    progress.apply(aProgress('sending', 0), 80);
    clock.advance(5_000);
    progress.apply(aProgress('sending', 10_000), 80);
    expect(head()).toBe(
      'sending companies  ━━━━────────────────  10,000 of 50,000 rows  20%  2,000 rows/s  20s left',
    );
    expect(progress.plain()).toBe('sending companies 10,000 of 50,000 rows, 20s left');
  });

  test('following: time left comes from what the jobs have completed, not from what was sent', () => {
    const { clock, progress, head } = importing();
    progress.apply(aProgress('sending', 5_000), 80);
    progress.apply(aJobEvent({ status: 'queued', completed_rows: 0 }), 80);
    progress.apply(aProgress('following', 0), 80);
    clock.advance(10_000);
    progress.apply(aJobEvent({ status: 'processing', completed_rows: 2_500 }), 80);
    expect(head()).toContain('2,500 of 50,000 rows completed  5%  250 rows/s  3m 10s left');
    expect(progress.plain()).toBe(
      'sending companies 2,500 of 50,000 rows completed, 0 of 1 job ended, 3m 10s left',
    );
    progress.apply(aProgress('sending', 50_000), 80);
    progress.apply(aProgress('following', 2_500), 80);
    expect(progress.plain()).toContain('following companies');
  });

  test('while jobs are followed, the time left is that of all rows, not of those sent so far', () => {
    const { clock, progress } = importing();
    progress.apply(aProgress('sending', 5_000), 80);
    progress.apply(aProgress('following', 0, { total_rows: 5_000 }), 80);
    clock.advance(5_000);
    progress.apply(aProgress('following', 5_000, { total_rows: 5_000 }), 80);
    expect(progress.plain()).toBe('sending companies 5,000 of 50,000 rows completed, 45s left');
  });

  test('a resumed import: what was done before does not count towards the rate', () => {
    const { clock, progress } = importing();
    progress.apply(aProgress('following', 40_000), 80);
    clock.advance(10_000);
    progress.apply(aProgress('following', 41_000), 80);
    expect(progress.plain()).toBe('following companies 41,000 of 50,000 rows completed, 1m 30s left');
  });

  test('no time left is shown when all rows are done', () => {
    const { clock, progress } = importing();
    progress.apply(aProgress('following', 0), 80);
    clock.advance(10_000);
    progress.apply(aProgress('following', 50_000), 80);
    expect(progress.plain()).toBe('following companies 50,000 of 50,000 rows completed');
  });

  test('nothing is estimated from less than a second', () => {
    const { clock, progress } = importing();
    progress.apply(aProgress('sending', 0), 80);
    clock.advance(900);
    progress.apply(aProgress('sending', 49_000), 80);
    expect(progress.plain()).not.toContain('left');
  });

  test('jobs are below, and a line stays for the plan and for each ended job', () => {
    const { progress } = importing();
    expect(progress.apply(aPlanEvent(), 80)).toBe('✓ 50,000 rows: 50,000 to send in 10 requests (4 MiB)');
    progress.apply(aProgress('sending', 5_000), 80);
    expect(
      progress.apply(aJobEvent({ job_id: 'a', status: 'queued', completed_rows: 0 }), 80),
    ).toBeUndefined();
    const lines = progress.live({ columns: 80, rows: 20 });
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^a {2}queued/);
    expect(progress.apply(aJobEvent({ job_id: 'a', completed_rows: 5_000 }), 80)).toMatch(
      /^✓ a {2}completed/,
    );
  });

  test('jobs of a search for rows at fault leave no line', () => {
    const { progress } = importing();
    const ended = {
      ...aJobEvent({ job_id: 'a', status: 'failed', completed_rows: 0 }),
      searching: true as const,
    };
    expect(progress.apply(ended, 80)).toBeUndefined();
    expect(progress.live({ columns: 80, rows: 20 })).toHaveLength(1);
  });

  test.each([120, 76, 60, 40, 12])('keeps within %i columns and says what matters first', (columns) => {
    const { clock, progress } = importing();
    progress.apply(aProgress('sending', 0), 80);
    clock.advance(5_000);
    progress.apply(aProgress('sending', 12_345), 80);
    for (let i = 0; i < 9; i++)
      progress.apply(aJobEvent({ job_id: `株式会社-${i}`, status: 'processing' }), 80);
    const lines = progress.live({ columns, rows: 30 });
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    if (columns >= 40) expect(lines[0]).toContain(' of 50,000 rows');
    expect(lines[0]).toMatch(/^sending/);
    expect(lines.length).toBeLessThanOrEqual(9);
  });

  test('before the first event, it says that it is starting', () => {
    const { progress, head } = importing();
    expect([head(), progress.plain()]).toEqual(['starting', null]);
  });
});
