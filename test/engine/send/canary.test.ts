import { expect, test } from 'vitest';
import { CanaryError } from '../../../src/engine/errors.js';
import { checkCanary } from '../../../src/engine/send/canary.js';
import type { RequestRecord } from '../../../src/engine/state/requests.js';
import { RunRequests } from '../../../src/engine/state/run-requests.js';
import { recordedRange } from '../support/rows.js';

const ended = (row: number, status: string) =>
  recordedRange(row, row + 1, {
    state: 'settled',
    job_id: `job-${row}`,
    job: { job_id: `job-${row}`, status },
  });

test('a canary that failed ends the run, unless another one has completed since', () => {
  const check = (...records: RequestRecord[]) => checkCanary('run', new RunRequests(records), ['a.csv']);
  expect(() => check(ended(0, 'failed'))).toThrow(CanaryError);
  expect(() => check(ended(0, 'failed'), ended(1, 'completed'))).not.toThrow();
});
