import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test as plainTest } from 'vitest';
import { readJobName } from '../../../src/cli/commands/job-names.js';
import { UsageError } from '../../../src/engine/errors.js';
import type { Sandbox } from '../../../src/sandbox/index.js';
import { httpServer } from '../../engine/service/support/servers.js';
import { type CliOptions, cli, scratch } from '../../support/cli.js';
import { environmentOf, ManualClock, test } from '../../support/sandbox.js';
import { bare } from '../../support/sink.js';
import { openState } from '../../support/state.js';
import { submitCompanies } from '../../support/submit.js';

const job = (words: string[], sandbox: Sandbox, options: CliOptions = {}) =>
  cli(['job', ...words], { ...options, env: { ...environmentOf(sandbox), ...options.env } });

describe('readJobName', () => {
  plainTest.each([
    ['an id', '6f1c', '6f1c', null],
    ['an id that is a URI', 'urn:job:1/2', 'urn:job:1/2', null],
    ['a URL of a job', 'https://api.test/v1/background_jobs/6f1c', '6f1c', 'api.test'],
    [
      'with a slash, a query and a port',
      'https://api.test:8443/x/v1/background_jobs/6f1c/?a=b#c',
      '6f1c',
      'api.test:8443',
    ],
    ['an encoded id', 'https://api.test/v1/background_jobs/a%2Fb%3Ac', 'a/b:c', 'api.test'],
    [
      'an id with a slash, pasted as it is',
      'https://api.test/v1/background_jobs/urn:x/1',
      'urn:x/1',
      'api.test',
    ],
    ['a URL of anything else is an id', 'https://api.test/v1/other/1', 'https://api.test/v1/other/1', null],
    ['dots within are letters', '..a', '..a', null],
  ])('%s', (_name, word, id, host) => {
    expect(readJobName(word)).toEqual({ id, host });
  });

  plainTest.each([
    '',
    '.',
    '..',
    'https://api.test/v1/background_jobs/..',
    'https://api.test/v1/background_jobs/%2E%2e',
    'https://api.test/v1/background_jobs/%',
  ])('refused: "%s"', (word) => {
    expect(() => readJobName(word)).toThrow(UsageError);
  });
});

describe('job', () => {
  test('prints the record of a job with any status, one field per line', async ({ start }) => {
    const sandbox = await start({ clock: new ManualClock() });
    const id = await submitCompanies(sandbox, 1_200);
    const { code, stdout, stderr } = await job([id], sandbox);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^job_id +${id}\nstatus +queued\n`));
    expect(stdout).toMatch(/\ntotal_rows +1,200\n/);
  });

  test('a state that cannot be written is a warning, and the record is printed', async ({ sandbox }) => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'state'), 'a file');
    const id = await submitCompanies(sandbox, 1);
    const { code, stdout, stderr } = await job([id], sandbox, { cwd, env: { PROFILES_STATE_DIR: 'state' } });
    expect([code, stdout]).toEqual([0, expect.stringContaining(id)]);
    expect(stderr).toMatch(/^warning: .*state/);
  });

  test('--json: the record; for several ids an array in their order', async ({ sandbox }) => {
    const ids = [await submitCompanies(sandbox), await submitCompanies(sandbox)];
    const one = await job([ids[0]!, '--json'], sandbox);
    expect(JSON.parse(one.stdout)).toMatchObject({ job_id: ids[0], total_rows: 3 });
    const both = await job([...ids, '--json'], sandbox);
    expect((JSON.parse(both.stdout) as { job_id: string }[]).map(({ job_id }) => job_id)).toEqual(ids);
    expect([one.code, one.stderr, both.code, both.stderr]).toEqual([0, '', 0, '']);
  });

  test.for([[[]], [['--watch', '-o', 'interval=10ms', '--quiet']]])(
    'an id that is given twice is asked for once, and is still several ids: %s',
    async ([flags], { sandbox }) => {
      const id = await submitCompanies(sandbox);
      const { code, stdout } = await job([id, id, '--json', ...flags!], sandbox);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toEqual([expect.objectContaining({ job_id: id })]);
    },
  );

  test('a URL of ours names its job; one of another host is refused before anything is asked', async ({
    sandbox,
  }) => {
    const id = await submitCompanies(sandbox);
    const ours = await job(
      [`${sandbox.url}/v1/background_jobs/${encodeURIComponent(id)}`, '--json'],
      sandbox,
    );
    expect(JSON.parse(ours.stdout)).toMatchObject({ job_id: id });
    const asked = sandbox.ledger().length;
    const theirs = await job([`https://elsewhere.test/v1/background_jobs/${id}`], sandbox);
    expect(theirs).toMatchObject({ code: 2, stdout: '' });
    expect(theirs.stderr).toContain('elsewhere.test');
    expect(sandbox.ledger()).toHaveLength(asked);
  });

  test.for([[['nowhere']], [['nowhere', '--json']], [['nowhere', '--watch']]])(
    'an unknown job is said at once: %s',
    async ([words], { sandbox }) => {
      const { code, stdout, stderr } = await job(words!, sandbox);
      expect([code, stdout]).toEqual([6, '']);
      expect(stderr).toContain('nowhere');
      expect(sandbox.ledger()).toHaveLength(1);
    },
  );

  plainTest.each([[[]], [['--watch']]])(
    'of several, an unknown one ends the requests for the others: %s',
    async (flags) => {
      let answerUnknown = (): void => {};
      const server = await httpServer(({ url }, response) => {
        const unknown = url!.endsWith('/nowhere');
        if (unknown) answerUnknown = () => response.writeHead(404).end();
        // The other one is never answered; its connection ends.
        if (server.seen.length === 2) answerUnknown();
      });
      const env = { PROFILES_BASE_URL: server.url, PROFILES_TOKEN: 'a-token' };
      const { code, stdout, stderr } = await cli(['job', 'nowhere', 'held', '--json', ...flags], { env });
      expect([code, stdout]).toEqual([6, '']);
      expect(JSON.parse(stderr.trimEnd().split('\n').at(-1)!)).toMatchObject({ error: { status: 404 } });
      expect(stderr).not.toContain('retry:');
      expect(server.seen).toHaveLength(2);
    },
  );

  test.for([
    [['..'], 'to list the known jobs:\n    profiles jobs '],
    [['x', '-o', 'interval=1s'], 'add --watch'],
    [['x', '--wait', '1s'], 'add --watch'],
    [['x', '--watch', '-o', 'interval=soon'], 'write 500ms, 30s, 5m or 2h'],
    [['x', '--watch', '-o', 'interval=0s'], 'write 30s, for example'],
  ] as const)('a mistake is exit 2 with the hint: %s', async ([words, hint], { sandbox }) => {
    const { code, stderr } = await job([...words], sandbox);
    expect(code).toBe(2);
    expect(stderr).toContain(hint);
  });
});

describe('job --watch', () => {
  test('follows to the end, then prints the records', async ({ sandbox }) => {
    const ids = [await submitCompanies(sandbox), await submitCompanies(sandbox)];
    const { code, stdout, stderr } = await job([...ids, '--watch', '-o', 'interval=10ms', '--json'], sandbox);
    expect(code).toBe(0);
    expect(
      (JSON.parse(stdout) as { job_id: string; status: string }[]).map(({ job_id, status }) => [
        job_id,
        status,
      ]),
    ).toEqual(ids.map((id) => [id, 'completed']));
    expect(stderr).toMatch(/^\d\d:\d\d:\d\d jobs?: /);
  });

  test.for([
    ['', 'retry: trying again in 0ms: 503 Service Unavailable'],
    ['--quiet', ''],
  ] as const)('a poll that is tried again is told, %s', async ([flag, said], { sandbox }) => {
    const id = await submitCompanies(sandbox);
    sandbox.faults.add('503:first=1,on=job,retry-after=0');
    const words = [id, '--watch', '-o', 'interval=10ms', ...(flag === '' ? [] : [flag])];
    const { code, stderr } = await job(words, sandbox);
    expect(code).toBe(0);
    expect(
      stderr
        .split('\n')
        .filter((line) => /retry/.test(line))
        .join(),
    ).toContain(said);
    expect(stderr.match(/retry/g)?.length ?? 0).toBe(said === '' ? 0 : 1);
  });

  test('--quiet says nothing but the record', async ({ sandbox }) => {
    const id = await submitCompanies(sandbox);
    const { code, stdout, stderr } = await job(
      [id, '--watch', '-o', 'interval=10ms', '--quiet', '--json'],
      sandbox,
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ job_id: id, status: 'completed' });
  });

  test('a failed job is exit 7', async ({ start }) => {
    const sandbox = await start({ limits: { failJobs: 1 } });
    const id = await submitCompanies(sandbox);
    const { code, stdout, stderr } = await job([id, '--watch', '-o', 'interval=10ms', '--quiet'], sandbox);
    expect(code).toBe(7);
    expect(stdout).toMatch(/status +failed/);
    expect(stderr).toBe(`profiles: job ${id} failed\n`);
  });

  test('--wait is exit 3, with the latest record', async ({ start }) => {
    const sandbox = await start({ clock: new ManualClock() });
    const id = await submitCompanies(sandbox);
    const words = [id, '--watch', '-o', 'interval=10ms', '--wait', '60ms', '--json'];
    const { code, stdout, stderr } = await job(words, sandbox);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ job_id: id, status: 'queued' });
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1)!)).toMatchObject({
      error: {
        code: 'wait_timeout',
        hint: `to follow them:\n  profiles job ${id} --watch --base-url ${sandbox.url} --lookup-base-url ${sandbox.lookupUrl}`,
      },
    });
  });

  test('Ctrl-C is exit 130, says that the job continues, and shows the cursor again', async ({ start }) => {
    const sandbox = await start({ clock: new ManualClock() });
    const id = await submitCompanies(sandbox);
    const stop = new AbortController();
    const watching = job([id, '--watch', '-o', 'interval=10ms'], sandbox, { stop: stop.signal, columns: 80 });
    await expect.poll(() => sandbox.ledger().length).toBeGreaterThanOrEqual(4);
    stop.abort('SIGINT');
    const { code, stdout, stderr } = await watching;
    expect([code, stdout]).toEqual([130, '']);
    expect(bare(stderr)).toContain(`the jobs continue; follow them with:\n    profiles job ${id} --watch`);
    expect(stderr.lastIndexOf('\u001b[?25h')).toBeGreaterThan(stderr.lastIndexOf('\u001b[?25l'));
    expect(bare(stderr)).toMatch(/⠋ .*queued/);
  });

  test('the status is saved in the state', async ({ sandbox }) => {
    const id = await submitCompanies(sandbox);
    const cwd = scratch();
    const state = await openState(`${cwd}/.state`, Date.now);
    const scope = state.scope({
      account: null,
      token: sandbox.token,
      region: 'default',
      base_url: sandbox.url,
    });
    await state.jobs.add(
      scope,
      { job_id: id, status: 'queued', links: null },
      { kind: 'companies', rows: 3 },
    );
    expect((await job([id, '--watch', '-o', 'interval=10ms'], sandbox, { cwd })).code).toBe(0);
    expect(await state.jobs.all()).toMatchObject([{ job_id: id, status: 'completed' }]);
    await state.close();
  });
});
