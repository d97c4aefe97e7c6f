/** `profiles import` from argv to exit code, against a sandbox. Long because each case is a whole command line with its result. */
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Summary } from '../../../src/engine/model.js';
import { systemClock } from '../../../src/engine/util/clock.js';
import { cli, scratch } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';

const summaryOf = (stdout: string): Summary => JSON.parse(stdout) as Summary;

/** Polls come as fast as a test wants them. */
const FAST = ['-o', 'interval=5ms'];

describe('import', () => {
  test('sends a file, follows its job, and prints the contract’s document', async ({ sandbox }) => {
    const cwd = scratch({
      'companies.csv': 'company_id,name,size\n00042,Åkerlund AB,12\n7,"Blue, Inc.",3\n',
    });
    const { code, stdout, stderr } = await cli(['import', 'companies.csv', '--json', '--quiet', ...FAST], {
      cwd,
      env: environmentOf(sandbox),
    });
    expect([code, stderr]).toEqual([0, '']);
    const summary = summaryOf(stdout);
    expect(Object.keys(summary)).toEqual(
      'version run status kinds account region base_url rows requests retries files rejected causes jobs maybe_sent_twice warnings next resume elapsed_seconds'.split(
        ' ',
      ),
    );
    expect(summary).toMatchObject({
      run: expect.stringMatching(/^\d{8}-\d{6}-[a-z0-9]{4}$/),
      status: 'completed',
      kinds: ['companies'],
      account: null,
      region: 'default',
      base_url: sandbox.url,
      rows: { read: 2, filtered: 0, rejected: 0, merged: 0, unchanged: 0, submitted: 2, completed: 2 },
      requests: 1,
      retries: 0,
      files: [
        {
          path: 'companies.csv',
          kind: 'companies',
          rows: { read: 2, filtered: 0, rejected: 0 },
          rejects_file: null,
        },
      ],
      jobs: [{ status: 'completed', total_rows: 2, completed_rows: 2, first_line: 2, last_line: 3 }],
      resume: null,
    });
    expect(sandbox.show('companies', '00042')?.metadata).toEqual({ name: 'Åkerlund AB', size: 12 });
  });

  test('a request that is too large is halved, and each new size is reported once', async ({ start }) => {
    const sandbox = await start({ limits: { maxItems: 2 } });
    const rows = Array.from({ length: 16 }, (_, i) => `c${i}\n`);
    const cwd = scratch({ 'c.csv': `company_id\n${rows.join('')}` });
    const words = ['import', 'c.csv', '--chunk-size', '8', ...FAST];
    const { code, stderr } = await cli(words, { cwd, env: environmentOf(sandbox) });
    expect(code).toBe(0);
    expect(stderr.match(/the service refused a request of .*/g)).toEqual([
      'the service refused a request of 8 rows as too large (413); continuing with 4 rows per request',
      'the service refused a request of 4 rows as too large (413); continuing with 2 rows per request',
    ]);
  });

  test('a dry run needs no host, and says so', async () => {
    const cwd = scratch({ 'c.csv': 'company_id\n1\n' });
    const { code, stderr } = await cli(['import', 'c.csv', '--dry-run'], { cwd });
    expect(code).toBe(0);
    expect(stderr).toContain('  to        region default, no host set\n');
  });

  test('text that looks like something else is said by every import, and in its document', async ({
    sandbox,
  }) => {
    const text = 'company_id,Umsatz,Menge\n1,"1.234,56",1\n2,"5,00",NA\n3,"7,10",4\n';
    const cwd = scratch({ 'u.csv': text });
    const { code, stdout, stderr } = await cli(['import', 'u.csv', '--json', ...FAST], {
      cwd,
      env: environmentOf(sandbox),
    });
    const warnings = [
      expect.stringMatching(
        /^u\.csv: 1 text column looks like numbers: Umsatz; to see the flags: profiles inspect u\.csv /,
      ),
      'u.csv: Menge: only "NA" (1 cell) keeps it from being integers; --null NA',
    ];
    expect([code, summaryOf(stdout).warnings]).toEqual([0, warnings]);
    expect(stderr).toContain('warning: u.csv: Menge: only "NA" (1 cell) keeps it from being integers');
    const silent = ['--type', 'Umsatz=string', '--type', 'Menge=string'];
    const pinned = await cli(['import', 'u.csv', '--json', ...silent, ...FAST], {
      cwd,
      env: environmentOf(sandbox),
    });
    expect(summaryOf(pinned.stdout).warnings).toEqual([]);
  });

  test('columns are named as the header has them, trimmed', async ({ sandbox }) => {
    const cwd = scratch({ 'c.csv': ' barks ,name , age\n1,Ada,5\n2,Bob,6\n' });
    const flags = ['--kind', 'companies', '--id', ' barks', '--map', 'name =n', '--where', ' age=6'];
    const { code } = await cli(['import', 'c.csv', ...flags, ...FAST], { cwd, env: environmentOf(sandbox) });
    expect([code, sandbox.show('companies', '2')?.metadata, sandbox.show('companies', '1')]).toEqual([
      0,
      { n: 'Bob', age: 6 },
      undefined,
    ]);
  });

  test('the summary is conversation, so stdout stays empty without --json', async ({ sandbox }) => {
    const cwd = scratch({ 'u.ndjson': '{"user_id":"u1","company_id":"c1","plan":"gold"}\n' });
    const piped = await cli(['import', 'u.ndjson', ...FAST], { cwd, env: environmentOf(sandbox) });
    expect([piped.code, piped.stdout]).toEqual([0, '']);
    expect(piped.stderr).toContain('rows      1 read = 1 submitted (1 completed)');
    expect(piped.stderr).not.toContain('\u001b');
    expect(sandbox.show('users', 'u1')).toMatchObject({ companyId: 'c1', metadata: { plan: 'gold' } });
  });

  test('one invalid row: nothing is sent, and the rejects file works once it is fixed', async ({
    sandbox,
  }) => {
    const cwd = scratch({ 'c.csv': 'company_id,name\n1,A\n,B\n3,C,D\n' });
    const env = environmentOf(sandbox);
    const first = await cli(['import', 'c.csv', '--json', ...FAST], { cwd, env });
    expect(first.code).toBe(5);
    expect(summaryOf(first.stdout)).toMatchObject({
      status: 'rejected',
      rows: { read: 3, filtered: 0, rejected: 2, submitted: 0, unsent: 1 },
      rejected: [
        { file: 'c.csv', line: 3, reason: 'company_id is empty' },
        { file: 'c.csv', line: 4, reason: 'has 3 cells, the header has 2' },
      ],
      files: [{ rejects_file: 'c.rejects.csv' }],
    });
    expect(sandbox.ledger()).toEqual([]);

    const { run } = summaryOf(first.stdout);
    const rejects = readFileSync(join(cwd, 'c.rejects.csv'), 'utf8');
    expect(rejects).toBe(
      '\uFEFFcompany_id,name,_profiles_line,_profiles_error,_profiles_run,_profiles_extra\r\n' +
        `,B,3,company_id is empty,${run},\r\n` +
        `3,C,4,"has 3 cells, the header has 2",${run},D\r\n`,
    );
    writeFileSync(join(cwd, 'c.rejects.csv'), rejects.replace('\r\n,B', '\r\n2,B').replace(',D', ','));
    const again = await cli(['import', 'c.rejects.csv', '--json', ...FAST], { cwd, env });
    // The first row is still to be sent.
    expect([again.code, summaryOf(again.stdout)]).toEqual([
      5,
      expect.objectContaining({
        rows: expect.objectContaining({ submitted: 2 }),
        not_sent: [{ run, files: ['c.csv'], rows: 1 }],
      }),
    ]);
    expect(sandbox.show('companies', '2')?.metadata).toEqual({ name: 'B' });
    expect(sandbox.show('companies', '1')).toBeUndefined();
  });

  test.for([
    { flags: ['--skip-invalid'], sent: 2 },
    { flags: ['--max-invalid', '1'], sent: 2 },
    { flags: ['--max-invalid', '34%'], sent: 2 },
    { flags: ['--max-invalid', '33%'], sent: 0 },
    { flags: ['--max-invalid', '0'], sent: 0 },
  ])(
    '$flags: valid rows are sent within the bound; exit 5 all the same',
    async ({ flags, sent }, { sandbox }) => {
      const cwd = scratch({ 'c.csv': 'company_id,name\n1,A\n,B\n3,C\n' });
      const result = await cli(['import', 'c.csv', '--json', ...flags, ...FAST], {
        cwd,
        env: environmentOf(sandbox),
      });
      const { status, rows } = summaryOf(result.stdout);
      expect([result.code, rows.submitted, status]).toEqual([5, sent, sent ? 'partial' : 'rejected']);
    },
  );

  test('--dry-run sends nothing, needs no account, and prints the plan on stdout', async () => {
    const cwd = scratch({ 'c.csv': 'company_id,zip,n\n1,02139,1\n1,10115,2\n' });
    const json = await cli(['import', 'c.csv', '--dry-run', '--json', '--quiet'], { cwd });
    expect([json.code, json.stderr]).toEqual([0, '']);
    expect(summaryOf(json.stdout)).toMatchObject({
      run: null,
      status: 'planned',
      rows: { read: 2, merged: 1, submitted: 0, unsent: 1 },
      plan: {
        duplicates: 1,
        requests: 1,
        bytes: '{"companies":[{"company_id":"1","metadata":{"zip":"10115","n":2}}]}'.length,
        estimated_seconds: null,
        files: [
          {
            columns: [
              { column: 'company_id', type: 'string' },
              { column: 'zip', type: 'string', reason: 'line 2: "02139"' },
              { column: 'n', type: 'integer' },
            ],
            sample: { company_id: '1', metadata: { zip: '02139', n: 1 } },
          },
        ],
      },
    });
    const text = await cli(['import', 'c.csv', '--dry-run', '--quiet'], { cwd });
    expect(text.stdout).toContain('line 2: "02139"');
    expect((await cli(['runs', '--json'], { cwd })).stdout).toBe('[]\n');
  });

  test('companies are sent before users in any order of files', async ({ sandbox }) => {
    const cwd = scratch({ 'u.csv': 'user_id,company_id\nu1,c1\nu2,c9\n', 'c.csv': 'company_id\nc1\n' });
    const { code, stdout } = await cli(['import', 'u.csv', 'c.csv', '--json', ...FAST], {
      cwd,
      env: environmentOf(sandbox),
    });
    expect(code).toBe(0);
    const { kinds, warnings } = summaryOf(stdout);
    expect(kinds).toEqual(['companies', 'users']);
    expect(warnings).toEqual([
      expect.stringContaining('1 row names a company_id that is not in the companies'),
    ]);
    const posts = sandbox.ledger().filter((entry) => entry.method === 'POST');
    expect(posts.map((entry) => entry.path)).toEqual([
      '/v1/companies/bulk_identify',
      '/v1/users/bulk_identify',
    ]);
  });

  test('--changed-only sends what changed since it was completed, and merges repeated ids', async ({
    sandbox,
  }) => {
    const env = environmentOf(sandbox);
    const cwd = scratch({ 'c.csv': 'company_id,name\n1,A\n2,B\n3,C\n' });
    const run = async (): Promise<Summary> =>
      summaryOf((await cli(['import', 'c.csv', '--changed-only', '--json', ...FAST], { cwd, env })).stdout);
    expect((await run()).rows).toMatchObject({ submitted: 3, unchanged: 0 });
    expect(await run()).toMatchObject({
      status: 'completed',
      rows: { submitted: 0, unchanged: 3 },
      requests: 0,
    });
    writeFileSync(join(cwd, 'c.csv'), 'company_id,name\n1,A\n2,changed\n3,other\n3,C\n1,D\n');
    expect((await run()).rows).toMatchObject({ submitted: 2, merged: 1, unchanged: 2 });
  });

  test('-o refresh_after sends what was completed longer ago again, as a flag and in the config file', async ({
    sandbox,
  }) => {
    const env = environmentOf(sandbox);
    const cwd = scratch({
      'c.csv': 'company_id,name\n1,A\n2,B\n',
      'config.json': JSON.stringify({ import: { changed_only: true, refresh_after: '48h' } }),
    });
    const run = async (hours: number, ...flags: string[]): Promise<Summary['rows']> => {
      const clock = { ...systemClock, now: () => systemClock.now() + hours * 3_600_000 };
      return summaryOf(
        (await cli(['import', 'c.csv', '--json', ...flags, ...FAST], { cwd, env, clock })).stdout,
      ).rows;
    };
    const weekly = ['--changed-only', '-o', 'refresh_after=168h'];
    expect(await run(0, ...weekly)).toMatchObject({ submitted: 2 });
    writeFileSync(join(cwd, 'c.csv'), 'company_id,name\n1,A\n2,B\n3,C\n');
    expect(await run(100, ...weekly)).toMatchObject({ unchanged: 2, submitted: 1 });
    // The first two are 170 hours old, the third is 70.
    expect(await run(170, '--changed-only')).toMatchObject({ unchanged: 3 });
    expect(await run(170, ...weekly)).toMatchObject({ unchanged: 1, submitted: 2 });
    expect(await run(171, ...weekly)).toMatchObject({ unchanged: 3, submitted: 0 });

    const config = ['--config', join(cwd, 'config.json')];
    expect(await run(172, ...config)).toMatchObject({ unchanged: 2, submitted: 1 });
    expect(await run(230, ...config)).toMatchObject({ unchanged: 0, submitted: 3 });
    expect(await run(300, ...config, '-o', 'refresh_after=100h')).toMatchObject({ unchanged: 3 });
    // Without --changed-only the config's says nothing.
    expect(await run(300, ...config, '--no-changed-only')).toMatchObject({ submitted: 3 });
  });

  test('-o refresh_after without --changed-only is a mistake', async () => {
    const cwd = scratch({ 'c.csv': 'company_id,name\n1,A\n' });
    const { code, stderr } = await cli(['import', 'c.csv', '-o', 'refresh_after=1h', '--region', 'sandbox'], {
      cwd,
    });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('-o refresh_after has no effect without --changed-only'),
    ]);
    const zero = ['--changed-only', '-o', 'refresh_after=0s', '--region', 'sandbox'];
    expect((await cli(['import', 'c.csv', ...zero], { cwd })).code).toBe(2);
  });

  test('an id is sent again after any other command sent it', async ({ sandbox }) => {
    const env = environmentOf(sandbox);
    const cwd = scratch({ 'c.csv': 'company_id,name\n1,A\n2,B\n' });
    await cli(['import', 'c.csv', ...FAST], { cwd, env });
    await cli(['identify', 'company', '2', '--set', 'name=other'], { cwd, env });
    const { stdout } = await cli(['import', 'c.csv', '--changed-only', '--json', ...FAST], { cwd, env });
    expect(summaryOf(stdout).rows).toMatchObject({ submitted: 1, unchanged: 1 });
    expect(sandbox.show('companies', '2')?.metadata).toEqual({ name: 'B' });
  });

  test('--no-wait returns when everything is accepted; jobs --refresh gets the rest', async ({ sandbox }) => {
    const env = environmentOf(sandbox);
    const cwd = scratch({ 'c.csv': 'company_id,name\n1,A\n2,B\n' });
    const sent = await cli(['import', 'c.csv', '--no-wait', '--json'], { cwd, env });
    expect([sent.code, summaryOf(sent.stdout).status]).toEqual([0, 'submitted']);
    // The sandbox's hurried clock ends the job within milliseconds.
    const status = async (): Promise<string> => {
      const jobs = await cli(['jobs', '--refresh', '--json'], { cwd, env });
      return (JSON.parse(jobs.stdout) as { status: string }[])[0]!.status;
    };
    await expect.poll(status).toBe('completed');
    const again = await cli(['import', 'c.csv', '--changed-only', '--json'], { cwd, env });
    expect(summaryOf(again.stdout).rows).toMatchObject({ unchanged: 2, submitted: 0 });
  });

  test('stdin is spooled, and gone when its run has finished', async ({ sandbox }) => {
    const cwd = scratch();
    const stdin = '[{"company_id":"1","metadata":{"a":null,"b":[1]}}]';
    const { code } = await cli(['import', '-', ...FAST], { cwd, env: environmentOf(sandbox), stdin });
    expect(code).toBe(0);
    expect(sandbox.show('companies', '1')?.metadata).toEqual({ b: [1] });
    expect(readdirSync(join(cwd, '.state', 'spool'))).toEqual([]);
  });

  test('--ndjson prints events as they happen, each with type, time and version', async ({ sandbox }) => {
    const cwd = scratch({ 'c.csv': 'company_id,name\n1,A\n,B\n' });
    const { stdout } = await cli(['import', 'c.csv', '--skip-invalid', '--ndjson', ...FAST], {
      cwd,
      env: environmentOf(sandbox),
    });
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; time: string; version: number });
    const types = events.map((event) => event.type);
    expect(types.slice(0, 3)).toEqual(['rejected', 'plan', 'submitted']);
    expect(types.at(-1)).toBe('summary');
    expect(new Set(types.slice(3, -1))).toEqual(new Set(['job']));
    for (const { time, version } of events)
      expect([version, new Date(time).toISOString()]).toEqual([1, time]);
  });
});

describe('what ends an import before anything is sent', () => {
  test.for([
    { name: 'no such file', args: ['gone.csv'], says: 'gone.csv: no such file' },
    { name: 'zero bytes', args: ['empty.csv'], says: 'empty.csv: ' },
    { name: 'unknown column', args: ['c.csv', '--exclude', 'nmae'], says: 'did you mean "name"?' },
    { name: 'unknown flag', args: ['c.csv', '--chunk-sise', '3'], says: '--chunk-size' },
    { name: 'bad number', args: ['c.csv', '--concurrency', '0'], says: '--concurrency: "0"' },
    { name: 'bad duration', args: ['c.csv', '-o', 'interval=5'], says: '-o interval: "5" is not a duration' },
    { name: 'no pause', args: ['c.csv', '-o', 'interval=0s'], says: '-o interval must be greater than zero' },
    {
      name: 'stdin twice',
      args: ['-', '-'],
      says: 'use - only once, and pass file names for the other inputs',
    },
    {
      name: 'two forms',
      args: ['c.csv', '--json', '--ndjson'],
      says: '--json and --ndjson cannot be combined',
    },
  ])('$name: exit 2, one sentence, nothing sent', async ({ args, says }, { sandbox }) => {
    const cwd = scratch({ 'c.csv': 'company_id,name\n1,A\n', 'empty.csv': '' });
    const { code, stdout, stderr } = await cli(['import', ...args], { cwd, env: environmentOf(sandbox) });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(says);
    expect(stderr).toMatch(/^profiles: /);
    expect(sandbox.ledger()).toEqual([]);
  });

  test('a header without rows is a warning and exit 0', async ({ sandbox }) => {
    const cwd = scratch({ 'c.csv': 'company_id,name\n' });
    const { code, stdout } = await cli(['import', 'c.csv', '--json'], { cwd, env: environmentOf(sandbox) });
    expect(code).toBe(0);
    expect(summaryOf(stdout)).toMatchObject({
      status: 'completed',
      rows: { read: 0 },
      warnings: [expect.stringContaining('c.csv')],
    });
  });

  test('no token: exit 4 before the file is read', async () => {
    const { code, stderr } = await cli(['import', 'gone.csv'], {
      env: { PROFILES_BASE_URL: 'https://api.test' },
    });
    expect(code).toBe(4);
    expect(stderr).toContain('no token is set');
  });

  test('a refused token: exit 4, resumable, and the token is nowhere', async ({ sandbox }) => {
    const cwd = scratch({ 'c.csv': 'company_id,name\n1,A\n' });
    const env = { ...environmentOf(sandbox), PROFILES_TOKEN: 'wrong-token-9f3' };
    const { code, stdout, stderr } = await cli(['import', 'c.csv', '--json', '--debug'], { cwd, env });
    expect(code).toBe(4);
    const summary = summaryOf(stdout);
    expect(summary).toMatchObject({ status: 'stopped', rows: { submitted: 0, unsent: 1 } });
    expect(summary.resume).toBe(
      `profiles resume ${summary.run} --base-url ${sandbox.url} --lookup-base-url ${sandbox.lookupUrl}`,
    );
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1)!)).toMatchObject({
      error: { code: 'unauthorised', status: 401, request_id: expect.any(String) },
    });
    expect(stdout + stderr).not.toContain('wrong-token');
    const resumed = await cli(['resume', '--json', ...FAST], { cwd, env: environmentOf(sandbox) });
    expect([resumed.code, summaryOf(resumed.stdout).status]).toEqual([0, 'completed']);
  });
});

describe('an import that sends nothing changes nothing', () => {
  test('a refused plan neither supersedes an unfinished run nor forgets what was completed', async ({
    start,
  }) => {
    const sandbox = await start({ faults: ['422:nth=3'] });
    const env = environmentOf(sandbox);
    const cwd = scratch({ 'c.csv': 'company_id,name\n1,A\n2,B\n,C\n' });
    const good = scratch({ 'c.csv': 'company_id,name\n1,A\n' });
    const state = { ...env, PROFILES_STATE_DIR: join(cwd, '.state') };
    await cli(['import', 'c.csv', ...FAST], { cwd: good, env: state });
    const stopped = await cli(['import', 'c.csv', '--skip-invalid', '--chunk-size', '1', '--json', ...FAST], {
      cwd,
      env,
    });
    expect([stopped.code, summaryOf(stopped.stdout).status]).toEqual([6, 'stopped']);
    const { run } = summaryOf(stopped.stdout);
    const refused = await cli(['import', 'c.csv', '--full', '--json'], { cwd, env });
    expect([refused.code, summaryOf(refused.stdout).status]).toEqual([5, 'rejected']);
    const resumed = await cli(['resume', '--json'], { cwd, env });
    expect([resumed.code, summaryOf(resumed.stdout).run]).toEqual([5, run]);
    const again = await cli(['import', 'c.csv', '--changed-only', '--json', ...FAST], {
      cwd: good,
      env: state,
    });
    expect(summaryOf(again.stdout).rows).toMatchObject({ unchanged: 1, submitted: 0 });
  });

  test('--full and --resume cannot be combined; a flag wins over the config file', async () => {
    const cwd = scratch({
      'c.csv': 'company_id,name\n1,A\n,B\n',
      'config.json': JSON.stringify({ region: 'sandbox', import: { max_invalid: 0, changed_only: true } }),
    });
    chmodSync(join(cwd, 'config.json'), 0o600);
    const both = await cli(['import', 'c.csv', '--full', '--resume'], { cwd });
    expect([both.code, both.stderr]).toEqual([
      2,
      expect.stringContaining('--full and --resume cannot be combined'),
    ]);
    const flags = ['--config', join(cwd, 'config.json'), '--skip-invalid', '--json', ...FAST];
    const first = await cli(['import', 'c.csv', ...flags], { cwd });
    expect([first.code, summaryOf(first.stdout).rows.submitted]).toEqual([5, 1]);
    const second = await cli(['import', 'c.csv', '--no-changed-only', ...flags], { cwd });
    expect(summaryOf(second.stdout).rows).toMatchObject({ submitted: 1, unchanged: 0 });
  });
});
