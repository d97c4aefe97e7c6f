/** Every command that talks to the service, with Prism between it and the sandbox: no violation in either direction. Long because each operation has its cases. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import { JOB_STATES } from '../../src/engine/service/names.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.js';
import { type CliOptions, type CliResult, cli, scratch } from '../support/cli.js';
import { fastClock } from '../support/clock.js';
import { type Exchange, OPENAPI, type Validated, validated } from './prism.js';

const FIXTURES = resolve(import.meta.dirname, '../../fixtures');
const COMPANIES = join(FIXTURES, 'companies.csv');
const USERS = join(FIXTURES, 'users.csv');

/** Each look at it takes `step` milliseconds: jobs end after so many requests, however fast the machine. */
const clock = { time: Date.parse('2026-01-02T03:04:05Z'), step: 40, now: () => (clock.time += clock.step) };

let sandbox: Sandbox;
let base: Validated;
let lookups: Validated;
beforeAll(async () => {
  sandbox = await startSandbox({ clock, ports: { eu: null } });
  [base, lookups] = await Promise.all([validated(sandbox.url), validated(sandbox.lookupUrl)]);
});
afterAll(async () => {
  await Promise.all([base.stop(), lookups.stop()]);
  await sandbox.stop();
});

let folder: string;
/** All exchanges of one test. */
const exchanges = (): Exchange[] => [...base.exchanges, ...lookups.exchanges];
const seen: Exchange[] = [];
beforeEach(() => {
  folder = scratch();
  sandbox.reset();
  sandbox.faults.clear();
});
afterEach(() => {
  const wrong = exchanges().filter(({ violations }) => violations.length > 0);
  seen.push(...exchanges());
  for (const one of [base, lookups]) one.exchanges.length = 0;
  expect(wrong).toEqual([]);
});

/** A command line in this test's folder, pointed at Prism. */
function run(argv: string[], options: CliOptions = {}): Promise<CliResult> {
  const env = {
    PROFILES_BASE_URL: base.url,
    PROFILES_LOOKUP_BASE_URL: lookups.url,
    PROFILES_TOKEN: sandbox.token,
    ...options.env,
  };
  return cli(argv, { cwd: folder, clock: fastClock(), ...options, env });
}

/** The same with `--json`; gives its document. */
async function runJson<T = Summary>(argv: string[], code = 0, options: CliOptions = {}): Promise<T> {
  const result = await run([...argv, '--json'], options);
  expect(result.code, result.stderr).toBe(code);
  return JSON.parse(result.stdout) as T;
}

interface Job {
  job_id: string;
  status: string;
}

describe('import', () => {
  test.each([
    'companies.csv',
    'companies.json',
    'companies.ndjson',
    'users.csv',
    'users.json',
    'users.ndjson',
  ])('%s', async (name) => {
    const { status, rows } = await runJson(['import', join(FIXTURES, name)]);
    expect(status).toBe('completed');
    expect(rows.read).toBeGreaterThan(10);
    expect(rows.completed).toBe(rows.read);
  });

  test('companies, then users, in chunks, several jobs at a time', async () => {
    const flags = ['--chunk-size', '3', '--concurrency', '3'];
    const { status, jobs } = await runJson(['import', COMPANIES, USERS, ...flags]);
    expect(status).toBe('completed');
    expect(jobs.length).toBeGreaterThan(6);
  });

  test('stdin', async () => {
    const { status } = await runJson(['import', '-'], 0, { stdin: '{"user_id":"u-1","n":1.50}\n' });
    expect(status).toBe('completed');
  });

  test('through every state of a job', async () => {
    clock.step = 2;
    onTestFinished(() => {
      clock.step = 40;
    });
    await runJson(['import', COMPANIES]);
    const states = base.exchanges.slice(1).map(({ body }) => (body as Job).status);
    expect([...new Set(states)]).toEqual([...JOB_STATES].filter((state) => state !== 'failed'));
  });

  test('only what changed', async () => {
    await runJson(['import', COMPANIES]);
    const before = exchanges().length;
    const { rows } = await runJson(['import', COMPANIES, '--changed-only']);
    expect(rows.unchanged).toBe(rows.read);
    expect(exchanges().length).toBe(before);
  });

  test('users against the user properties', async () => {
    await runJson(['import', USERS]);
    const stdin = 'user_id,sesions,score\nu-9,3,often\n';
    const { plan } = await runJson(['import', '-', '--dry-run', '-o', 'check_properties=true'], 0, { stdin });
    expect(plan?.properties).toEqual({
      new: [],
      near: [{ key: 'sesions', like: 'sessions' }],
      types: [{ key: 'score', here: 'string', service: 'number' }],
    });
    expect(lookups.exchanges.map(({ path }) => path)).toEqual([
      '/api/v1/analytics/exports/lookups/user_properties',
    ]);
  });

  test('whatever can be read of the odd fixtures', async () => {
    const files = readdirSync(join(FIXTURES, 'input')).map((name) => join(FIXTURES, 'input', name));
    for (const file of files) {
      const shape = /identifier|users/.test(file) ? [] : ['--kind', 'companies'];
      await run(['import', file, ...shape, '--skip-invalid', '--no-wait']);
    }
    expect(sandbox.ledger().filter(({ accepted }) => accepted !== null).length).toBeGreaterThan(20);
  });
});

describe('an import that does not go smoothly', () => {
  test.each([
    '408:nth=1',
    '409:nth=1',
    '413:nth=1',
    '429:nth=1,retry-after=1',
    '500:nth=1',
    '502:nth=1,html',
    '503:nth=1,retry-after=1',
    '504:nth=1,accepted',
    '503:nth=2,on=job',
    '429:nth=2,on=job,retry-after=1',
    'job-404:nth=2',
    'unknown-status:first=1',
  ])('%s', async (fault) => {
    sandbox.faults.add(fault);
    const { status } = await runJson(['import', COMPANIES, '--chunk-size', '5']);
    expect(status).toBe('completed');
    expect(sandbox.ledger().some((entry) => entry.fault === fault) || fault.startsWith('unknown')).toBe(true);
  });

  test.each([
    ['fail-job:first=1', 7, 'failed'],
    ['short-job:first=1', 5, 'partial'],
  ])('%s', async (fault, code, status) => {
    sandbox.faults.add(fault);
    expect(await runJson(['import', COMPANIES], code)).toMatchObject({ status });
  });

  test.each([
    ['401:nth=2', 4],
    ['403:nth=2', 4],
    ['422:nth=2', 6],
    ['405:nth=2', 6],
  ])('%s, then resumed', async (fault, code) => {
    sandbox.faults.add(fault);
    const first = await runJson(['import', COMPANIES, '--chunk-size', '5'], code);
    expect(first.status).toBe('stopped');
    const last = await runJson(['resume']);
    expect(last).toMatchObject({ run: first.run, status: 'completed' });
    expect(last.rows.completed).toBe(last.rows.read);
  });

  test('422, and on', async () => {
    sandbox.faults.add('422:nth=1');
    const flags = ['--chunk-size', '5', '--on-failure', 'continue'];
    expect(await runJson(['import', COMPANIES, ...flags], 5)).toMatchObject({ status: 'partial' });
  });

  test('a wrong token', async () => {
    const env = { PROFILES_TOKEN: 'of-another-account' };
    expect(await runJson(['import', COMPANIES], 4, { env })).toMatchObject({ status: 'stopped' });
    expect(base.exchanges.map(({ status }) => status)).toEqual([401]);
  });
});

describe('jobs', () => {
  let ids: string[];
  beforeEach(async () => {
    const { jobs } = await runJson(['import', COMPANIES, '--chunk-size', '5', '--no-wait']);
    ids = jobs.map(({ job_id }) => job_id);
  });

  test('job, with its id as one segment', async () => {
    const [id = ''] = ids;
    expect(id).toMatch(/:.*\//);
    expect(await runJson<Job>(['job', id])).toMatchObject({ job_id: id });
    // Prism passed the segment on as it came.
    const path = `/v1/background_jobs/${encodeURIComponent(id)}`;
    expect(base.exchanges.at(-1)).toMatchObject({ method: 'GET', path, status: 200 });
    expect(sandbox.ledger().at(-1)).toMatchObject({ operation: 'job', path, status: 200 });
  });

  test('job with a URL, and with an id that has an escape in it', async () => {
    const [id = ''] = ids;
    const url = `${base.url}/v1/background_jobs/${encodeURIComponent(id)}`;
    expect(await runJson<Job>(['job', url])).toMatchObject({ job_id: id });
    expect((await run(['job', '%2E%2E'])).code).toBe(6);
    expect(sandbox.ledger().at(-1)).toMatchObject({
      operation: 'job',
      path: '/v1/background_jobs/%252E%252E',
    });
  });

  test('job --watch', async () => {
    const records = await runJson<Job[]>(['job', ...ids, '--watch']);
    expect(new Set(records.map(({ status }) => status))).toEqual(new Set(['completed']));
  });

  test('jobs --refresh', async () => {
    const records = await runJson<Job[]>(['jobs', '--refresh']);
    expect(records.map(({ job_id }) => job_id).sort()).toEqual([...ids].sort());
  });

  test('an unknown one', async () => {
    const { code, stderr } = await run(['job', 'urn:profiles:job:default/none-1']);
    expect([code, stderr]).toEqual([6, expect.stringContaining(' not found: ')]);
  });
});

describe('lookups', () => {
  test.each(['user-properties', 'embeds', 'checklists'])('%s', async (list) => {
    await runJson(['import', USERS]);
    expect((await runJson<object[]>(['lookups', list])).length).toBeGreaterThan(2);
  });

  test('with a wrong token', async () => {
    expect((await run(['lookups', 'embeds'], { env: { PROFILES_TOKEN: 'wrong' } })).code).toBe(4);
    expect(lookups.exchanges.map(({ status }) => status)).toEqual([401]);
  });
});

describe('identify', () => {
  test('company', async () => {
    const values = [
      '--set',
      'name=Żółw, S.A.',
      '--set',
      'size=12',
      '--metadata',
      '{"nested":{"a":[1,null]}}',
    ];
    expect((await run(['identify', 'company', '00042', ...values])).code).toBe(0);
    expect(sandbox.show('companies', '00042')?.metadata).toMatchObject({ name: 'Żółw, S.A.', size: 12 });
  });

  test.each([
    ['204:first=1,on=identify', 0],
    ['200:first=1,on=identify', 0],
    ['422:first=1,on=identify', 6],
    ['503:first=1,on=identify', 0],
    ['401:first=1,on=identify', 4],
  ])('company, answered %s', async (fault, code) => {
    sandbox.faults.add(fault);
    expect((await run(['identify', 'company', 'c-1', '--set', 'name=A'])).code).toBe(code);
  });

  test('user', async () => {
    expect((await run(['identify', 'user', 'u/1', '--company', '00042', '--set', 'plan=pro'])).code).toBe(0);
    expect(sandbox.show('users', 'u/1')).toMatchObject({ metadata: { plan: 'pro' } });
  });
});

test.each([
  ['in order', {}, 0],
  ['with a wrong token', { PROFILES_TOKEN: 'wrong' }, 4],
])('doctor, %s', async (_, env, code) => {
  const result = await run(['doctor'], { env });
  expect(result.code, result.stdout).toBe(code);
  expect(exchanges()).toHaveLength(2);
});

test('between them they used every operation of the file', () => {
  const template = (path: string): string => path.replace(/(background_jobs)\/[^/]+$/, '$1/{job_id}');
  const used = new Set(seen.map(({ method, path }) => `${method.toLowerCase()} ${template(path)}`));
  const { paths } = JSON.parse(readFileSync(OPENAPI, 'utf8')) as { paths: Record<string, object> };
  const all = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.keys(verbs)
      .filter((verb) => verb !== 'servers')
      .map((verb) => `${verb} ${path}`),
  );
  expect(all).toHaveLength(7);
  expect([...used].sort()).toEqual(all.sort());
});
