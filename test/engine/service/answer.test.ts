/** Which jobs have ended, and which are short; `pages/answers.md` has what becomes of answers. */
import { describe, expect, it } from 'vitest';
import type { Job } from '../../../src/engine/service/contract.js';
import { isFinal, isShort, JOB_STATES } from '../../../src/engine/service/names.js';

it('two of the six states are final, and an unknown one is not', () => {
  expect([...JOB_STATES, 'napping'].filter(isFinal)).toEqual(['completed', 'failed']);
});

describe('a job of a request of ten rows is short', () => {
  it.each<[name: string, job: Partial<Job>, short: boolean]>([
    ['all rows', { completed_rows: 10 }, false],
    ['more than were sent', { completed_rows: 11 }, false],
    ['fewer', { completed_rows: 9 }, true],
    ['none', { completed_rows: 0 }, true],
    ['no number', {}, false],
    ['null', { completed_rows: null }, false],
    ['fewer than its own total', { completed_rows: 10, total_rows: 11 }, true],
    ['a total that is lower', { completed_rows: 10, total_rows: 3 }, false],
    ['fewer, but not completed', { status: 'processing', completed_rows: 1 }, false],
    ['fewer, and failed', { status: 'failed', completed_rows: 1 }, false],
  ])('%s', (_name, job, short) => {
    expect(isShort({ status: 'completed', ...job }, 10)).toBe(short);
  });
});
