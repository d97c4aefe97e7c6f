import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { StateError } from '../../../src/engine/errors.js';
import { MIGRATIONS } from '../../../src/engine/state/sqlite/migrations.js';
import { openState } from '../../support/state.js';
import { type Bundle, bundle } from './support/process.js';
import {
  acknowledged,
  aJob,
  aRequest,
  aRun,
  contentsOf,
  heldBy,
  printsOf,
  RUN,
  SCOPE,
  test,
} from './support/state.js';

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
    await state.startRun(aRun());
    await state.record(RUN, SCOPE, 'companies', aRequest(), null);
    await state.takeLock(SCOPE, 'companies');
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

  test('a database that others could read is made private when it is opened', async ({ folder, reopen }) => {
    await (await reopen()).close();
    chmodSync(join(folder, 'state.db'), 0o644);
    await reopen();
    expect(modeOf(join(folder, 'state.db'))).toBe('600');
    expect(modeOf(join(folder, 'state.db-wal'))).toBe('600');
  });

  test('a database that is a link elsewhere leaves the mode of its target alone', async ({
    folder,
    reopen,
  }) => {
    await (await reopen()).close();
    const target = `${folder}-shared.db`;
    renameSync(join(folder, 'state.db'), target);
    symlinkSync(target, join(folder, 'state.db'));
    chmodSync(target, 0o640);
    await (await reopen()).startRun(aRun());
    expect(modeOf(target)).toBe('640');
  });

  test('a folder that was there already keeps its mode: it may hold other things', async ({
    folder,
    reopen,
  }) => {
    mkdirSync(folder, { mode: 0o755 });
    await reopen();
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

  test('reopened, everything is as it was, the secret included', async ({ state, reopen }) => {
    await state.startRun(aRun());
    await state.close();
    const again = await reopen();
    expect((await again.knownRuns()).map(({ run }) => run)).toEqual([RUN]);
    expect(again.secret).toEqual(state.secret);
    expect(again.secret).toHaveLength(32);
  });

  test('closed, its log is folded in, so nothing is left beside it that grows', async ({ folder, state }) => {
    await state.startRun(aRun());
    for (let seq = 1; seq <= 20; seq++) await state.record(RUN, SCOPE, 'companies', aRequest({ seq }), null);
    expect(statSync(join(folder, 'state.db-wal')).size).toBeGreaterThan(50_000);
    await state.close();
    const log = join(folder, 'state.db-wal');
    expect(existsSync(log) ? statSync(log).size : 0).toBe(0);
  });

  test('another folder has another secret', ({ state, elsewhere }) => {
    expect(elsewhere.secret).not.toEqual(state.secret);
  });

  test('a database of the first version is brought up to date, with what it knows', async ({
    folder,
    reopen,
  }) => {
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
    const index = await (await reopen()).fingerprints(SCOPE, 'companies');
    expect(index.matches(prints, 0)).toBe(true);
    expect(heldBy(index)).toEqual(prints); // of what it was made was not known then
  });

  test('what was under way before the upgrade still counts', async ({ folder, reopen }) => {
    mkdirSync(folder, { recursive: true });
    const db = new DatabaseSync(join(folder, 'state.db'));
    for (const migration of MIGRATIONS.slice(0, 5)) db.exec(migration);
    const { account, region, base_url } = SCOPE;
    db.prepare('INSERT INTO scopes VALUES (1, ?, ?, ?)').run(account, region, base_url);
    const word = (n: bigint): Uint8Array => new Uint8Array(BigUint64Array.of(n).buffer);
    for (const [request, run, state, job] of [
      [1, 'monday', 'acknowledged', 'j-1'],
      [2, 'tuesday', 'unknown', null],
    ] as const) {
      db.exec(`INSERT INTO runs (run, scope, status, finished, options, started_at)
        VALUES ('${run}', 1, 'stopped', 0, '{}', '2026-01-0${request}')`);
      db.prepare(
        `INSERT INTO requests (request, run, seq, input, first_row, end_row, first_line, last_line, rows, merged,
           unchanged, bytes, digest, state, job_id) VALUES (?, ?, 1, 0, 0, 1, 2, 2, 1, 0, 0, 9, '', ?, ?)`,
      ).run(request, run, state, job);
      db.prepare(
        "INSERT INTO fingerprints (scope, kind, request, state, ids, contents) VALUES (1, 'companies', ?, 0, ?, ?)",
      ).run(request, word(BigInt(request)), word(9n));
    }
    db.exec(`INSERT INTO jobs VALUES (1, 'j-1', 1, 'monday', 'companies', 1, 'queued', '{"job_id":"j-1"}', '', '', NULL);
      PRAGMA user_version = 5`);
    db.close();
    const state = await openState(folder, Date.now);
    const open = await state.openJobs(SCOPE, 'companies', 'new');
    expect(open.jobs.holding(BigUint64Array.of(1n, 2n))).toEqual([{ job_id: 'j-1', run: 'monday' }]);
    const later = await state.sentLater('monday', SCOPE, 'companies');
    expect([later.ids.by(1n, 0), later.ids.by(2n, 0)]).toEqual([null, 'tuesday']);
    await state.startRun(aRun());
    await state.record(RUN, SCOPE, 'companies', acknowledged(aJob('j-2')), printsOf([1, 1], [2, 1], [3, 1]));
    await state.updateJob(SCOPE, aJob('j-2', { status: 'completed' }));
    expect(contentsOf(await state.fingerprints(SCOPE, 'companies'), [1, 2, 3], [1])).toEqual(
      new Map([[3, 1]]),
    );
    expect((await state.problems()).filter(({ check }) => check !== 'runs' && check !== 'requests')).toEqual(
      [],
    );
    await state.close();
    await reopen();
  });

  test('numbers that SQLite has given out are not given out again by the counter', async ({
    folder,
    reopen,
  }) => {
    mkdirSync(folder, { recursive: true });
    const db = new DatabaseSync(join(folder, 'state.db'));
    const before = MIGRATIONS.findIndex((step) => step.includes('CREATE TABLE counters'));
    for (const step of MIGRATIONS.slice(0, before)) db.exec(step);
    db.exec(`PRAGMA user_version = ${before}; UPDATE sqlite_sequence SET seq = 41 WHERE name = 'sends'`);
    db.close();
    const state = await reopen();
    expect(await state.startProfile(SCOPE, 'users', BigUint64Array.of(1n))).toBe(42);
    await state.forgetScope(SCOPE);
    expect(await state.startProfile(SCOPE, 'users', BigUint64Array.of(1n))).toBe(43);
  });

  test('a database of a newer version is refused and left alone', async ({ folder, reopen }) => {
    await (await reopen()).close();
    const file = join(folder, 'state.db');
    const db = new DatabaseSync(file);
    db.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
    db.close();
    const error = await refusal(reopen);
    expect(error.message).toBe(`${file} was written by a newer version of profiles`);
    expect(error.hint).toBe('upgrade profiles, or use another folder');
    const after = new DatabaseSync(file);
    expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: MIGRATIONS.length + 1 });
    after.close();
  });

  test('a file that is no database is named, and left alone', async ({ folder, reopen }) => {
    mkdirSync(folder);
    const file = join(folder, 'state.db');
    const text = 'not a database, though it is as long as the header of one would be'.repeat(20);
    writeFileSync(file, text);
    const error = await refusal(reopen);
    expect(error.message).toContain(`cannot open the state database in ${file}: file is not a database`);
    expect(error.problem).toEqual({ code: 'state_damaged' });
    expect(statSync(file).size).toBe(text.length);
  });

  test('it can be read while another program holds the write lock', async ({ folder, reopen }) => {
    const state = await reopen();
    await state.startRun(aRun());
    const { secret } = state;
    await state.close();
    const other = new DatabaseSync(join(folder, 'state.db'));
    other.exec('BEGIN IMMEDIATE');
    const again = await reopen();
    expect(again.secret).toEqual(secret);
    expect(await again.knownRuns()).toHaveLength(1);
    other.exec('COMMIT');
    other.close();
  });

  test('a database that was emptied is refused, and left alone', async ({ folder, reopen }) => {
    const state = await reopen();
    await (await state.takeLock(SCOPE, 'companies'))!.release();
    await state.close();
    const file = join(folder, 'state.db');
    for (const name of ['state.db-wal', 'state.db-shm']) rmSync(join(folder, name), { force: true });
    writeFileSync(file, '');
    const error = await refusal(reopen);
    expect(error.message).toBe(`${file} is empty (0 bytes), and imports have used it: its records are lost`);
    expect(error.problem).toEqual({ code: 'state_emptied', file });
    expect(statSync(file).size).toBe(0);
    rmSync(file); // begins again on purpose
    expect(await (await reopen()).knownRuns()).toEqual([]);
  });

  test('a database of 0 bytes in a folder without locks is new', async ({ folder, reopen }) => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'state.db'), '');
    expect(await (await reopen()).knownRuns()).toEqual([]);
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

describe('two runs over one identifier before the upgrade', () => {
  const word = (n: bigint): Uint8Array => new Uint8Array(BigUint64Array.of(n).buffer);

  /** The schema before sends had a table, with a run on Monday and one on Tuesday. */
  function olderState(folder: string): InstanceType<typeof DatabaseSync> {
    mkdirSync(folder, { recursive: true });
    const db = new DatabaseSync(join(folder, 'state.db'));
    for (const migration of MIGRATIONS.slice(0, 5)) db.exec(migration);
    const { account, region, base_url } = SCOPE;
    db.prepare('INSERT INTO scopes VALUES (1, ?, ?, ?)').run(account, region, base_url);
    for (const [n, run] of [
      [1, 'monday'],
      [2, 'tuesday'],
    ]) {
      db.exec(
        `INSERT INTO runs (run, scope, status, finished, options, started_at)
         VALUES ('${run}', 1, 'timed_out', 0, '{}', '2026-01-0${n}')`,
      );
    }
    db.exec('PRAGMA user_version = 5');
    return db;
  }

  function request(db: InstanceType<typeof DatabaseSync>, n: number, run: string, state: number): void {
    db.prepare(
      `INSERT INTO requests (request, run, seq, input, first_row, end_row, first_line, last_line, rows, merged,
         unchanged, bytes, digest, state, job_id) VALUES (?, ?, 1, 0, 0, 1, 2, 2, 1, 0, 0, 9, '', 'acknowledged', ?)`,
    ).run(n, run, `j-${n}`);
    db.prepare(
      "INSERT INTO fingerprints (scope, kind, request, state, ids, contents) VALUES (1, 'companies', ?, ?, ?, ?)",
    ).run(n, state, word(1n), word(BigInt(n + 8)));
  }

  test('both unfinished: neither is remembered, whichever ends last', async ({ folder, reopen }) => {
    const db = olderState(folder);
    for (const [n, run] of [
      [1, 'monday'],
      [2, 'tuesday'],
    ] as const) {
      request(db, n, run, 0);
      const at = '2026-01-01T00:00:00Z';
      db.exec(
        `INSERT INTO jobs VALUES (1, 'j-${n}', ${n}, '${run}', 'companies', 1, 'queued', '{"job_id":"j-${n}"}', '${at}', '${at}', NULL)`,
      );
    }
    db.close();
    const state = await reopen();
    for (const job of ['j-2', 'j-1']) await state.updateJob(SCOPE, aJob(job, { status: 'completed' }));
    const known = await state.fingerprints(SCOPE, 'companies');
    for (const content of [9n, 10n])
      expect(known.matches({ ids: BigUint64Array.of(1n), contents: BigUint64Array.of(content) }, 0)).toBe(
        false,
      );
  });

  test('the later one counts as later, though nothing of the earlier one is left', async ({
    folder,
    reopen,
  }) => {
    const db = olderState(folder);
    request(db, 2, 'tuesday', 1);
    db.close();
    const { ids } = await (await reopen()).sentLater('monday', SCOPE, 'companies');
    expect(ids.by(1n, 0)).toBe('tuesday');
  });
});
