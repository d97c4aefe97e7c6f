import { describe, expect } from 'vitest';
import type { Job } from '../../../src/engine/service/contract.js';
import type { Scope } from '../../../src/engine/state/state.js';
import { cli, scratch } from '../../support/cli.js';
import { environmentOf, submitCompanies, test } from '../../support/sandbox.js';
import { openState } from '../../support/state.js';

const aJob = (job_id: string, status: string): Job => ({ job_id, status, links: null });
const elsewhere: Scope = { account: 'other', region: 'eu', base_url: 'https://eu.test' };

describe('jobs --refresh', () => {
  test('asks about unfinished jobs, each in its own region and account, and says which it cannot ask about', async ({
    sandbox,
  }) => {
    const id = await submitCompanies(sandbox);
    const cwd = scratch();
    const state = await openState(`${cwd}/.state`, Date.now);
    const here = state.scope({
      account: null,
      token: sandbox.token,
      region: 'default',
      base_url: sandbox.url,
    });
    await state.jobs.add(here, aJob(id, 'queued'), { kind: 'companies', rows: 3 });
    await state.jobs.add(here, aJob('gone', 'queued'), { kind: 'companies', rows: 3 });
    await state.jobs.add(here, aJob('old', 'completed'), { kind: 'companies', rows: 3 });
    await state.jobs.add(elsewhere, aJob('theirs', 'queued'), { kind: 'companies', rows: 3 });
    await state.close();
    const env = environmentOf(sandbox);
    let stderr = '';
    const statuses = async (): Promise<Record<string, string>> => {
      const result = await cli(['jobs', '--refresh', '--json'], { cwd, env });
      expect(result.code).toBe(0);
      ({ stderr } = result);
      const records = JSON.parse(result.stdout) as { job_id: string; status: string }[];
      return Object.fromEntries(records.map(({ job_id, status }) => [job_id, status]));
    };
    await expect
      .poll(statuses)
      .toEqual({ [id]: 'completed', gone: 'queued', old: 'completed', theirs: 'queued' });
    // In the order in which each became known.
    expect(stderr.trimEnd().split('\n').sort()).toEqual([
      'warning: 1 job not checked: 1 unfinished job is in region "eu" of account "other": unknown account "other" (flag --account)',
      'warning: job gone: not found at the service; if its rows are missing there, import them again',
    ]);
    const asked = sandbox.ledger().map((entry) => entry.path);
    expect(asked.some((path) => /theirs|old/.test(path))).toBe(false);
  });
});
