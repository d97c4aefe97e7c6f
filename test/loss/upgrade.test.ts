/** State that version 0.1.0 wrote, and what a run keeps so that a later version sends the same (contract §4). */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../src/engine/clock.js';
import { identityOf } from '../../src/engine/run/run.js';
import { openState } from '../../src/engine/state/state.js';
import { cli, scratch } from '../support/cli.js';
import { FaultServer, type Strike } from '../support/fault-server.js';
import { balance, type Companies, fastClock, Machine } from './support.js';

const FIXTURES = resolve(import.meta.dirname, '../../fixtures/state');
const UNFINISHED = '20261122-011542-xxwn';

describe('a database of version 0.1.0 (fixtures/state)', () => {
  let cwd: string;
  /** Of all commands of a test: what one has waited for has happened for the next. */
  let clock: Clock;
  const database = (): string => join(cwd, '.state', 'state.db');

  beforeEach(() => {
    cwd = scratch();
    clock = fastClock(100);
    mkdirSync(join(cwd, '.state'), { mode: 0o700 });
    copyFileSync(join(FIXTURES, '0.1.0.db'), database());
    for (const name of ['companies.csv', 'users.csv']) copyFileSync(join(FIXTURES, name), join(cwd, name));
    // The files lie elsewhere here than where the runs found them.
    const db = new DatabaseSync(database());
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: 3 });
    db.prepare("UPDATE inputs SET location = replace(location, '/srv/export', ?)").run(cwd);
    db.close();
  });

  const run = async (argv: string[]) => {
    const flags = ['--region', 'sandbox', '--json'];
    const { code, stdout, stderr } = await cli([...argv, ...flags], { cwd, clock });
    return { code, stderr, json: JSON.parse(stdout) };
  };

  test('its unfinished run is resumed: the lost request is named, the completed one is not repeated', async () => {
    const { code, stderr, json } = await run(['resume']);
    expect(code, stderr).toBe(0);
    expect(json).toMatchObject({
      run: UNFINISHED,
      status: 'completed',
      rows: { read: 8, submitted: 8, completed: 8 },
      requests: 3,
      maybe_sent_twice: [{ file: 'users.csv', first_line: 5, last_line: 7, rows: 3 }],
      resume: null,
    });
    // What goes out is what 0.1.0 would have sent: its digest stands in the database.
    const held = await run(['sandbox', 'show', 'user', 'u-004']);
    expect(held.json).toEqual({
      user_id: 'u-004',
      company_id: 'acme-003',
      metadata: { name: 'Dan', logins: 25, plan_code: '007' },
    });
    expect((await cli(['sandbox', 'show', 'user', 'u-001', '--region', 'sandbox'], { cwd })).code).toBe(2);
    expect((await run(['state', 'check'])).json).toMatchObject({ ok: true });
  });

  test('what it knows as completed is not sent again, and has an age', async () => {
    const again = await run(['import', 'companies.csv', '--changed-only']);
    expect([again.code, again.json.rows], again.stderr).toMatchObject([
      0,
      { read: 6, unchanged: 6, submitted: 0 },
    ]);
    const info = await run(['state', 'info']);
    expect(info.json).toMatchObject({ runs: 3, unfinished_runs: 1, jobs: 4 });
    expect(info.json.known).toMatchObject([
      {
        kind: 'companies',
        profiles: 6,
        // No earlier than when the requests were accepted.
        oldest_completed_at: '2026-11-22T01:15:09.813Z',
        newest_completed_at: '2026-11-22T01:15:10.285Z',
      },
      { kind: 'users', profiles: 3 },
    ]);
    expect((await run(['jobs'])).json).toHaveLength(4);
    expect((await run(['runs', UNFINISHED])).json).toMatchObject({
      requests: [
        { seq: 1, state: 'settled' },
        { seq: 2, state: 'intent' },
      ],
    });
  });

  test('of a batch that nothing dates, the age is not known: --refresh-after sends its rows', async () => {
    const db = new DatabaseSync(database());
    db.exec("UPDATE fingerprints SET request = NULL WHERE kind = 'companies' AND request = 1");
    db.close();
    const flags = ['--changed-only', '--refresh-after', '1000000h'];
    const { json } = await run(['import', 'companies.csv', ...flags]);
    expect(json.rows).toMatchObject({ unchanged: 3, submitted: 3 });
  });
});

describe('a run of this version', () => {
  const rows = Array.from({ length: 6 }, (_, i) => [`c-${i}`, String(i)]);
  const file: Companies = {
    path: 'companies.csv',
    ids: new Map(rows.map(([id], i) => [i + 2, id!])),
    text: `company_id,code\n${rows.map((row) => `${row.join(',')}\n`).join('')}`,
  };
  const SEND = ['import', file.path, '--chunk-size', '2', '--retries', '0'];
  const lost: Strike = async (exchange) => {
    await exchange.accept();
    exchange.socket.destroy();
  };

  let service: FaultServer;
  let machine: Machine;
  beforeEach(async () => {
    service = await new FaultServer().start();
    machine = new Machine(service.url);
    machine.write(file.path, file.text);
    // The answer to the second request is lost.
    service.trouble = { submit: (nth) => (nth === 2 ? lost : undefined) };
  });
  afterEach(() => service.stop());

  const change = (sql: string): void => {
    const db = new DatabaseSync(join(machine.folder, '.state', 'state.db'));
    db.exec(sql);
    db.close();
  };
  test('import --resume continues one with an identifier as a key, which a new one is refused', async () => {
    service.trouble = { submit: (nth) => (nth === 1 ? (exchange) => exchange.reply(401, '{}') : undefined) };
    const { code } = await machine.run([...SEND, '--map', 'code=xy']);
    expect(code).toBe(4);
    const state = await openState(join(machine.folder, '.state'), () => 0);
    const [run] = await state.knownRuns({ finished: false });
    await state.close();
    const old = JSON.parse(JSON.stringify(run!.options).replaceAll('"xy"', '"company_id"'));
    const identity = identityOf(run!.scope, run!.inputs, old);
    change(`UPDATE runs SET identity = '${identity}', options = replace(options, '"xy"', '"company_id"')`);
    const again = await machine.run([...SEND, '--map', 'code=company_id', '--resume']);
    expect([again.code, again.summary?.run], again.stderr).toEqual([0, run!.run]);
    expect(service.ledger.profiles.companies.get('c-3')).toEqual({ company_id: 3 });
    const fresh = await machine.run([...SEND, '--map', 'code=company_id', '--resume']);
    expect(fresh).toMatchObject({
      code: 2,
      error: { message: expect.stringContaining('is the identifier') },
    });
  });

  const codes = (): unknown[] =>
    [...service.ledger.profiles.companies.values()].map((profile) => (profile as { code: unknown }).code);

  test('records its column types and the version of its rules', async () => {
    await machine.run(SEND);
    const state = await openState(join(machine.folder, '.state'), Date.now);
    const [run] = await state.knownRuns();
    await state.close();
    expect(run).toMatchObject({ item_format: 2, inputs: [{ types: ['string', 'integer'] }] });
  });

  test('is resumed with the types that it began with, whatever would be inferred now', async () => {
    service.trouble = { submit: () => (exchange) => exchange.reply(422, '{}') };
    expect((await machine.run(SEND)).code).toBe(6);
    expect(codes()).toEqual([]);
    change(`UPDATE inputs SET types = '["string","string"]'`);
    service.trouble = {};
    const last = await machine.run(['resume']);
    expect(last.code, last.stderr).toBe(0);
    expect(codes()).toEqual(['0', '1', '2', '3', '4', '5']);
  });

  test('and an import that would continue it with other types says how to continue it', async () => {
    await machine.run(SEND);
    change(`UPDATE inputs SET types = '["string","string"]'`);
    const { submit } = service.seen;
    const { code, error } = await machine.run([...SEND, '--resume']);
    expect([code, error!.code]).toEqual([2, 'usage']);
    expect(error!.message).toMatch(/^run \S+ of the same content started with different column types$/);
    expect(error!.hint).toMatch(/^continue with: profiles resume \S+ --base-url \S+$/);
    expect(service.seen.submit).toBe(submit);
  });

  test.each([
    ['the whole', SEND],
    ['only what changed', [...SEND, '--changed-only']],
  ])('repeats %s request byte for byte, else nothing is sent: exit 2', async (_, argv) => {
    const first = await machine.run(argv);
    expect(first.summary!.rows, first.stderr).toMatchObject({ submitted: 2, unsent: 4 });
    service.trouble = {};
    // As if the version that sent it had made other items of these rows.
    change(`UPDATE requests SET digest = '${'0'.repeat(64)}' WHERE seq = 2`);
    const { submit } = service.seen;
    const { code, error, summary } = await machine.run(['resume']);
    expect([code, error!.code]).toEqual([2, 'input']);
    expect(error!.message).toBe(
      'companies.csv, lines 4 to 5: the content differs from what was sent the first time, so it was not sent again',
    );
    expect(summary!.rows).toMatchObject({ submitted: 2, unsent: 4 });
    expect(service.seen.submit).toBe(submit);
  });

  test('goes on where the body is the same, and names it', async () => {
    await machine.run(SEND);
    service.trouble = {};
    const last = await machine.run(['resume']);
    expect([last.code, last.summary!.maybe_sent_twice.length], last.stderr).toEqual([0, 1]);
    await balance(last.summary!, machine, service, file);
  });

  test('of an earlier version is resumed by its rules, and not continued by an import', async () => {
    await machine.run(SEND);
    service.trouble = {};
    change('UPDATE runs SET item_format = 1');
    const { code, error } = await machine.run([...SEND, '--resume']);
    expect([code, error!.hint]).toEqual([
      2,
      expect.stringMatching(/^continue with: profiles resume \S+ --base-url \S+$/),
    ]);
    expect(error!.message).toMatch(
      /^run \S+ of the same content was started by an earlier version of profiles$/,
    );
    expect((await machine.run(['resume'])).code).toBe(0);
  });

  test('of other rules than this version has is not resumed: exit 2', async () => {
    await machine.run(SEND);
    change('UPDATE runs SET item_format = 99');
    const { submit } = service.seen;
    for (const argv of [['resume'], [...SEND, '--resume']]) {
      const { code, error } = await machine.run(argv);
      expect([code, error!.code], argv.join(' ')).toEqual([2, 'usage']);
      expect(error!.message).toContain('was planned by another version of profiles');
    }
    expect(service.seen.submit).toBe(submit);
  });
});
