/** A run that goes on on another machine: nothing of the first one is there but its state (contract §10 "Relay"). */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FaultServer } from '../support/fault-server.js';
import { onPostgres, stateUrl } from '../support/state.js';
import { zip } from '../support/zip.js';
import { fates, status } from './faults.js';
import { balance, elevenCompanies, Machine, type Outcome } from './support.js';

const file = elevenCompanies();
const SEND = ['import', file.path, '--chunk-size', '4', '-o', 'retries=0'];

let service: FaultServer;
let first: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  first = new Machine(service.url);
  first.write(file.path, file.text);
});
afterEach(() => service.stop());

/** Another machine, to which nothing but the database comes. */
function nextAfter(machine: Machine): Machine {
  const next = new Machine(service.url);
  if (onPostgres) {
    next.env.PROFILES_STATE = machine.env.PROFILES_STATE ?? stateUrl(join(machine.folder, '.state'));
    rmSync(machine.folder, { recursive: true });
    return next;
  }
  const [from, to] = [machine, next].map(({ folder }) => join(folder, '.state'));
  mkdirSync(to!, { mode: 0o700 });
  renameSync(join(from!, 'state.db'), join(to!, 'state.db'));
  rmSync(machine.folder, { recursive: true });
  return next;
}

/** An import of which the first request was acknowledged, and no other. */
async function begun(
  argv: readonly string[] = SEND,
  options: Parameters<Machine['run']>[1] = {},
): Promise<Outcome> {
  service.trouble = { submit: (nth) => (nth > 1 ? status(503) : undefined) };
  const outcome = await first.run([...argv], options);
  expect([outcome.code, outcome.summary?.rows.submitted], outcome.stderr).toEqual([6, 3]);
  service.trouble = {};
  return outcome;
}

async function isWhole(outcome: Outcome, machine: Machine): Promise<void> {
  expect([outcome.code, outcome.summary?.status], outcome.stderr).toEqual([0, 'completed']);
  await balance(outcome.summary!, machine, service, file);
  expect([...service.ledger.timesAccepted.values()]).toEqual(Array(11).fill(1));
}

describe('an input', () => {
  test('of the same path is found', async () => {
    await begun();
    const second = nextAfter(first);
    second.write(file.path, file.text);
    await isWhole(await second.run(['resume']), second);
  });

  test('under another path is named once, and remembered', async () => {
    const { summary } = await begun();
    const second = nextAfter(first);
    second.write('elsewhere.csv', file.text);
    const lost = await second.run(['resume']);
    expect([lost.code, lost.error]).toMatchObject([
      2,
      {
        message: expect.stringMatching(
          /^companies\.csv: not found here; run .* read it from .*companies\.csv$/,
        ),
        hint: 'name a file with the same content: add --input <new path of companies.csv>',
      },
    ]);
    const stop = service.seen.submit + 2;
    service.trouble = { submit: (nth) => (nth === stop ? status(503) : undefined) };
    const half = await second.run(['resume', '--input', 'elsewhere.csv']);
    expect([half.code, half.summary!.run, half.summary!.rows.submitted]).toEqual([6, summary!.run, 7]);
    expect(half.summary!.files[0]!.path).toBe(file.path);
    expect(half.summary!.resume).toBe(`profiles resume ${summary!.run} --base-url ${service.url}`);
    await isWhole(await second.run(['resume']), second);
    expect(readdirSync(join(second.folder, '.state', 'spool'))).toEqual([]);
  });

  test('of which the place was not recorded whole is named again', async () => {
    const { summary } = await begun();
    const second = nextAfter(first);
    second.write('elsewhere.csv', file.text);
    const stop = service.seen.submit + 2;
    service.trouble = { submit: (nth) => (nth === stop ? status(503) : undefined) };
    await second.run(['resume', '--input', 'elsewhere.csv']);
    truncateSync(join(second.folder, '.state', 'spool', summary!.run!, 'inputs.json'), 5);
    const lost = await second.run(['resume']);
    expect([lost.code, lost.error?.hint], lost.stderr).toEqual([2, expect.stringContaining('--input')]);
    await isWhole(await second.run(['resume', '--input', 'elsewhere.csv']), second);
  });

  test('that was named and is not the same is refused, and nothing is sent', async () => {
    await begun();
    const second = nextAfter(first);
    second.write('other.csv', file.text.replace('Company 10', 'Company XI'));
    const { submit } = service.seen;
    const refused = async (): Promise<void> => {
      const { code, error } = await second.run(['resume', '--input', 'other.csv']);
      expect([code, error?.message, error?.hint]).toEqual([
        2,
        expect.stringMatching(/^other\.csv: is not an input of run .*, or its content has changed$/),
        'name the file that the run read, or import this one',
      ]);
    };
    await refused();
    second.write(file.path, file.text);
    await refused();
    expect(service.seen.submit).toBe(submit);
    await isWhole(await second.run(['resume']), second);
  });

  test('of the same path and another content says how to name the right one', async () => {
    await begun();
    const second = nextAfter(first);
    second.write(file.path, file.text.replace('Company 10', 'Company XI'));
    const refused = await second.run(['resume']);
    expect([refused.code, refused.error?.message]).toEqual([2, expect.stringContaining('has changed since')]);
    expect(refused.error?.hint).toContain('--input <new path of companies.csv>');
    second.write('right.csv', file.text);
    await isWhole(await second.run(['resume', '--input', 'right.csv']), second);
  });

  test('of stdin is named as a file, or piped in again', async () => {
    const send = ['import', '-', '--kind', 'companies', ...SEND.slice(2)];
    await begun(send, { stdin: file.text });
    const second = nextAfter(first);
    const lost = await second.run(['resume']);
    expect([lost.code, lost.error?.message]).toEqual([
      2,
      expect.stringMatching(/^run .* read stdin, and there is no copy of it here$/),
    ]);
    expect(lost.error?.hint).toContain('--input');
    const stop = service.seen.submit + 2;
    service.trouble = { submit: (nth) => (nth === stop ? status(503) : undefined) };
    const half = await second.run(['resume', '--input', '-'], { stdin: file.text });
    expect([half.code, half.summary!.rows.submitted], half.stderr).toEqual([6, 7]);
    // The copy is on this machine now.
    await isWhole(await second.run(['resume']), second);
  });

  test('of an archive is unpacked again', async () => {
    const archive = zip([
      { name: 'a.csv', content: file.text },
      { name: 'b.txt', content: 'x' },
    ]);
    writeFileSync(join(first.folder, 'exports.zip'), archive);
    await begun(['import', 'exports.zip:a.csv', ...SEND.slice(2)]);
    const second = nextAfter(first);
    const lost = await second.run(['resume']);
    expect([lost.code, lost.error?.message]).toEqual([2, 'exports.zip:a.csv: not found here']);
    writeFileSync(join(second.folder, 'exports.zip'), archive);
    await isWhole(await second.run(['resume']), second);
  });

  test('of an address is fetched again', async () => {
    let asked = 0;
    const web = createServer((request, response) => {
      asked++;
      const signed = request.url!.includes('key=1') || asked > 2;
      response.writeHead(signed ? 200 : 403).end(signed ? file.text : '');
    });
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      web.close();
    });
    const address = `http://127.0.0.1:${(web.address() as AddressInfo).port}/companies.csv`;
    await begun(['import', `${address}?key=1`, ...SEND.slice(2)]);
    const second = nextAfter(first);
    // What it was signed with is nowhere.
    const lost = await second.run(['resume']);
    expect([lost.code, lost.error?.message]).toEqual([2, expect.stringContaining(`${address}: `)]);
    expect(lost.error?.hint).toContain('--input');
    const stop = service.seen.submit + 2;
    service.trouble = { submit: (nth) => (nth === stop ? status(503) : undefined) };
    const half = await second.run(['resume', '--input', `${address}?key=1`]);
    expect([half.code, half.summary!.rows.submitted], half.stderr).toEqual([6, 7]);
    const third = nextAfter(second);
    await isWhole(await third.run(['resume']), third);
    expect(asked).toBe(4);
  });
});

describe('values that are not kept in the state', () => {
  const VALUES = ['--set', 'tier=gold', '--set', 'source=crm', '--where', 'name!=Nobody'];

  test('must be given again, and be the same', async () => {
    await begun([...SEND, ...VALUES]);
    const second = nextAfter(first);
    second.write(file.path, file.text);
    const { submit } = service.seen;
    const lost = await second.run(['resume']);
    expect([lost.code, lost.error]).toMatchObject([
      2,
      {
        message: expect.stringMatching(/^run .* was given values that are not on this machine$/),
        hint: "add them: --set tier=… --set source=… --where 'name!='…",
      },
    ]);
    for (const wrong of [
      ['--set', 'tier=gold', '--set', 'source=web', '--where', 'name!=Nobody'],
      ['--set', 'tier=gold', '--where', 'name!=Nobody'],
      ['--set', 'tier=gold', '--set', 'source=crm', '--set', 'more=1', '--where', 'name!=Nobody'],
      ['--set', 'tier=gold', '--set', 'source=crm', '--where', 'name=Nobody'],
    ]) {
      const refused = await second.run(['resume', ...wrong]);
      expect([refused.code, refused.error?.message], wrong.join(' ')).toEqual([
        2,
        expect.stringContaining('did not begin with these values'),
      ]);
    }
    expect(service.seen.submit).toBe(submit);
    // In another order they are the same, and items have them in the order of the run.
    const stop = submit + 2;
    service.trouble = { submit: (nth) => (nth === stop ? status(503) : undefined) };
    const again = ['--where', 'name!=Nobody', '--set', 'source=crm', '--set', 'tier=gold'];
    const half = await second.run(['resume', ...again]);
    expect([half.code, half.summary!.rows.submitted], half.stderr).toEqual([6, 7]);
    const profiles = service.ledger.profiles.companies;
    expect(JSON.stringify(profiles.get('c-5'))).toBe('{"name":"Company 5","tier":"gold","source":"crm"}');
    expect(Object.keys(profiles.get('c-5')!)).toEqual(Object.keys(profiles.get('c-0')!));
    // This machine has them now.
    await isWhole(await second.run(['resume']), second);
  });

  test('must be given again where they were not written whole', async () => {
    const { summary } = await begun([...SEND, ...VALUES]);
    for (const name of ['set.json', 'where.json']) {
      truncateSync(join(first.folder, '.state', 'spool', summary!.run!, name), 5);
    }
    const lost = await first.run(['resume']);
    expect([lost.code, lost.error?.message], lost.stderr).toEqual([
      2,
      expect.stringMatching(/^run .* was given values that are not on this machine$/),
    ]);
    await isWhole(await first.run(['resume', ...VALUES]), first);
  });

  test('are not wanted for a run that has none', async () => {
    await begun();
    const second = nextAfter(first);
    second.write(file.path, file.text);
    const refused = await second.run(['resume', '--set', 'tier=gold']);
    expect([refused.code, refused.error?.message]).toEqual([
      2,
      expect.stringContaining('did not begin with these values'),
    ]);
    await isWhole(await second.run(['resume']), second);
  });

  test('are in a plan, so that apply needs nothing more', async () => {
    const plan = join(first.folder, 'plan.json');
    await first.run([...SEND, '--set', 'tier=gold', '--dry-run', '--save-plan', plan]);
    const saved = readFileSync(plan, 'utf8');
    await begun(['apply', 'plan.json', '-o', 'retries=0']);
    const second = nextAfter(first);
    second.write('plan.json', saved);
    second.write('moved.csv', file.text);
    await isWhole(await second.run(['apply', 'plan.json', '--input', 'moved.csv']), second);
    expect(service.ledger.profiles.companies.get('c-9')).toMatchObject({ tier: 'gold' });
  });

  test.skipIf(onPostgres)('are not in the database, nor do their digests tell them', async () => {
    await begun([...SEND, '--set', 'tier=a-secret-value', '--where', 'name!=another-secret']);
    const database = readFileSync(join(first.folder, '.state', 'state.db'), 'latin1');
    expect(database).not.toContain('a-secret-value');
    expect(database).not.toContain('another-secret');
  });
});

describe('a rejects file', () => {
  const rows = ['company_id,name', 'c-0,a', ',nobody', 'c-1,b', 'bad-1,c', 'bad-2,d', 'c-2,e', 'c-3,f', ''];
  const text = rows.join('\n');
  const argv = [...SEND, '--chunk-size', '2', '--skip-invalid', '--on-failure', 'continue'];

  /** Two requests go out: one is accepted, the other refused for its rows. */
  async function halfRejected(): Promise<void> {
    first.write(file.path, text);
    service.trouble = { submit: (nth) => (nth === 2 ? status(422) : nth > 2 ? status(503) : undefined) };
    const half = await first.run(argv);
    expect([half.code, half.summary!.rows], half.stderr).toMatchObject([
      6,
      { submitted: 2, rejected: 3, unknown: 2 },
    ]);
    service.trouble = {};
  }
  const rejectedIn = (path: string): string[] =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',').slice(0, 3).join(','));

  test('that is absent is written again whole', async () => {
    await halfRejected();
    const all = rejectedIn(join(first.folder, 'companies.rejects.csv'));
    expect(all).toEqual([',nobody,3', 'bad-1,c,5', 'bad-2,d,6']);
    const second = nextAfter(first);
    second.write(file.path, text);
    const last = await second.run(['resume']);
    expect([last.code, last.summary!.rows], last.stderr).toMatchObject([5, { submitted: 4, rejected: 3 }]);
    expect(last.summary!.files[0]!.rejects_file).toBe('companies.rejects.csv');
    const path = join(second.folder, 'companies.rejects.csv');
    expect(rejectedIn(path)).toEqual(all);
    expect(readFileSync(path, 'utf8')).toContain('422');
    // It can be fixed and imported as ever.
    writeFileSync(path, readFileSync(path, 'utf8').replace(',nobody,3', 'c-9,nobody,3'));
    const fixed = await second.run(['import', basename(path), '--skip-invalid']);
    expect(fixed.summary!.rows, fixed.stderr).toMatchObject({ read: 3, submitted: 3 });
  });

  test("of the same name that is another run's is left alone", async () => {
    await halfRejected();
    const other = readFileSync(join(first.folder, 'companies.rejects.csv'), 'utf8')
      .replace(/bad-[\s\S]*$/, '')
      .replace('nobody', 'somebody');
    const second = nextAfter(first);
    second.write(file.path, text);
    second.write('companies.rejects.csv', other);
    const last = await second.run(['resume']);
    expect(last.summary!.files[0]!.rejects_file).toBe('companies.rejects-2.csv');
    expect(readFileSync(join(second.folder, 'companies.rejects.csv'), 'utf8')).toBe(other);
    expect(rejectedIn(join(second.folder, 'companies.rejects-2.csv'))).toHaveLength(3);
  });

  test('that was copied along is continued', async () => {
    await halfRejected();
    const before = readFileSync(join(first.folder, 'companies.rejects.csv'), 'utf8');
    const second = nextAfter(first);
    second.write(file.path, text);
    second.write('companies.rejects.csv', before);
    const last = await second.run(['resume']);
    expect(last.summary!.files[0]!.rejects_file).toBe('companies.rejects.csv');
    expect(readFileSync(join(second.folder, 'companies.rejects.csv'), 'utf8')).toBe(before);
  });
});

test('three shifts, each ended by its time, deliver one file', async () => {
  const send = [...SEND, '--wait', '5h30m'];
  // The last job of each shift takes longer than it.
  let stuck = 1;
  service.trouble = { fate: (nth) => (nth === stuck ? fates.stuck : undefined) };
  let machine = first;
  let outcome = await machine.run(send);
  for (const submitted of [3, 7]) {
    expect([outcome.code, outcome.summary!.status, outcome.summary!.rows.submitted]).toEqual([
      3,
      'timed_out',
      submitted,
    ]);
    expect(machine.clock.monotonic()).toBeGreaterThanOrEqual(5.5 * 3_600_000);
    machine = nextAfter(machine);
    machine.write('again.csv', file.text);
    stuck++;
    outcome = await machine.run(['resume', '--input', 'again.csv', '--wait', '5h30m']);
  }
  expect([outcome.code, outcome.summary!.rows.submitted]).toEqual([3, 11]);
  stuck = 0;
  machine = nextAfter(machine);
  machine.write(file.path, file.text);
  await isWhole(await machine.run(['resume']), machine);
});

test('import --resume finds the run, and this machine can resume it from then on', async () => {
  const { summary } = await begun([...SEND, '--set', 'tier=gold']);
  const second = nextAfter(first);
  second.write('moved.csv', file.text);
  const stop = service.seen.submit + 2;
  service.trouble = { submit: (nth) => (nth === stop ? status(503) : undefined) };
  const half = await second.run(['import', 'moved.csv', ...SEND.slice(2), '--set', 'tier=gold', '--resume']);
  expect([half.code, half.summary!.run, half.summary!.rows.submitted], half.stderr).toEqual([
    6,
    summary!.run,
    7,
  ]);
  await isWhole(await second.run(['resume']), second);
});

test('what a machine keeps of a run that another one has finished or forgotten goes with its next import', async () => {
  const finished = await first.run([...SEND, '--chunk-size', '20']);
  service.trouble = { submit: (nth) => (nth > 1 ? status(422) : undefined) };
  const refused = await first.run([...SEND, '--on-failure', 'continue']);
  service.trouble = {};
  const spool = join(first.folder, '.state', 'spool');
  const [done, failed] = [finished.summary!.run!, refused.summary!.run!];
  for (const name of [done, failed, 'of-another-state', 'forgotten-long-ago']) {
    mkdirSync(join(spool, name), { recursive: true });
  }
  const longAgo = new Date(Date.now() - 31 * 24 * 3_600_000);
  utimesSync(join(spool, 'forgotten-long-ago'), longAgo, longAgo);
  first.write('more.csv', 'company_id\nmore\n');
  expect((await first.run(['import', 'more.csv'])).code).toBe(0);
  // `resume --failed` may want the rows of what was refused.
  expect(readdirSync(spool).sort()).toEqual([failed, 'of-another-state'].sort());
});
