import { describe, expect, it } from 'vitest';
import { jobSchema } from '../../../src/engine/service/contract.js';

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown): boolean =>
  schema.safeParse(value).success;

describe('jobSchema', () => {
  it.each<[string, unknown, boolean]>([
    ['only what is needed', { job_id: 'j', status: 'queued' }, true],
    ['an unknown status', { job_id: 'j', status: 'napping' }, true],
    ['nulls', { job_id: 'j', status: 'queued', end_time: null, total_rows: null, links: null }, true],
    ['links of any kind', { job_id: 'j', status: 'queued', links: ['a'] }, true],
    ['no status', { job_id: 'j' }, false],
    ['an empty id', { job_id: '', status: 'queued' }, false],
    ['rows as text', { job_id: 'j', status: 'queued', total_rows: '3' }, false],
  ])('%s: %s', (_, job, valid) => {
    expect(accepts(jobSchema, job)).toBe(valid);
  });

  it('keeps fields that the spec does not name', () => {
    const job = { job_id: 'j', status: 'queued', color: { deep: [1] } };
    expect(jobSchema.parse(job)).toEqual(job);
  });
});
