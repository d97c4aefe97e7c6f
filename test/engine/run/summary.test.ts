/** Status, exit code and numbers, worked out from records: one table for each. As long as those tables. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  AuthError,
  InterruptedError,
  LockedError,
  NetworkError,
  ServiceError,
  StateError,
  WaitTimeoutError,
} from '../../../src/engine/errors.js';
import type { RequestRecord } from '../../../src/engine/model/requests.js';
import { RunRequests } from '../../../src/engine/model/run-requests.js';
import type { Rejection, RowCounts } from '../../../src/engine/model.js';
import type { InvalidBound } from '../../../src/engine/options.js';
import { exitOf, statusOf } from '../../../src/engine/run/report.js';
import {
  countPlanned,
  type Ending,
  isWithinBound,
  jobsOf,
  keepFirst,
  maybeSentTwice,
} from '../../../src/engine/run/summary.js';
import type { Job } from '../../../src/engine/service/contract.js';
import { recordedRange } from '../support/rows.js';

/** A request of ten rows whose job is this. */
const withJob = (job: Partial<Job>, over: Partial<RequestRecord> = {}): RequestRecord =>
  recordedRange(0, 10, {
    state: 'settled',
    job_id: 'job-1',
    job: { job_id: 'job-1', status: 'completed', ...job },
    ...over,
  });

const COUNTS: RowCounts = {
  read: 10,
  filtered: 0,
  rejected: 0,
  merged: 0,
  unchanged: 0,
  submitted: 10,
  completed: 10,
};

type Given = Partial<Ending> & { records?: RequestRecord[] };

/** A run of one job that completed, unless said otherwise. */
const ending = ({ records = [withJob({ completed_rows: 10 })], ...over }: Given = {}): Ending => ({
  mode: 'sent',
  rows: COUNTS,
  requests: new RunRequests(records),
  wait: true,
  failure: null,
  ...over,
});

const failedJob = withJob({ status: 'failed' });
const shortJob = withJob({ completed_rows: 9 });
const rejected: Partial<Ending> = { rows: { ...COUNTS, rejected: 1, submitted: 9 } };

describe('status and exit code', () => {
  test.each<[name: string, end: Given, status: string, exit: number]>([
    ['all went well', {}, 'completed', 0],
    ['nothing to send', { records: [], rows: { ...COUNTS, read: 0, submitted: 0 } }, 'completed', 0],
    [
      '--no-wait',
      { wait: false, records: [withJob({ status: 'queued' }, { state: 'acknowledged' })] },
      'submitted',
      0,
    ],
    ['--dry-run', { mode: 'planned', records: [] }, 'planned', 0],
    ['--dry-run, invalid rows', { ...rejected, mode: 'planned', records: [] }, 'planned', 5],
    ['invalid rows, nothing sent', { ...rejected, mode: 'refused', records: [] }, 'rejected', 5],
    ['invalid rows, the rest sent', rejected, 'partial', 5],
    ['invalid rows, the rest sent, --no-wait', { ...rejected, wait: false }, 'partial', 5],
    ['a job is short of its request', { records: [shortJob] }, 'partial', 5],
    [
      'a job is short by its own count',
      { records: [withJob({ completed_rows: 10, total_rows: 12 })] },
      'partial',
      5,
    ],
    ['accepted without a job', { records: [withJob({}, { job: null, job_id: null })] }, 'partial', 5],
    [
      'accepted without a job, --no-wait',
      { wait: false, records: [withJob({}, { job: null, job_id: null })] },
      'partial',
      5,
    ],
    ['a job is gone', { records: [withJob({ status: 'unknown' })] }, 'partial', 5],
    [
      'a range in which all was unchanged',
      { records: [recordedRange(0, 10, { state: 'settled', rows: 0, unchanged: 10 })] },
      'completed',
      0,
    ],
    ['a job failed', { records: [failedJob] }, 'failed', 7],
    [
      'a job failed after all rows',
      { records: [withJob({ status: 'failed', completed_rows: 10 })] },
      'failed',
      7,
    ],
    ['the token was refused', { failure: new AuthError('no') }, 'stopped', 4],
    ['the service failed', { failure: new ServiceError('no') }, 'stopped', 6],
    ['the network failed', { failure: new NetworkError('no') }, 'stopped', 6],
    ['the state could not be written', { failure: new StateError('full') }, 'stopped', 1],
    ['a defect', { failure: new TypeError('x is not a function') }, 'stopped', 1],
    ['something was thrown that is no error', { failure: 'a string' }, 'stopped', 1],
    ['another import held the lock', { failure: new LockedError('busy') }, 'stopped', 8],
    ['waiting ended', { failure: new WaitTimeoutError('no') }, 'timed_out', 3],
    ['Ctrl-C', { failure: new InterruptedError('SIGINT') }, 'interrupted', 130],
    ['SIGTERM', { failure: new InterruptedError('SIGTERM') }, 'interrupted', 143],
    ['SIGHUP', { failure: new InterruptedError('SIGHUP') }, 'interrupted', 143],
  ])('%s', (_name, over, status, exit) => {
    expect([statusOf(ending(over)), exitOf(ending(over))]).toEqual([status, exit]);
  });

  // Where several apply: 4, 6, 7, 3, 5.
  test.each<[name: string, end: Given, exit: number]>([
    ['4 before 7', { failure: new AuthError('no'), records: [failedJob] }, 4],
    ['4 before 5', { ...rejected, failure: new AuthError('no') }, 4],
    ['6 before 7', { failure: new ServiceError('no'), records: [failedJob] }, 6],
    ['6 before 5', { ...rejected, failure: new NetworkError('no') }, 6],
    ['7 before 3', { failure: new WaitTimeoutError('no'), records: [failedJob] }, 7],
    ['7 before 5', { ...rejected, records: [failedJob, shortJob] }, 7],
    ['3 before 5', { ...rejected, failure: new WaitTimeoutError('no'), records: [shortJob] }, 3],
    [
      'an interrupt is always said',
      { ...rejected, failure: new InterruptedError('SIGINT'), records: [failedJob] },
      130,
    ],
  ])('%s', (_name, over, exit) => {
    expect(exitOf(ending(over))).toBe(exit);
  });
});

describe('completedRows', () => {
  test.each<[name: string, job: Partial<Job> | null, completed: number]>([
    ['no job', null, 0],
    ['completed, no number: all of its request', { status: 'completed' }, 10],
    ['completed, null: all of its request', { status: 'completed', completed_rows: null }, 10],
    ['completed, a number: that', { status: 'completed', completed_rows: 7 }, 7],
    ['more than were sent: no more than that', { status: 'completed', completed_rows: 70 }, 10],
    ['on the way', { status: 'processing', completed_rows: 4 }, 4],
    ['on the way, no number', { status: 'processing' }, 0],
    ['failed', { status: 'failed', completed_rows: 4 }, 4],
    ['failed, no number', { status: 'failed' }, 0],
  ])('%s', (_name, job, completed) => {
    const record = job ? withJob(job) : recordedRange(0, 10, { state: 'settled' });
    expect(new RunRequests([record, { ...record, seq: 2 }]).totals.completed).toBe(2 * completed);
  });
});

describe('countPlanned', () => {
  test('a plan has sent nothing', () => {
    const planned = { read: 14, filtered: 4, rejected: 2 };
    expect(countPlanned(planned, { merged: 1, unchanged: 3, rejected: 0 })).toEqual({
      read: 14,
      filtered: 4,
      rejected: 2,
      merged: 1,
      unchanged: 3,
      submitted: 0,
      completed: 0,
      unsent: 4,
    });
    expect(countPlanned(planned, { merged: 0, unchanged: 8, rejected: 0 })).not.toHaveProperty('unsent');
  });
});

describe('what is reported of requests', () => {
  test('jobs have every field of their record, and the file and lines they came from', () => {
    const records = [withJob({ total_rows: 10, mood: 'well' }), recordedRange(10, 20)];
    expect(jobsOf(records, ['a.csv'])).toEqual([
      {
        job_id: 'job-1',
        status: 'completed',
        total_rows: 10,
        mood: 'well',
        file: 'a.csv',
        first_line: 2,
        last_line: 11,
      },
    ]);
  });

  test('a field of the service that is called as ours is the service’s', () => {
    const records = [withJob({ file: 'uploads/9.csv' })];
    expect(jobsOf(records, ['a.csv'])).toMatchObject([{ file: 'uploads/9.csv', first_line: 2 }]);
  });

  test('requests that may be there twice are named, whatever became of them since', () => {
    const twice = { possibleDuplicate: 'connection reset' };
    const records = [
      recordedRange(0, 5, { ...twice, state: 'acknowledged', job_id: 'job-1' }),
      recordedRange(5, 9, { ...twice, input: 1, state: 'withdrawn', retries: 1 }),
      recordedRange(9, 12, { state: 'unknown', reason: 'reply timeout' }),
      recordedRange(12, 13, { ...twice, state: 'withdrawn' }), // not sent a second time yet
    ];
    expect(maybeSentTwice(new RunRequests(records), ['a.csv', 'b.csv'])).toEqual([
      { file: 'a.csv', first_line: 2, last_line: 6, rows: 5, reason: 'connection reset', job_id: 'job-1' },
      { file: 'b.csv', first_line: 7, last_line: 10, rows: 4, reason: 'connection reset', job_id: null },
    ]);
  });

  test('the first twenty rejections are kept', () => {
    const kept: Rejection[] = [];
    for (let line = 1; line <= 50; line++) keepFirst(kept, { file: 'a.csv', line, reason: 'no' });
    expect(kept.map(({ line }) => line)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  });
});

describe('isWithinBound', () => {
  test.each<[read: number, rejected: number, bound: InvalidBound, within: boolean]>([
    [10, 0, 'none', true],
    [10, 1, 'none', false],
    [10, 10, 'any', true],
    [10, 3, { rows: 3 }, true],
    [10, 4, { rows: 3 }, false],
    [10, 0, { rows: 0 }, true],
    [10, 1, { rows: 0 }, false],
    [100, 5, { percent: 5 }, true],
    [100, 6, { percent: 5 }, false],
    [99, 5, { percent: 5 }, false],
    [10, 10, { percent: 100 }, true],
    [10, 1, { percent: 0 }, false],
    [1_000, 1, { percent: 0.1 }, true],
    [999, 1, { percent: 0.1 }, false],
    [0, 0, { percent: 0 }, true],
    // 0.57 × 100 is 56.99999999999999 to a double.
    [10_000, 57, { percent: 0.57 }, true],
    [10_000, 58, { percent: 0.57 }, false],
    [1_000_000_000, 1_100_000, { percent: 0.11 }, true],
    [1_000_000_000, 1_100_001, { percent: 0.11 }, false],
  ])('%i rows, %i rejected, bound %j', (read, rejectedRows, bound, within) => {
    expect(isWithinBound({ read, filtered: 0, rejected: rejectedRows }, bound)).toBe(within);
  });

  test('a share is one of the rows that were not filtered', () => {
    expect(isWithinBound({ read: 1_000, filtered: 990, rejected: 1 }, { percent: 5 })).toBe(false);
    expect(isWithinBound({ read: 1_000, filtered: 980, rejected: 1 }, { percent: 5 })).toBe(true);
  });

  test('a share written with two decimals is the share that is meant', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 0, max: 10_000 }),
        (k, hundredths) => {
          // Of 10,000 × k rows, n hundredths of a percent are n × k rows.
          const bound = { percent: Number((hundredths / 100).toFixed(2)) };
          const read = 10_000 * k;
          expect(isWithinBound({ read, filtered: 0, rejected: hundredths * k }, bound)).toBe(true);
          expect(isWithinBound({ read, filtered: 0, rejected: hundredths * k + 1 }, bound)).toBe(false);
        },
      ),
    );
  });
});
