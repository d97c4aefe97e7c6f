/** Saved plans (contract §3 "Review before sending"): what is approved is what is sent, and nothing else, wherever it is applied. */
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
import { FaultServer, type Strike } from '../support/fault-server.js';
import { onPostgres, openState, removeState } from '../support/state.js';
import { zip } from '../support/zip.js';
import { status } from './faults.js';
import { balance, elevenCompanies, Machine, type Outcome } from './support.js';

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
const only = (nth: number, strike: Strike) => ({ submit: (n: number) => (n === nth ? strike : undefined) });
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

  test('from another path, named at the command', async () => {
    await planned({ 'a.csv': plain(5), 'b.csv': plain(5).replaceAll('c-', 'd-') });
    carry('plan.json');
    mkdirSync(join(other.folder, 'in'));
    copyFileSync(join(desk.folder, 'a.csv'), join(other.folder, 'in/first.txt'));
    copyFileSync(join(desk.folder, 'b.csv'), join(other.folder, 'in/second'));
    await refused(other, /a\.csv: no such file/);
    await refused(other, /b\.csv: no such file/, ['--input', 'in/first.txt']);
    const applied = await other.run([
      'apply',
      'plan.json',
      '--input',
      'in/second',
      '--input',
      'in/first.txt',
    ]);
    expect(applied.code, applied.stderr).toBe(0);
    expect(service.ledger.arrivals.map(({ sha256 }) => sha256)).toEqual(
      planAt(desk).requests.map(({ sha256 }) => sha256),
    );
    expect(applied.summary!.files.map(({ path }) => path)).toEqual(['in/first.txt', 'in/second']);
  });
});

test('says at which byte each request begins, and a plan that goes on reads from there', async () => {
  const text = plain(11);
  await planned({ 'companies.csv': text });
  const starts = planAt(desk).requests.map(({ offset }) => text.slice(offset!, text.indexOf(',', offset)));
  expect(starts).toEqual(['c-0', 'c-4', 'c-8']);
  service.trouble = only(3, status(503));
  expect((await desk.run(['apply', 'plan.json', '-o', 'retries=0'])).code).toBe(6);
  service.trouble = {};
  const rest = await desk.run(['apply', 'plan.json']);
  expect([rest.code, rest.summary!.rows.submitted]).toEqual([0, 11]);
  expect(rest.summary!.jobs.at(-1)).toMatchObject({ first_line: 18, last_line: 22 });
});

test('the same input gives the same plan, but for run, time, and number, and none of its cells', async () => {
  await planned({ 'companies.csv': plain(11) });
  const first = readFileSync(join(desk.folder, 'plan.json'), 'utf8');
  await planned({ 'companies.csv': plain(11) });
  const again = readFileSync(join(desk.folder, 'plan.json'), 'utf8');
  const still = (text: string): string => text.replace(/"(run|created_at)": "[^"]*"|"number": \d+/g, '');
  expect(still(again)).toBe(still(first));
  expect(first).not.toMatch(/Company|c-\d|tok_/);
});

describe('refused, and nothing is sent', () => {
  beforeEach(async () => {
    await planned({ 'companies.csv': plain(11) });
    carry('companies.csv', 'plan.json');
  });

  test('one byte of an input is another', async () => {
    other.write('companies.csv', plain(11).replace('Company\n7', 'Company\n8'));
    await refused(other, /^companies\.csv: has changed since the plan was made$/);
    other.write('companies.csv', `${plain(11)}\n`);
    await refused(other, /^companies\.csv: has changed since the plan was made \(\d+ bytes, not \d+\)$/);
  });

  test('a file that is none of its inputs', async () => {
    other.write('more.csv', plain(3));
    await refused(other, /^more\.csv: is not an input of the plan/, ['--input', 'more.csv']);
    rmSync(join(other.folder, 'companies.csv'));
    await refused(other, /^more\.csv: is not an input of the plan/, ['--input', 'more.csv']);
  });

  test('another host, another region, another account, another token of an account without a name', async () => {
    await refused(other, /^the plan is for http.*, not for http:\/\/127\.0\.0\.1:9$/, [
      '--base-url',
      'http://127.0.0.1:9',
    ]);
    await refused(other, /^the plan is for region default, not for sandbox$/, ['--region', 'sandbox']);
    other.env.PROFILES_TOKEN = 'tok_another_one';
    await refused(other, /^the plan is for another token/);
    other.write('config.json', JSON.stringify({ accounts: { a: { token: 'tok_0123456789' } } }), 0o600);
    const named = ['--config', 'config.json', '--account', 'a', '--base-url', service.url];
    await refused(other, /^the plan is for an account without a name, not for account a$/, named);
  });

  test.each<[string, (plan: SavedPlan) => object]>([
    ['types', (plan) => ({ inputs: [{ ...plan.inputs[0]!, types: ['string', 'string', 'string'] }] })],
    ['requests', (plan) => ({ requests: plan.requests.slice(1) })],
    ['a newer format', () => ({ version: 2 })],
  ])('an edited plan: %s', async (name, edit) => {
    const plan = planAt(desk);
    other.write('plan.json', JSON.stringify({ ...plan, ...edit(plan) }));
    await refused(
      other,
      name === 'a newer format' ? /newer version of profiles/ : /was edited after it was saved/,
    );
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

  test('another plan than the one that was approved', async () => {
    const { digest } = planAt(desk);
    await refused(other, /is not the plan that --expect names/, ['--expect', 'f'.repeat(64)]);
    const applied = await other.run(['apply', 'plan.json', '--expect', digest]);
    expect(applied.code, applied.stderr).toBe(0);
  });

  test('no plan, no file, stdin', async () => {
    for (const [name, message, hint] of [
      [
        'companies.csv',
        /is not a plan/,
        /^to save one:\n {2}profiles import companies\.csv --save-plan plan\.json/,
      ],
      ['missing.json', /missing\.json: the plan cannot be read: no such file/, /^check the path$/],
      ['-', /a plan is a file, not stdin/, null],
    ] as const) {
      const result = await other.run(['apply', name]);
      expect([result.code, result.error?.message]).toEqual([2, expect.stringMatching(message)]);
      expect(result.error?.hint).toEqual(hint && expect.stringMatching(hint));
    }
  });
});

test('a plan that an editor saved with a byte order mark and CR LF is the same plan', async () => {
  await planned({ 'companies.csv': plain(11) });
  const text = readFileSync(join(desk.folder, 'plan.json'), 'utf8');
  desk.write('plan.json', `\uFEFF${text.replaceAll('\n', '\r\n')}`);
  const applied = await desk.run(['apply', 'plan.json']);
  expect([applied.code, applied.summary?.rows.submitted], applied.stderr).toEqual([0, 11]);
});

test('stdin and a resume have no plan to save', async () => {
  desk.write('companies.csv', plain(3));
  for (const argv of [
    ['-', '--kind', 'companies', ...PLAN],
    ['companies.csv', '--resume', ...PLAN],
  ]) {
    const result = await desk.run(['import', ...argv], { stdin: plain(3) });
    expect([argv, result.code]).toEqual([argv, 2]);
  }
});

test('only an earlier plan and an empty file are replaced', async () => {
  const text = plain(3);
  desk.write('companies.csv', text);
  const save = (path: string) => desk.run(['import', 'companies.csv', '--dry-run', '--save-plan', path]);
  const over = await save('companies.csv');
  expect([over.code, over.error?.message]).toEqual([
    2,
    '--save-plan: companies.csv cannot be written: it exists, and is not a plan',
  ]);
  expect(readFileSync(join(desk.folder, 'companies.csv'), 'utf8')).toBe(text);
  for (const path of ['.', '-']) expect([path, (await save(path)).code]).toEqual([path, 2]);
  desk.write('plan.json', '');
  expect([(await save('plan.json')).code, (await save('plan.json')).code]).toEqual([0, 0]);
});

test('a plan that cannot be written is refused before the input is read', async () => {
  desk.write('companies.csv', 'company_id,name\n"never closed,a\n');
  for (const [path, why] of [
    ['missing/plan.json', 'its folder does not exist'],
    ['companies.csv/plan.json', 'part of this path is a file, not a folder'],
  ] as const) {
    const result = await desk.run(['import', 'companies.csv', '--dry-run', '--save-plan', path]);
    expect([result.code, result.error?.message]).toEqual([
      2,
      `--save-plan: ${path} cannot be written: ${why}`,
    ]);
  }
});

test('another token of the same named account applies it', async () => {
  const config = (token: string): string => JSON.stringify({ accounts: { main: { token } } });
  desk.write('config.json', config('tok_of_the_planner'), 0o600);
  other.write('config.json', config('tok_of_the_applier'), 0o600);
  const named = ['--config', 'config.json', '--account', 'main', '--base-url', service.url];
  await planned({ 'companies.csv': plain(5) }, named);
  carry('companies.csv', 'plan.json');
  const applied = await other.run(['apply', 'plan.json', ...named]);
  expect(applied.code, applied.stderr).toBe(0);
  expect(planAt(desk).account).toBe('main');
});

describe('applied more than once', () => {
  test('the second time nothing is sent; --again repeats it', async () => {
    await planned({ 'companies.csv': plain(11) });
    const first = await desk.run(['apply', 'plan.json']);
    expect([first.code, first.summary!.rows.submitted]).toEqual([0, 11]);
    expect(first.summary!.run).toBe(planAt(desk).run);
    const seen = { ...service.seen };
    const second = await desk.run(['apply', 'plan.json']);
    expect([second.code, second.summary!.run]).toEqual([0, first.summary!.run]);
    expect(second.stderr).toContain('has applied this plan already; nothing was sent');
    expect(service.seen).toEqual(seen);
    const third = await desk.run(['apply', 'plan.json', '--again']);
    expect([third.code, third.summary!.rows.submitted]).toEqual([0, 11]);
    const sent = service.ledger.arrivals.map(({ sha256 }) => sha256);
    expect(sent.slice(3)).toEqual(sent.slice(0, 3));
  });

  test('the second time, the report is of the run that was recorded, and a warning names the outcomes', async () => {
    await planned({ 'companies.csv': plain(11) });
    expect((await desk.run(['apply', 'plan.json'])).code).toBe(0);
    const files = ['--report', 'report.html', '--outcomes', 'outcomes.csv'];
    const second = await desk.run(['apply', 'plan.json', ...files]);
    expect(second.code, second.stderr).toBe(0);
    expect(readFileSync(join(desk.folder, 'report.html'), 'utf8')).toContain(planAt(desk).run);
    expect(second.stderr).toContain('report: report.html\n');
    const warning = `${join(desk.folder, 'outcomes.csv')} was not written, since nothing was sent`;
    expect(second.summary!.warnings).toEqual([warning]);
    expect(second.stderr).toContain(`warning: ${warning}\n`);
    const input = await desk.run(['apply', 'plan.json', '--report', 'companies.csv']);
    expect([input.code, input.error?.message]).toEqual([2, expect.stringMatching(/exists, and is not a/)]);
  });

  test.each(['apply', 'resume'])(
    'one that stopped in the middle: %s sends the rest as it was planned',
    async (how) => {
      desk.write(file.path, file.text);
      await planned({ [file.path]: file.text });
      service.trouble = only(2, status(503));
      const first = await desk.run(['apply', 'plan.json', '-o', 'retries=0']);
      expect([first.code, first.summary!.rows.submitted]).toEqual([6, 3]);
      service.trouble = {};
      const rest = await desk.run(how === 'apply' ? ['apply', 'plan.json'] : ['resume', first.summary!.run!]);
      expect(rest.code, rest.stderr).toBe(0);
      expect(rest.summary!.run).toBe(first.summary!.run);
      const wanted = planAt(desk).requests.map(({ sha256 }) => sha256);
      const accepted = service.ledger.arrivals.filter((arrival) => arrival.accepted);
      expect(accepted.map(({ sha256 }) => sha256)).toEqual(wanted);
      await balance(rest.summary!, desk, service, file);
    },
  );

  test.each([
    ['later', 60_000],
    ['by a clock that was two hours ahead when the plan was made', -7_200_000],
  ])('ids that another import has sent since are left out: %s', async (_, passed) => {
    await planned({ 'companies.csv': plain(6) });
    desk.clock.pass(passed);
    desk.write('newer.csv', 'company_id,name\nc-4,newer\n');
    expect((await desk.run(['import', 'newer.csv'])).code).toBe(0);
    const applied = await desk.run(['apply', 'plan.json']);
    expect([applied.code, applied.summary!.rows]).toEqual([
      5,
      expect.objectContaining({ submitted: 5, unsent: 1 }),
    ]);
    expect(applied.summary!.warnings.join()).toMatch(/1 row not sent; sent later by/);
    expect(service.ledger.profiles.companies.get('c-4')).toEqual({ name: 'newer' });
  });

  test('so are those that identify has sent since, whatever the clock says', async () => {
    await planned({ 'users.csv': 'user_id,name\nu-1,old\nu-2,old\n' });
    desk.clock.pass(-7_200_000);
    expect((await desk.run(['identify', 'user', 'u-1', '--set', 'name=newer'])).code).toBe(0);
    expect((await desk.run(['apply', 'plan.json'])).summary!.rows).toMatchObject({ submitted: 1, unsent: 1 });
  });

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

  test('a plan that was made with another state goes by its time', async () => {
    await planned({ 'companies.csv': plain(6) });
    other.clock.pass(60_000);
    other.write('newer.csv', 'company_id,name\nc-4,newer\n');
    expect((await other.run(['import', 'newer.csv'])).code).toBe(0);
    carry('companies.csv', 'plan.json');
    const applied = await other.run(['apply', 'plan.json']);
    expect(applied.summary!.rows).toMatchObject({ submitted: 5, unsent: 1 });
  });
});

test('after a 413, halves of the planned requests are sent, and a resume keeps to them', async () => {
  const ids = Array.from({ length: 11 }, (_, i) => `c-${i}`);
  const each = {
    path: 'companies.csv',
    ids: new Map(ids.map((id, i) => [i + 2, id])),
    text: `company_id,n\n${ids.map((id) => `${id},1\n`).join('')}`,
  };
  await planned({ [each.path]: each.text });
  const large = (n: number): Strike | undefined =>
    n === 1 ? status(413) : n === 3 ? status(503) : undefined;
  service.trouble = { submit: large };
  const first = await desk.run(['apply', 'plan.json', '-o', 'retries=0']);
  expect(first.code).toBe(6);
  service.trouble = {};
  const rest = await desk.run(['apply', 'plan.json']);
  expect(rest.code, rest.stderr).toBe(0);
  await balance(rest.summary!, desk, service, each);
  const sizes = service.ledger.arrivals.filter(({ accepted }) => accepted).map((a) => a.ids.length);
  expect(sizes.every((size) => size <= 4)).toBe(true);
  expect([...service.ledger.timesAccepted.keys()].sort()).toEqual([...ids].sort());
});

test('a plan with rejected rows goes by its own bound, and writes the rejects file', async () => {
  const text = `${plain(5)},no id,1\n`;
  const made = await planned({ 'companies.csv': text });
  expect(made.code).toBe(5);
  const held = await desk.run(['apply', 'plan.json']);
  expect([held.code, held.summary!.status, service.seen.submit]).toEqual([5, 'rejected', 0]);
  await planned({ 'companies.csv': text }, ['--max-invalid', '1']);
  const applied = await desk.run(['apply', 'plan.json', '--rejects', 'bad.csv']);
  expect([applied.code, applied.summary!.rows.submitted]).toEqual([5, 5]);
  expect(readFileSync(join(desk.folder, 'bad.csv'), 'utf8')).toContain('no id');
});

describe('only what changed', () => {
  beforeEach(async () => {
    desk.write('companies.csv', plain(11));
    expect((await desk.run(['import', 'companies.csv'])).code).toBe(0);
    service.ledger.arrivals.length = 0;
    await planned({ 'companies.csv': plain(11).replace('Company\n7', 'New') }, ['--changed-only']);
  });

  test('sends the rows that have changed', async () => {
    const applied = await desk.run(['apply', 'plan.json']);
    expect([applied.code, applied.summary!.rows]).toEqual([
      0,
      expect.objectContaining({ unchanged: 10, submitted: 1 }),
    ]);
    expect(service.ledger.arrivals.map(({ ids }) => ids)).toEqual([['c-7']]);
  });

  test('is refused with another state, and once this one has moved', async () => {
    carry('companies.csv', 'plan.json');
    await refused(other, /compared with another state$/);
    desk.write('more.csv', 'company_id,name\nc-99,x\n');
    expect((await desk.run(['import', 'more.csv'])).code).toBe(0);
    await refused(desk, /^the plan is out of date: companies have been sent or completed since it was made$/);
  });
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
