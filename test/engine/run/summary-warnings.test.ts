/** What is said of rows that were given up or left out, and whether anything is left to do for them. */

import { describe, expect, test } from 'vitest';
import type { RequestRecord } from '../../../src/engine/model/requests.js';
import { RunRequests } from '../../../src/engine/model/run-requests.js';
import { givenUpWarnings, leftOutWarnings, statusOf } from '../../../src/engine/run/report.js';
import { isDone } from '../../../src/engine/run/summary.js';
import { recordedRange } from '../support/rows.js';

const FILE = ['a.csv'];
const record = (from: number, to: number, over: Partial<RequestRecord>): RequestRecord =>
  recordedRange(from, to, { state: 'settled', ...over });
const failed = { job_id: 'job-1', job: { job_id: 'job-1', status: 'failed' } };
const planned = (read: number) => ({ read, filtered: 0, rejected: 0 });
const OPTIONS = { wait: true, onFailure: 'stop', isolateJobs: 128 } as const;

describe('rows that were given up', () => {
  /** A failed request of ten rows, and one part for each row that was given up in turn. */
  const given = (parts: number, over: Partial<RequestRecord> = {}): RunRequests =>
    new RunRequests([
      record(0, 10, { seq: 1, ...failed }),
      ...Array.from({ length: parts }, (_, row) =>
        record(row, row + 1, { seq: 2 + row, parent: 1, state: 'unsent', reason: 'used up', ...over }),
      ),
    ]);

  test('are in a warning of their own, but for a request that was sent once', () => {
    expect(givenUpWarnings(given(0), FILE)).toEqual([]);
    expect(givenUpWarnings(given(1), FILE)).toEqual([expect.stringMatching(/: 1 row failed: used up$/)]);
  });

  test('are counted after the tenth', () => {
    const warnings = givenUpWarnings(given(12), FILE);
    expect(warnings).toHaveLength(11);
    expect(warnings.at(-1)).toBe('and 2 more requests with rows that failed');
  });

  test('with those that merge into them, leave nothing to send', () => {
    const requests = given(1, { rows: 9, merged: 1 });
    expect(isDone(planned(10), requests, OPTIONS)).toBe(true);
    expect(isDone(planned(11), requests, OPTIONS)).toBe(false);
  });
});

test('rows that were left out: the lines of a request that was added later come first', () => {
  const left = { rows: 0, left_out: 1, left_out_by: 'run-2', job: null, job_id: null };
  const records = [
    record(5, 10, { seq: 1, ...left, first_line: 7, last_line: 11 }),
    record(0, 5, { seq: 2, ...left, first_line: 2, last_line: 6 }),
  ];
  expect(leftOutWarnings(new RunRequests(records), FILE)).toEqual([
    'a.csv, lines 2 to 11: 2 rows not sent; sent later by run-2',
  ]);
});

test('a job that was short, and then completed when its rows were sent again, is no shortfall', () => {
  const job = { job_id: 'job-1', status: 'completed' };
  const requests = new RunRequests([
    record(0, 10, { seq: 1, job: { ...job, completed_rows: 9 } }),
    record(0, 10, { seq: 2, parent: 1, job: { ...job, completed_rows: 10 } }),
  ]);
  const rows = { ...planned(10), merged: 0, unchanged: 0, submitted: 10, completed: 10 };
  expect(statusOf({ mode: 'sent', rows, requests, wait: true, failure: null })).toBe('completed');
});
