/** Every command that talks to the service, with Prism between it and the sandbox: no violation in either direction. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { JOB_STATES } from '../../src/engine/service/names.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.js';
import { type CliOptions, type CliResult, cli, scratch } from '../support/cli.js';
import { fastClock } from '../support/clock.js';
import { type Exchange, OPENAPI, type Validated, validated } from './prism.js';

const FIXTURES = resolve(import.meta.dirname, '../../fixtures');
const COMPANIES = join(FIXTURES, 'companies.csv');

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

/** Command lines, with the fault that is set and how each is to end. */
test.each<[line: string, code: number, fault?: string | undefined, then?: string]>([
  ...['companies', 'users'].flatMap((kind) =>
    ['csv', 'json', 'ndjson'].map((format): [string, number] => [`import {fixtures}/${kind}.${format}`, 0]),
  ),
  ['import {companies} {users} --chunk-size 3 --concurrency 3', 0],
  ['import {companies} --changed-only', 0, undefined, 'import {companies} --changed-only'],
  ...[
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
  ].map((fault): [string, number, string] => ['import {companies} --chunk-size 5', 0, fault]),
  ['import {companies} --chunk-size 5', 0, 'unknown-status:first=1'],
  ['import {companies}', 7, 'fail-job:first=1'],
  ['import {companies}', 5, 'short-job:first=1'],
  ['import {companies} --chunk-size 5 --on-failure continue', 5, '422:nth=1'],
  ['import {companies} --chunk-size 5', 4, '401:nth=2', 'resume'],
  ['import {companies} --chunk-size 5', 4, '403:nth=2', 'resume'],
  ['import {companies} --chunk-size 5', 6, '422:nth=2', 'resume'],
  ['import {companies} --chunk-size 5', 6, '405:nth=2', 'resume'],
  ['import {companies} --chunk-size 5 --no-wait', 0, undefined, 'jobs --refresh'],
  ['identify user u/1 --company 00042 --set plan=pro', 0],
  ['identify company c-1 --set name=A', 0, '204:first=1,on=identify'],
  ['identify company c-1 --set name=A', 0, '200:first=1,on=identify'],
  ['identify company c-1 --set name=A', 6, '422:first=1,on=identify'],
  ['identify company c-1 --set name=A', 0, '503:first=1,on=identify'],
  ['identify company c-1 --set name=A', 4, '401:first=1,on=identify'],
  ['lookups user-properties', 0],
  ['lookups embeds', 0],
  ['lookups checklists', 0],
  ['job urn:profiles:job:default/none-1', 6],
  ['doctor', 0],
])('profiles %s: %i %s', async (line, code, fault, then) => {
  const words = (text: string): string[] =>
    text
      .replace(/\{(companies|users)}/g, '{fixtures}/$1.csv')
      .replaceAll('{fixtures}', FIXTURES)
      .split(' ');
  if (fault) sandbox.faults.add(fault);
  const result = await run(words(line));
  expect(result.code, result.stderr).toBe(code);
  expect(exchanges()).not.toEqual([]);
  if (fault && !/^(?:fail|short|unknown)/.test(fault))
    expect(sandbox.ledger().map((entry) => entry.fault)).toContain(fault);
  if (then) expect(await run(words(then))).toMatchObject({ code: 0 });
  if (/^import(?!.*no-wait)/.test(line) && code === 0)
    expect(sandbox.count('companies') + sandbox.count('users')).toBeGreaterThan(10);
});

test.each([['import', COMPANIES], ['lookups', 'embeds'], ['doctor']])(
  '%s with a wrong token',
  async (...words) => {
    expect((await run(words, { env: { PROFILES_TOKEN: 'of-another-account' } })).code).toBe(4);
    expect(new Set(exchanges().map(({ status }) => status))).toEqual(new Set([401]));
  },
);

describe('import', () => {
  test('of stdin', async () => {
    const { code } = await run(['import', '-'], { stdin: '{"user_id":"u-1","n":1.50}\n' });
    expect(code).toBe(0);
  });

  test('through every state of a job', async () => {
    clock.step = 2;
    onTestFinished(() => {
      clock.step = 40;
    });
    await run(['import', COMPANIES]);
    const states = base.exchanges.slice(1).map(({ body }) => (body as { status: string }).status);
    expect([...new Set(states)]).toEqual([...JOB_STATES].filter((state) => state !== 'failed'));
  });

  test('of users, against the user properties', async () => {
    await run(['import', join(FIXTURES, 'users.csv')]);
    const stdin = 'user_id,sesions,score\nu-9,3,often\n';
    const words = ['import', '-', '--dry-run', '-o', 'check_properties=true'];
    expect((await run(words, { stdin })).code).toBe(0);
    expect(lookups.exchanges.map(({ path }) => path)).toEqual([
      '/api/v1/analytics/exports/lookups/user_properties',
    ]);
  });

  test('of whatever can be read of the odd fixtures', async () => {
    const files = readdirSync(join(FIXTURES, 'input')).map((name) => join(FIXTURES, 'input', name));
    for (const file of files) {
      const shape = /identifier|users/.test(file) ? [] : ['--kind', 'companies'];
      await run(['import', file, ...shape, '--skip-invalid', '--no-wait']);
    }
    expect(sandbox.ledger().filter(({ accepted }) => accepted !== null).length).toBeGreaterThan(20);
  });
});

test('a job by its id, which is one segment of the path, by its URL, watched, and with an escape in it', async () => {
  await run(['import', COMPANIES, '--chunk-size', '5', '--no-wait']);
  const ids = base.exchanges.map(({ body }) => (body as { job_id: string }).job_id);
  const path = `/v1/background_jobs/${encodeURIComponent(ids[0]!)}`;
  for (const id of [ids[0]!, base.url + path]) {
    expect((await run(['job', id])).code).toBe(0);
    expect(base.exchanges.at(-1)).toMatchObject({ method: 'GET', path, status: 200 });
    expect(sandbox.ledger().at(-1)).toMatchObject({ operation: 'job', path, status: 200 });
  }
  expect((await run(['job', ...ids, '--watch'])).code).toBe(0);
  expect((await run(['job', '%2E%2E'])).code).toBe(6);
  expect(sandbox.ledger().at(-1)).toMatchObject({ path: '/v1/background_jobs/%252E%252E' });
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
