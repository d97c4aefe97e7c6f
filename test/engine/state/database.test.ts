import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { StateError } from '../../../src/engine/errors.js';
import { MIGRATIONS } from '../../../src/engine/state/schema.js';
import { type Bundle, bundle } from './support/process.js';
import { aRequest, aRun, heldBy, RUN, SCOPE, test } from './support/state.js';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** The error that opening fails with. */
function refusal(open: () => unknown): StateError {
  try {
    open();
  } catch (error) {
    if (error instanceof StateError) return error;
    throw error;
  }
  throw new Error('it opened');
}

describe.runIf(process.platform !== 'win32')('modes', () => {
  test('the folder is the owner’s alone, and so is every file in it', async ({ folder, state }) => {
    state.startRun(aRun());
    await state.record(RUN, SCOPE, 'companies', aRequest(), null);
    state.takeLock(SCOPE, 'companies');
    expect(modeOf(folder)).toBe('700');
    expect(readdirSync(folder).sort()).toEqual(['locks', 'state.db', 'state.db-shm', 'state.db-wal']);
    for (const file of ['state.db', 'state.db-shm', 'state.db-wal'])
      expect([file, modeOf(join(folder, file))]).toEqual([file, '600']);
    expect(modeOf(join(folder, 'locks'))).toBe('700');
  });

  test('a spooled input’s folder is private too', ({ folder, state }) => {
    expect(modeOf(state.spoolFolder(RUN))).toBe('700');
    expect(modeOf(join(folder, 'spool'))).toBe('700');
  });

  test('a database that others could read is made private when it is opened', ({ folder, reopen }) => {
    reopen().close();
    chmodSync(join(folder, 'state.db'), 0o644);
    reopen();
    expect(modeOf(join(folder, 'state.db'))).toBe('600');
    expect(modeOf(join(folder, 'state.db-wal'))).toBe('600');
  });

  test('a database that is a link elsewhere leaves the mode of its target alone', ({ folder, reopen }) => {
    reopen().close();
    const target = `${folder}-shared.db`;
    renameSync(join(folder, 'state.db'), target);
    symlinkSync(target, join(folder, 'state.db'));
    chmodSync(target, 0o640);
    reopen().startRun(aRun());
    expect(modeOf(target)).toBe('640');
  });

  test('a folder that was there already keeps its mode: it may hold other things', ({ folder, reopen }) => {
    mkdirSync(folder, { mode: 0o755 });
    reopen();
    expect(modeOf(folder)).toBe('755');
    expect(modeOf(join(folder, 'state.db'))).toBe('600');
  });
});

describe('opening', () => {
  test('a fresh folder has the newest schema, write-ahead logging and pages that can be given back', ({
    disk,
  }) => {
    const pragma = (name: string): unknown => Object.values(disk.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    expect(pragma('user_version')).toBe(MIGRATIONS.length);
    expect(pragma('journal_mode')).toBe('wal');
    expect(pragma('auto_vacuum')).toBe(2);
  });

  test('reopened, everything is as it was, the secret included', ({ state, reopen }) => {
    state.startRun(aRun());
    state.close();
    const again = reopen();
    expect(again.knownRuns().map(({ run }) => run)).toEqual([RUN]);
    expect(again.secret).toEqual(state.secret);
    expect(again.secret).toHaveLength(32);
  });

  test('closed, its log is folded in, so nothing is left beside it that grows', async ({ folder, state }) => {
    state.startRun(aRun());
    for (let seq = 1; seq <= 20; seq++) await state.record(RUN, SCOPE, 'companies', aRequest({ seq }), null);
    expect(statSync(join(folder, 'state.db-wal')).size).toBeGreaterThan(50_000);
    state.close();
    const log = join(folder, 'state.db-wal');
    expect(existsSync(log) ? statSync(log).size : 0).toBe(0);
  });

  test('another folder has another secret', ({ state, elsewhere }) => {
    expect(elsewhere.secret).not.toEqual(state.secret);
  });

  test('a database of the first version is brought up to date, with what it knows', ({ folder, reopen }) => {
    mkdirSync(folder, { recursive: true });
    const db = new DatabaseSync(join(folder, 'state.db'));
    db.exec(MIGRATIONS[0]!);
    const { account, region, base_url } = SCOPE;
    db.prepare('INSERT INTO scopes VALUES (1, ?, ?, ?)').run(account, region, base_url);
    const prints = {
      ids: BigUint64Array.of(7n),
      contents: BigUint64Array.of(9n),
      records: BigUint64Array.of(0n),
    };
    db.prepare(
      'INSERT INTO fingerprints (scope, kind, request, completed, ids, contents) VALUES (1, ?, NULL, 1, ?, ?)',
    ).run('companies', new Uint8Array(prints.ids.buffer), new Uint8Array(prints.contents.buffer));
    db.exec('PRAGMA user_version = 1');
    db.close();
    const index = reopen().fingerprints(SCOPE, 'companies');
    expect(index.matches(prints, 0)).toBe(true);
    expect(heldBy(index)).toEqual(prints); // of what it was made was not known then
  });

  test('a database of a newer version is refused and left alone', ({ folder, reopen }) => {
    reopen().close();
    const file = join(folder, 'state.db');
    const db = new DatabaseSync(file);
    db.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
    db.close();
    const error = refusal(reopen);
    expect(error.message).toBe(`${file} was written by a newer version of profiles`);
    expect(error.hint).toBe('upgrade profiles, or choose another folder with --state-dir');
    const after = new DatabaseSync(file);
    expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: MIGRATIONS.length + 1 });
    after.close();
  });

  test('a file that is no database is named, and left alone', ({ folder, reopen }) => {
    mkdirSync(folder);
    const file = join(folder, 'state.db');
    const text = 'not a database, though it is as long as the header of one would be'.repeat(20);
    writeFileSync(file, text);
    const error = refusal(reopen);
    expect(error.message).toContain(`cannot open the state database in ${file}: file is not a database`);
    expect(error.hint).toContain('--state-dir');
    expect(statSync(file).size).toBe(text.length);
  });

  test('a folder that cannot be made is named', ({ folder, reopen }) => {
    writeFileSync(folder, '');
    const error = refusal(reopen);
    expect(error.message).toContain(`cannot keep state in ${folder}`);
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
