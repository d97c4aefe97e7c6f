import { describe, expect } from 'vitest';
import type { Job } from '../../../src/engine/service/contract.js';
import type { Scope } from '../../../src/engine/state/state.js';
import { systemClock } from '../../../src/engine/util/clock.js';
import { cli, scratch } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';
import { openState } from '../../support/state.js';
import { submitCompanies } from '../../support/submit.js';

const aJob = (job_id: string, status: string): Job => ({ job_id, status, links: null });
const elsewhere: Scope = { account: 'other', region: 'eu', base_url: 'https://eu.test' };

/** A machine that knows these jobs. */
async function knowing(jobs: [scope: Scope, job: Job, rows: number][]): Promise<string> {
  const cwd = scratch();
  let now = Date.UTC(2026, 0, 1);
  const state = await openState(`${cwd}/.state`, () => now);
  for (const [scope, job, rows] of jobs) {
    await state.jobs.add(scope, job, { kind: 'companies', rows });
    now += 60_000;
  }
  await state.close();
  return cwd;
}

describe('jobs', () => {
  test('lists the known jobs, newest first, without a request', async () => {
    const cwd = await knowing([
      [elsewhere, aJob('a1', 'completed'), 10],
      [elsewhere, aJob('b2', 'processing'), 20],
    ]);
    const { code, stdout, stderr } = await cli(['jobs'], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')).toEqual([
      'job_id  status      kind       rows  completed_rows  region  submitted_at',
      expect.stringMatching(/^b2 {6}processing {2}companies {4}20 +eu {6}2026-01-01T00:01:00\.000Z$/),
      expect.stringMatching(/^a1 {6}completed {3}companies {4}10 +eu {6}2026-01-01T00:00:00\.000Z$/),
      '',
    ]);
  });

  test('a terminal shows the columns that it has room for, and names the others', async () => {
    const cwd = await knowing([[elsewhere, aJob('urn:profiles:job:default/712b5eea-1', 'completed'), 10]]);
    const narrow = await cli(['jobs', '--no-color'], { cwd, columns: 60 });
    expect([narrow.stdout.split('\n')[0], narrow.stderr]).toEqual([
      'job_id                               status     kind',
      'hidden to fit the terminal: rows, completed_rows, region, submitted_at; choose with --columns\n',
    ]);
    const chosen = await cli(['jobs', '--no-color', '--columns', 'job_id,region,kind'], { cwd, columns: 60 });
    expect(chosen.stdout).toMatch(/ job_id .* region .* kind /);
    expect(chosen.stderr).toBe('');
    expect((await cli(['jobs', '--quiet'], { cwd, columns: 60 })).stderr).toBe('');
  });

  test('a terminal says how long ago beside each time; a pipe and --json do not', async () => {
    const cwd = await knowing([
      [elsewhere, aJob('a1', 'completed'), 10],
      [elsewhere, aJob('b2', 'processing'), 20],
    ]);
    const clock = { ...systemClock, now: () => Date.UTC(2026, 0, 1, 2, 0, 30) };
    const { stdout } = await cli(['jobs', '--no-color'], { cwd, columns: 160, clock });
    expect(stdout).toMatch(/1h ago \(2026-01-01T00:01:00Z\) /);
    expect(stdout).toMatch(/2h ago \(2026-01-01T00:00:00Z\) /);
    // A narrow one cuts the time itself.
    expect((await cli(['jobs', '--no-color'], { cwd, columns: 80, clock })).stdout).toContain('1h ago');
    for (const words of [['jobs'], ['jobs', '--json']]) {
      expect((await cli(words, { cwd, clock })).stdout).not.toContain('ago');
    }
  });

  test('--json has every field; selection works', async () => {
    const cwd = await knowing([
      [elsewhere, aJob('a1', 'completed'), 10],
      [elsewhere, aJob('b2', 'failed'), 20],
    ]);
    const all = await cli(['jobs', '--json'], { cwd });
    expect(JSON.parse(all.stdout)).toMatchObject([
      { job_id: 'b2', kind: 'companies', status: 'failed', rows: 20, ...elsewhere, run: null },
      { job_id: 'a1' },
    ]);
    const failed = await cli(['jobs', '--filter', 'status=failed', '--columns', 'job_id', '--ndjson'], {
      cwd,
    });
    expect(failed.stdout).toBe('{"job_id":"b2"}\n');
  });

  test('an empty list is not an error', async () => {
    expect(await cli(['jobs'])).toEqual({ code: 0, stdout: '', stderr: 'no jobs yet\n' });
    expect(await cli(['jobs', '--refresh', '--json'])).toMatchObject({ code: 0, stdout: '[]\n' });
  });

  test('at a terminal the status has its color', async () => {
    const cwd = await knowing([[elsewhere, aJob('a1', 'failed'), 10]]);
    expect((await cli(['jobs'], { cwd, columns: 120 })).stdout).toContain('\u001b[31mfailed');
  });
});

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
