/** Saved plans (contract §3 "Review before sending"): what is approved is what is sent, and nothing else, wherever it is applied. */
import { once } from 'node:events';
import { copyFileSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { SavedPlan } from '../../src/engine/plan/plan-schema.js';
import { sealed } from '../../src/engine/plan/saved-plan.js';
import { FIXTURES } from '../engine/read/reading.js';
import { built, profiles } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';
import { onPostgres, openState, removeState } from '../support/state.js';
import { zip } from '../support/zip.js';
import { elevenCompanies, Machine, type Outcome } from './support.js';

const file = elevenCompanies();
const PLAN = ['--dry-run', '--save-plan', 'plan.json'];

let service: FaultServer;
/** Where plans are made. */
let desk: Machine;
/** Where they are applied: another folder, and a state of its own. */
let other: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  desk = new Machine(service.url);
  other = new Machine(service.url);
});
afterEach(() => service.stop());

const bodies = (): string[] => service.ledger.arrivals.map(({ kind, sha256 }) => `${kind} ${sha256}`);
const plain = (rows: number): string =>
  `company_id,name,seats\n${Array.from({ length: rows }, (_, i) => `c-${i},"Company\n${i}",${i}\n`).join('')}`;

/** Makes a plan of files at the desk. */
async function planned(files: Record<string, string | Buffer>, argv: string[] = []): Promise<Outcome> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(desk.folder, name), text);
  const made = await desk.run(['import', ...Object.keys(files), '--chunk-size', '4', ...argv, ...PLAN]);
  expect(made.summary, made.stderr).not.toBeNull();
  expect(service.ledger.arrivals).toEqual([]);
  return made;
}
const planAt = (machine: Machine): SavedPlan =>
  JSON.parse(readFileSync(join(machine.folder, 'plan.json'), 'utf8')) as SavedPlan;
const carry = (...names: string[]): void => {
  for (const name of names) copyFileSync(join(desk.folder, name), join(other.folder, name));
};
async function refused(machine: Machine, message: string | RegExp, argv: string[] = []): Promise<void> {
  const seen = service.seen.submit;
  const result = await machine.run(['apply', 'plan.json', ...argv]);
  expect([result.code, result.error?.message]).toEqual([2, expect.stringMatching(message)]);
  expect(service.seen.submit).toBe(seen);
}

describe('what is sent is what an import sends', () => {
  const users = `user_id,company_id,plan\n${Array.from({ length: 9 }, (_, i) => `u-${i},c-${i},pro\n`).join('')}`;
  const ndjson = Array.from({ length: 9 }, (_, i) => `{"company_id":"c-${i}","n":${i}}\n`).join('');
  const cases: Record<string, [files: Record<string, string | Buffer>, argv?: string[]]> = {
    'plain CSV with quoted line ends': [{ 'companies.csv': plain(11) }],
    'an id that appears twice': [{ 'companies.csv': file.text }],
    'rules, types, constants': [
      { 'companies.csv': plain(6) },
      ['--map', 'name=title', '--type', 'seats=string', '--set', 'source=crm', '--keys', 'camelCase'],
    ],
    gzip: [{ 'companies.csv.gz': gzipSync(plain(11)) }],
    'JSON Lines': [{ 'companies.ndjson': ndjson }],
    'a JSON array': [{ 'companies.json': `[${ndjson.trim().split('\n').join(',')}]` }],
    'files packed into one request': [{ 'a.csv': plain(5), 'b.csv': plain(5).replaceAll('c-', 'd-') }],
    'users after companies': [{ 'companies.csv': plain(6), 'users.csv': users }],
    'rows that are skipped': [{ 'companies.csv': `${plain(5)}\n,no id,1\n` }, ['--skip-invalid']],
  };
  test.each(Object.entries(cases))('%s', async (_, [files, argv = []]) => {
    await planned(files, argv);
    carry(...Object.keys(files), 'plan.json');
    const applied = await other.run(['apply', 'plan.json']);
    const sent = bodies();
    service.ledger.arrivals.length = 0;
    const imported = await new Machine(service.url).run(
      ['import', ...Object.keys(files), '--chunk-size', '4', ...argv],
      { cwd: desk.folder, env: { PROFILES_STATE_DIR: scratch() } },
    );
    expect(sent).toEqual(bodies());
    expect(sent.length).toBeGreaterThan(1);
    expect(applied.code, applied.stderr).toBe(imported.code);
    expect(applied.summary!.rows).toEqual(imported.summary!.rows);
    expect(applied.summary!.requests).toBe(planAt(desk).totals.requests);
  });

  test.each<[string, string, string, string[]]>([
    ['a workbook', 'people.xlsx', 'people.xlsx', []],
    ['a sheet of a workbook', 'pandas.xlsx', 'pandas.xlsx', ['--sheet', '1']],
    ['Parquet', 'types.parquet', 'types.parquet', []],
    ['a member of a zip archive', 'export.zip', 'export.zip:in/companies.csv', []],
  ])('%s', async (_, name, path, argv) => {
    const bytes =
      name === 'export.zip'
        ? zip([
            { name: 'in/companies.csv', content: plain(11) },
            { name: 'in/others.csv', content: plain(3) },
          ])
        : readFileSync(join(FIXTURES, 'columnar', name));
    writeFileSync(join(desk.folder, name), bytes);
    const flags = ['--skip-invalid', '--chunk-size', '1', ...argv];
    const made = await desk.run(['import', path, ...flags, ...PLAN]);
    expect([0, 5], made.stderr).toContain(made.code);
    carry(name, 'plan.json');
    const applied = await other.run(['apply', 'plan.json']);
    const sent = bodies();
    const digests = sent.map((body) => body.split(' ')[1]);
    expect(digests, applied.stderr).toEqual(planAt(desk).requests.map(({ sha256 }) => sha256));
    expect(sent.length).toBeGreaterThan(1);
    service.ledger.arrivals.length = 0;
    const imported = await new Machine(service.url).run(['import', path, ...flags], { cwd: desk.folder });
    expect(bodies()).toEqual(sent);
    expect([applied.code, applied.summary!.rows]).toEqual([imported.code, imported.summary!.rows]);

    writeFileSync(join(other.folder, name), Buffer.concat([bytes, Buffer.from('x')]));
    removeState(join(other.folder, '.state'));
    await refused(other, /./);
  });

  test('a file at a web address, fetched again where it is applied', async () => {
    let text = plain(11);
    const server = createServer((_, response) => response.end(text)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/companies.csv`;
    expect((await desk.run(['import', url, '--chunk-size', '4', ...PLAN])).code).toBe(0);
    carry('plan.json');
    text = plain(12);
    await refused(other, /companies\.csv: has changed since the plan was made/);
    text = plain(11);
    const applied = await other.run(['apply', 'plan.json']);
    expect([applied.code, applied.summary!.rows.submitted], applied.stderr).toEqual([0, 11]);
    expect(bodies()).toEqual(planAt(desk).requests.map(({ sha256 }) => `companies ${sha256}`));
    // Or from a copy of it.
    text = 'gone';
    writeFileSync(join(desk.folder, 'copy.csv'), plain(11));
    rmSync(join(desk.folder, '.state'), { recursive: true });
    const copied = await desk.run(['apply', 'plan.json', '--input', 'copy.csv']);
    expect([copied.code, copied.summary!.rows.submitted], copied.stderr).toEqual([0, 11]);
  });
});

describe('refused, and nothing is sent', () => {
  beforeEach(async () => {
    await planned({ 'companies.csv': plain(11) });
    carry('companies.csv', 'plan.json');
  });

  test('an edited plan whose digest was made anew: each body is held against its own digest', async () => {
    const { digest: _, ...plan } = planAt(desk);
    const input = { ...plan.inputs[0]!, types: ['string', 'string', 'string'] };
    other.write('plan.json', JSON.stringify(sealed({ ...plan, inputs: [input] })));
    const result = await other.run(['apply', 'plan.json']);
    expect([result.code, result.error?.message]).toEqual([
      2,
      expect.stringContaining('the content differs from what was planned, so it was not sent'),
    ]);
    expect(service.seen.submit).toBe(0);
  });
});

describe('applied more than once', () => {
  test.skipIf(onPostgres)(
    'ids that were sent since in an older copy of the state, which repeats the numbers, are left out',
    async () => {
      const state = join(desk.folder, '.state');
      desk.write('other.csv', 'company_id,name\nz-1,z\n');
      expect((await desk.run(['import', 'other.csv'])).code).toBe(0);
      cpSync(state, `${state}.old`, { recursive: true });
      for (let run = 0; run < 3; run++) expect((await desk.run(['import', 'other.csv'])).code).toBe(0);
      service.ledger.arrivals.length = 0;
      await planned({ 'companies.csv': plain(6) });
      rmSync(state, { recursive: true });
      renameSync(`${state}.old`, state);
      desk.clock.pass(60_000);
      desk.write('newer.csv', 'company_id,name\nc-4,newer\n');
      expect((await desk.run(['import', 'newer.csv'])).code).toBe(0);
      for (let run = 0; run < 3; run++) expect((await desk.run(['import', 'other.csv'])).code).toBe(0);
      const { summary } = await desk.run(['apply', 'plan.json']);
      expect(summary!.rows).toMatchObject({ submitted: 5, unsent: 1 });
    },
  );
});

describe('the built command', () => {
  beforeAll(built);

  test('killed in the middle, applied again: everything is sent once', async () => {
    await planned({ 'companies.csv': plain(40) });
    const child = profiles(['apply', 'plan.json'], { cwd: desk.folder, env: desk.env });
    service.trouble = {
      submit: (n) =>
        n === 4
          ? async (exchange) => {
              await exchange.read();
              child.kill('SIGKILL');
            }
          : undefined,
    };
    await child.ended;
    service.trouble = {};
    const env = { ...desk.env, PROFILES_STATE_DIR: stateOf(desk) };
    const rest = await desk.run(['apply', 'plan.json'], { env });
    expect(rest.code, rest.stderr).toBe(0);
    expect(rest.summary!.rows.submitted).toBe(40);
    expect([...service.ledger.timesAccepted.values()].every((times) => times === 1)).toBe(true);
    const state = await openState(stateOf(desk), Date.now);
    expect(await state.problems()).toEqual([]);
    await state.close();
  });
});

/** Where the built command keeps its state. */
const stateOf = (machine: Machine): string => join(machine.folder, '.state');
