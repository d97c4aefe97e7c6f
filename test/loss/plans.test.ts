/**
 * Saved plans (contract §3 "Review before sending"): what is approved is what is sent, wherever it is applied, and newer
 * values are never replaced by those of an older plan.
 */
import { copyFileSync, cpSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import type { SavedPlan } from '../../src/engine/plan/plan-schema.js';
import { sealed } from '../../src/engine/plan/saved-plan.js';
import { FIXTURES } from '../engine/read/reading.js';
import { scratch } from '../support/cli.js';
import { httpServer } from '../support/servers.js';
import { onPostgres, removeState } from '../support/state.js';
import { Machine, type Outcome, workspace } from '../support/workspace.js';
import { zip } from '../support/zip.js';
import { status } from './faults.js';
import { elevenCompanies } from './support.js';

const PLAN = '--dry-run --save-plan plan.json';

/** The machine makes plans. */
const { service, machine: desk, run } = workspace();
/** Where they are applied: another folder, and a state of its own. */
let other: Machine;
beforeEach(() => {
  other = new Machine(service.url);
});

const bodies = (): string[] => service.ledger.arrivals.map(({ kind, sha256 }) => `${kind} ${sha256}`);
const plain = (rows: number): string =>
  `company_id,name,seats\n${Array.from({ length: rows }, (_, i) => `c-${i},"Company\n${i}",${i}\n`).join('')}`;
const planAt = (machine: Machine): SavedPlan => JSON.parse(machine.read('plan.json')) as SavedPlan;
const carry = (...names: string[]): void => {
  for (const name of names) copyFileSync(desk.path(name), other.path(name));
};

async function refused(message: string | RegExp): Promise<void> {
  const seen = service.seen.submit;
  const { code, error } = await other.run('apply plan.json');
  expect([code, error?.message]).toEqual([2, expect.stringMatching(message)]);
  expect(service.seen.submit).toBe(seen);
}

describe('what is sent is what an import sends', () => {
  const users = `user_id,company_id,plan\n${Array.from({ length: 9 }, (_, i) => `u-${i},c-${i},pro\n`).join('')}`;
  const ndjson = Array.from({ length: 9 }, (_, i) => `{"company_id":"c-${i}","n":${i}}\n`).join('');
  const columnar = (name: string): Buffer => readFileSync(join(FIXTURES, 'columnar', name));
  const members = ['companies', 'others'].map((name) => ({ name: `in/${name}.csv`, content: plain(11) }));
  const rules = '--map name=title --type seats=string --set source=crm --keys camelCase';

  test.each<[what: string, files: Record<string, string | Buffer>, flags?: string, inputs?: string]>([
    ['plain CSV with quoted line ends', { 'companies.csv': plain(11) }],
    ['an id that appears twice', { 'companies.csv': elevenCompanies().text }],
    ['rules, types, constants', { 'companies.csv': plain(6) }, rules],
    ['gzip', { 'companies.csv.gz': gzipSync(plain(11)) }],
    ['JSON Lines', { 'companies.ndjson': ndjson }],
    ['a JSON array', { 'companies.json': `[${ndjson.trim().split('\n').join(',')}]` }],
    ['packed files', { 'a.csv': plain(5), 'b.csv': plain(5).replaceAll('c-', 'd-') }],
    ['users after companies', { 'companies.csv': plain(6), 'users.csv': users }],
    ['rows that are skipped', { 'companies.csv': `${plain(5)}\n,no id,1\n` }],
    ['a workbook', { 'people.xlsx': columnar('people.xlsx') }, '--chunk-size 1'],
    ['a sheet', { 'pandas.xlsx': columnar('pandas.xlsx') }, '--chunk-size 1 --sheet 1'],
    ['Parquet', { 'types.parquet': columnar('types.parquet') }, '--chunk-size 1'],
    ['a member of an archive', { 'export.zip': zip(members) }, '', 'export.zip:in/companies.csv'],
  ])('%s', async (_, files, flags = '', inputs = Object.keys(files).join(' ')) => {
    for (const [name, content] of Object.entries(files)) desk.write(name, content);
    const size = flags.includes('--chunk-size') ? '' : '--chunk-size 4 ';
    const line = `import ${inputs} --skip-invalid ${size}${flags}`.trim();
    const made = await run(`${line} ${PLAN}`);
    expect([0, 5], made.stderr).toContain(made.code);
    expect(service.ledger.arrivals).toEqual([]);
    carry(...Object.keys(files), 'plan.json');
    const applied = await other.run('apply plan.json');
    const sent = bodies();
    expect(sent.map((body) => body.split(' ')[1])).toEqual(planAt(desk).requests.map(({ digest }) => digest));
    expect(sent.length).toBeGreaterThan(1);
    service.ledger.arrivals.length = 0;
    const imported = await run(line, { env: { PROFILES_STATE_DIR: scratch() } });
    expect(bodies()).toEqual(sent);
    expect([applied.code, applied.summary!.rows], applied.stderr).toEqual([
      imported.code,
      imported.summary!.rows,
    ]);
    expect(applied.summary!.requests).toBe(planAt(desk).totals.requests);
    // A file that is another one by a byte is refused.
    for (const [name, content] of Object.entries(files))
      other.write(name, Buffer.concat([Buffer.from(content), Buffer.from('x')]));
    removeState(other.path('.state'));
    await refused(/./);
  });

  test('a file at a web address, fetched again where it is applied', async () => {
    let text = plain(11);
    const url = `${(await httpServer((_, response) => response.end(text))).url}/plan.csv`;
    expect((await run(`import ${url} --chunk-size 4 ${PLAN}`)).code).toBe(0);
    carry('plan.json');
    text = plain(12);
    await refused(/plan\.csv: has changed since the plan was made/);
    text = plain(11);
    const applied = await other.run('apply plan.json');
    expect([applied.code, applied.summary!.rows.submitted], applied.stderr).toEqual([0, 11]);
    expect(bodies()).toEqual(planAt(desk).requests.map(({ digest }) => `companies ${digest}`));
    // Or from a copy of it.
    text = 'gone';
    desk.write('copy.csv', plain(11));
    rmSync(desk.path('.state'), { recursive: true });
    const copied = await run('apply plan.json --input copy.csv');
    expect([copied.code, copied.summary!.rows.submitted], copied.stderr).toEqual([0, 11]);
  });

  test('an edited plan whose digest was made anew: each body is held against its own digest', async () => {
    desk.write('companies.csv', plain(11));
    await run(`import companies.csv ${PLAN}`);
    carry('companies.csv');
    const { digest: _, ...plan } = planAt(desk);
    const input = { ...plan.inputs[0]!, types: ['string', 'string', 'string'] };
    other.write('plan.json', JSON.stringify(sealed({ ...plan, inputs: [input] })));
    await refused('the content differs from what was planned, so it was not sent');
  });
});

test('an import of the same content does not continue the run of a plan: it takes its place', async () => {
  desk.write('c.csv', plain(3));
  await run(`import c.csv ${PLAN}`);
  service.trouble.submit = () => status(503);
  const first = await run('apply plan.json -o retries=0');
  expect(first.code, first.stderr).toBe(6);
  service.trouble = {};
  const { code, summary, stderr } = await run('import c.csv --resume');
  expect(code, stderr).toBe(0);
  expect(summary!.run).not.toBe(first.summary!.run);
  expect(summary!.warnings.join()).toContain(`replaces run ${first.summary!.run}`);
});

describe('a plan keeps its age', () => {
  const csv = (name: string, ...ids: string[]): string =>
    `company_id,name\n${ids.map((id) => `${id},${name}\n`).join('')}`;
  const profiles = (): unknown[] => ['a', 'b'].map((id) => service.held('companies', id));

  /** Plans a file with this name for both companies. */
  async function planned(name: string): Promise<void> {
    desk.write(`${name}.csv`, csv(name, 'a', 'b'));
    const made = await run(`import ${name}.csv --dry-run --save-plan ${name}.json`);
    expect(made.code, made.stderr).toBe(0);
  }
  /** Imports a file with this name for one company. */
  async function imported(name: string, id: string): Promise<void> {
    desk.write(`${name}.csv`, csv(name, id));
    expect((await run(`import ${name}.csv`)).code).toBe(0);
  }
  async function applied(name: string): Promise<[submitted: number, unsent: number]> {
    const { summary, stderr } = await run(`apply ${name}.json`);
    expect(summary, stderr).not.toBeNull();
    return [summary!.rows.submitted, summary!.rows.unsent ?? 0];
  }

  test.skipIf(onPostgres)('in an older copy of the state, which repeats the numbers', async () => {
    await planned('old');
    await planned('new');
    const state = desk.path('.state');
    cpSync(state, `${state}.old`, { recursive: true });
    for (let n = 0; n < 3; n++) await imported('lost', 'a');
    await planned('newest');
    rmSync(state, { recursive: true });
    renameSync(`${state}.old`, state);
    // Its number is lower than that of the newest plan, and its time later.
    desk.clock.pass(60_000);
    await imported('between', 'a');
    expect(await applied('new')).toEqual([1, 1]);
    expect(await applied('old')).toEqual([0, 2]);
    expect(await applied('newest')).toEqual([0, 2]);
    expect(profiles()).toEqual([{ name: 'between' }, { name: 'new' }]);
  });

  /** A plan whose input is not read before `answer`. */
  async function heldPlan(flags = ''): Promise<{ planning: Promise<Outcome>; answer(): void }> {
    const text = csv('plan', 'a', 'b');
    let held: ServerResponse | null = null;
    const { url: host } = await httpServer((_, response) => {
      if (held) response.end(text);
      held ??= response;
    });
    const planning = run(`import ${host}/plan.csv ${PLAN} ${flags}`.trim());
    await expect.poll(() => held).not.toBeNull();
    return { planning, answer: () => void held!.end(text) };
  }

  test.each([
    ['at the same time', 0],
    ['by a clock that was an hour ahead', -3_600_000],
  ])('what is sent while it is being made is newer: %s', async (_, passed) => {
    const { planning, answer } = await heldPlan();
    desk.clock.pass(passed);
    await imported('newer', 'a');
    answer();
    expect((await planning).code).toBe(0);
    expect(await applied('plan')).toEqual([1, 1]);
    expect(profiles()).toEqual([{ name: 'newer' }, { name: 'plan' }]);
  });

  test('with --changed-only it is not saved where it is out of date already', async () => {
    const { planning, answer } = await heldPlan('--changed-only');
    await imported('other', 'z');
    answer();
    const { code, stderr } = await planning;
    expect([code, stderr]).toEqual([2, expect.stringContaining('the plan is out of date')]);
    expect(existsSync(desk.path('plan.json'))).toBe(false);
  });

  test('what -o refresh_after refreshes is decided when planning begins', async () => {
    desk.write('before.csv', csv('plan', 'a', 'b'));
    expect((await run('import before.csv')).code).toBe(0);
    desk.clock.pass(0.9 * 3_600_000);
    const { planning, answer } = await heldPlan('--changed-only -o refresh_after=1h');
    desk.clock.pass(0.2 * 3_600_000);
    answer();
    expect((await planning).summary!.rows.unchanged).toBe(2);
    expect(await applied('plan')).toEqual([0, 0]);
  });

  test('a request of which few rows are left is sent as a canary', async () => {
    await planned('plan');
    await imported('newer', 'a');
    const { code, summary, stderr } = await run('apply plan.json --canary 1');
    expect([code, summary!.rows], stderr).toMatchObject([5, { submitted: 1, unsent: 1, rejected: 0 }]);
    expect(profiles()).toEqual([{ name: 'newer' }, { name: 'plan' }]);
  });
});
