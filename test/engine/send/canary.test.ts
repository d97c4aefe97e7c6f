import { expect, test } from 'vitest';
import { CanaryError } from '../../../src/engine/errors.js';
import { checkCanary } from '../../../src/engine/send/canary.js';
import { recordedRange } from '../support/rows.js';

const ended = (row: number, status: string) =>
  recordedRange(row, row + 1, {
    state: 'settled',
    job_id: `job-${row}`,
    job: { job_id: `job-${row}`, status },
  });

test('a canary that failed ends the run, unless another one has completed since', () => {
  expect(() => checkCanary('run', [ended(0, 'failed')], ['a.csv'])).toThrow(CanaryError);
  expect(() => checkCanary('run', [ended(0, 'failed'), ended(1, 'completed')], ['a.csv'])).not.toThrow();
});
