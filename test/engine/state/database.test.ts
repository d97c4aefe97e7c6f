import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { StateError } from '../../../src/engine/errors.js';
import { MIGRATIONS, markOf } from '../../../src/engine/state/schema.js';
import { openDatabase } from '../../../src/engine/state/sqlite/database.js';
import { type Bundle, bundle } from './support/process.js';
import { aRequest, aRun, RUN, SCOPE, test } from './support/state.js';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** The error that opening fails with. */
async function refusal(open: () => Promise<unknown>): Promise<StateError> {
  try {
    await open();
  } catch (error) {
    if (error instanceof StateError) return error;
    throw error;
  }
  throw new Error('it opened');
}

describe.runIf(process.platform !== 'win32')('modes', () => {
  test('the folder is the owner’s alone, and so is every file in it', async ({ folder, state }) => {
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', aRequest());
    await state.locks.take(SCOPE, 'companies');
    expect(modeOf(folder)).toBe('700');
    expect(readdirSync(folder).sort()).toEqual(['locks', 'state.db', 'state.db-shm', 'state.db-wal']);
    for (const file of ['state.db', 'state.db-shm', 'state.db-wal'])
      expect([file, modeOf(join(folder, file))]).toEqual([file, '600']);
    expect(modeOf(join(folder, 'locks'))).toBe('700');
  });

  test('a spooled input’s folder is private too', ({ folder, state }) => {
    expect(modeOf(state.spools.folder(RUN))).toBe('700');
    expect(modeOf(join(folder, 'spool'))).toBe('700');
  });
});

describe('opening', () => {
  test('a fresh folder has the newest schema, write-ahead logging and pages that can be given back', ({
    disk,
  }) => {
    const pragma = (name: string): unknown => Object.values(disk.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    expect(pragma('user_version')).toBe(markOf(MIGRATIONS));
    expect(pragma('journal_mode')).toBe('wal');
    expect(pragma('auto_vacuum')).toBe(2);
  });

  test('reopened, everything is as it was, the secret included', async ({ state, reopen }) => {
    await state.runs.start(aRun());
    await state.close();
    const again = await reopen();
    expect((await again.runs.all()).map(({ run }) => run)).toEqual([RUN]);
    expect(again.secret).toEqual(state.secret);
    expect(again.secret).toHaveLength(32);
  });

  test('closed, its log is folded in, so nothing is left beside it that grows', async ({ folder, state }) => {
    await state.runs.start(aRun());
    for (let seq = 1; seq <= 20; seq++)
      await state.requests.record(RUN, SCOPE, 'companies', aRequest({ seq }));
    expect(statSync(join(folder, 'state.db-wal')).size).toBeGreaterThan(50_000);
    await state.close();
    const log = join(folder, 'state.db-wal');
    expect(existsSync(log) ? statSync(log).size : 0).toBe(0);
  });

  test('another folder has another secret', ({ state, elsewhere }) => {
    expect(elsewhere.secret).not.toEqual(state.secret);
  });

  test('a later schema is applied to a database of the first one, and keeps what it knows', async ({
    folder,
    reopen,
  }) => {
    const state = await reopen();
    await state.runs.start(aRun());
    await state.close();
    const second = `ALTER TABLE runs ADD COLUMN note TEXT; UPDATE runs SET note = 'of ' || run`;
    for (let times = 0; times < 2; times++) {
      const db = openDatabase(folder, [...MIGRATIONS, second]);
      expect(await db.read((on) => on.get('SELECT note FROM runs'))).toEqual({ note: `of ${RUN}` });
      expect(await db.read((on) => on.get('PRAGMA user_version'))).toEqual({
        user_version: markOf([...MIGRATIONS, second]),
      });
      await db.close();
    }
  });

  test.for([
    ['a later version', [...MIGRATIONS, 'CREATE TABLE later (a)']],
    ['a build with another schema', ['CREATE TABLE runs (run TEXT)']],
  ] as const)('a database of %s is refused and left alone', async ([, migrations], { folder, reopen }) => {
    await openDatabase(folder, migrations).close();
    const file = join(folder, 'state.db');
    const error = await refusal(reopen);
    expect(error.message).toBe(`${file} was written by another version of profiles`);
    expect(error.hint).toBe('use that version, or another folder');
    const after = new DatabaseSync(file);
    expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: markOf(migrations) });
    after.close();
  });

  test('a file that is no database is named, and left alone', async ({ folder, reopen }) => {
    mkdirSync(folder, { mode: 0o700 });
    const file = join(folder, 'state.db');
    const text = 'not a database, though it is as long as the header of one would be'.repeat(20);
    writeFileSync(file, text, { mode: 0o600 });
    const error = await refusal(reopen);
    expect(error.message).toContain(`cannot open the state database in ${file}: file is not a database`);
    expect(error.problem).toEqual({ code: 'state_damaged' });
    expect(statSync(file).size).toBe(text.length);
  });

  test('it can be read while another program holds the write lock', async ({ folder, reopen }) => {
    const state = await reopen();
    await state.runs.start(aRun());
    const { secret } = state;
    await state.close();
    const other = new DatabaseSync(join(folder, 'state.db'));
    other.exec('BEGIN IMMEDIATE');
    const again = await reopen();
    expect(again.secret).toEqual(secret);
    expect(await again.runs.all()).toHaveLength(1);
    other.exec('COMMIT');
    other.close();
  });

  test('a database that was emptied is refused, and left alone', async ({ folder, reopen }) => {
    const state = await reopen();
    await (await state.locks.take(SCOPE, 'companies'))!.release();
    await state.close();
    const file = join(folder, 'state.db');
    for (const name of ['state.db-wal', 'state.db-shm']) rmSync(join(folder, name), { force: true });
    writeFileSync(file, '', { mode: 0o600 });
    const error = await refusal(reopen);
    expect(error.message).toBe(`${file} is empty (0 bytes), and imports have used it: its records are lost`);
    expect(error.problem).toEqual({ code: 'state_emptied', file });
    expect(statSync(file).size).toBe(0);
    rmSync(file); // begins again on purpose
    expect(await (await reopen()).runs.all()).toEqual([]);
  });

  test('a database of 0 bytes in a folder without locks is new', async ({ folder, reopen }) => {
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, 'state.db'), '', { mode: 0o600 });
    expect(await (await reopen()).runs.all()).toEqual([]);
  });

  test('a folder that cannot be made is named', async ({ folder, reopen }) => {
    writeFileSync(folder, '');
    const error = await refusal(reopen);
    expect(error.message).toBe(`cannot keep state in ${folder}: part of this path is a file, not a folder`);
  });
});

describe('several processes', () => {
  let program: Bundle;
  beforeAll(async () => {
    program = await bundle();
  });
  afterAll(() => program.remove());

  test('that open a fresh folder at once agree on its secret', async ({ folder }) => {
    const children = Array.from({ length: 6 }, () => program.start('open', folder));
    const secrets = await Promise.all(children.map((child) => child.says()));
    expect(new Set(secrets).size).toBe(1);
    expect(await Promise.all(children.map((child) => child.end()))).toEqual([0, 0, 0, 0, 0, 0]);
  });
});
