/** A machine that knows some things: a config file, jobs, runs, an input. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Job } from '../../../../src/engine/service/contract.js';
import { scratch } from '../../../support/cli.js';
import { openState } from '../../../support/state.js';

export const JOB = 'job-0a1b2c';
export const URI_JOB = 'urn:job:77';
export const DONE_RUN = 'run-done';
export const OPEN_RUN = 'run-open';
/** An id as an evil service might give it. */
export const EVIL_JOB = 'job-$(touch pwned)';

/** Its folder; state in `.state`, config in `.config`. */
export async function knownMachine(): Promise<string> {
  const cwd = scratch();
  mkdirSync(join(cwd, '.config', 'profiles'), { recursive: true });
  const config = {
    token: 'key-0123456789-abcd',
    regions: { apac: { base_url: 'https://apac.example.com' } },
    accounts: { production: {}, proving: {} },
  };
  writeFileSync(join(cwd, '.config', 'profiles', 'config.json'), JSON.stringify(config), { mode: 0o600 });
  writeFileSync(join(cwd, 'companies.csv'), 'company_id,plan_tier,seat count\n1,gold,7\n');
  writeFileSync(join(cwd, 'odd name.csv'), 'company_id,color\n');
  const state = await openState(join(cwd, '.state'), () => Date.UTC(2026, 0, 15));
  const scope = { account: 'production', region: 'eu', base_url: 'https://eu.example.com' };
  for (const job_id of [JOB, URI_JOB, EVIL_JOB]) {
    await state.jobs.add(scope, { job_id, status: 'completed', links: null } as Job, {
      kind: 'companies',
      rows: 1,
    });
  }
  const run = {
    scope,
    named_account: 'production',
    identity: '0',
    item_format: 1,
    machine: '',
    replaces: [],
    options: {},
    inputs: [
      {
        path: 'companies.csv',
        location: join(cwd, 'companies.csv'),
        kind: 'companies' as const,
        digest: '0'.repeat(64),
        rejects_file: null,
        types: [],
        rows: { read: 0, filtered: 0, rejected: 0 },
      },
    ],
    started_at: '2026-01-15T00:00:00.000Z',
  };
  await state.runs.start({ ...run, run: DONE_RUN, status: 'completed', finished: true });
  await state.runs.start({ ...run, run: OPEN_RUN, status: 'stopped', finished: false });
  await state.close();
  return cwd;
}
