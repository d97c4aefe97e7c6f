/** `state` and `doctor` with a state in PostgreSQL. */
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { PASSWORD } from '../support/postgres.js';
import { hasPostgres, server, type TestDatabase, testOn } from './support.js';

const test = testOn('directly');
const FILE = resolve(import.meta.dirname, '../../fixtures/companies.csv');

/** A command with its state in the test's schema. */
const machine = (db: TestDatabase, cwd = scratch()) => {
  const run = (...argv: string[]) => cli(argv, { cwd, env: { PROFILES_STATE: db.url() } });
  return { cwd, run, send: (...more: string[]) => run('import', FILE, '--region', 'sandbox', ...more) };
};
const name = (db: TestDatabase): string =>
  server.url(db.schema).replace(`:${encodeURIComponent(PASSWORD)}`, ':…');

/** As if somebody held the lock on companies, heard of so many seconds ago. */
const holdLock = (db: TestDatabase, seconds: number): string =>
  db.sql(`INSERT INTO leases (scope, kind, owner, epoch, holder, machine, lease_ms, beat_at, expires_at)
    SELECT scope, 'companies', 'x', 1, 'run r (c.csv)', 'build-7', 60000,
    now() - interval '${seconds} s', now() + interval '${60 - seconds} s' FROM scopes LIMIT 1
    ON CONFLICT (scope, kind) DO UPDATE SET owner = 'x', epoch = leases.epoch + 1, holder = excluded.holder,
      machine = excluded.machine, beat_at = excluded.beat_at, expires_at = excluded.expires_at`);

describe.runIf(hasPostgres)('commands', () => {
  test('an import, and what another machine knows of it', async ({ db }) => {
    expect((await machine(db).send()).code).toBe(0);
    const other = machine(db);
    expect((await other.run('runs')).stdout).toContain('completed');
    const again = await other.send('--changed-only', '--json');
    expect(JSON.parse(again.stdout).rows).toMatchObject({ read: 12, unchanged: 12, submitted: 0 });
    // The machine's own folder holds none of it.
    expect(existsSync(join(other.cwd, '.state', 'state.db'))).toBe(false);
  });

  test('state info says where it is, how large, how old, and who holds a lock', async ({ db }) => {
    const { run, send } = machine(db);
    await send();
    holdLock(db, 12);
    const info = JSON.parse((await run('state', 'info', '--json')).stdout);
    expect(info).toMatchObject({
      state: name(db),
      origin: 'environment PROFILES_STATE',
      runs: 1,
      unfinished_runs: 0,
      locks: [{ kind: 'companies', holder: 'run r (c.csv) on build-7', fresh: true }],
      known: [{ kind: 'companies', rows: 12 }],
    });
    expect(info.bytes).toBeGreaterThan(100_000);
    expect(info.locks[0].heartbeat_age).toBeGreaterThanOrEqual(12);
    const text = (await run('state', 'info')).stdout;
    expect(text).toMatch(/held by run r \(c\.csv\) on build-7, last heard of \S+ ago/);
    expect(text).not.toContain(encodeURIComponent(PASSWORD));
  });

  test('state check finds nothing, and what somebody broke', async ({ db }) => {
    const { run, send } = machine(db);
    await send();
    expect((await run('state', 'check')).stdout).toBe(`${name(db)}: no problems found\n`);
    db.sql(`UPDATE requests SET job_id = 'another'`);
    const broken = await run('state', 'check', '--json');
    expect(broken.code).toBe(1);
    expect(JSON.parse(broken.stdout).problems).toContainEqual({
      check: 'requests',
      message: expect.stringContaining('was accepted as job another, which is not recorded'),
    });
  });

  test('state backup writes the database of a state directory', async ({ db }) => {
    const { run, send, cwd } = machine(db);
    await send();
    expect((await run('state', 'backup', 'copy.db')).stdout).toMatch(/^copied postgres:.* to .*copy\.db \(/);
    expect((await run('state', 'backup', 'copy.db')).code).toBe(2);
    expect((await run('state', 'backup', 'none/copy.db')).code).toBe(1);
    const folder = join(cwd, 'restored');
    mkdirSync(folder, { mode: 0o700 });
    renameSync(join(cwd, 'copy.db'), join(folder, 'state.db'));
    const restored = (...argv: string[]) => cli(argv, { cwd, env: { PROFILES_STATE: `sqlite:${folder}` } });
    expect((await restored('state', 'check')).stdout).toContain('no problems found');
    const again = await restored('import', FILE, '--region', 'sandbox', '--changed-only', '--json');
    expect(JSON.parse(again.stdout).rows).toMatchObject({ unchanged: 12, submitted: 0 });
  });

  test('state unlock takes a lock whose owner is gone, and no other without being told', async ({ db }) => {
    const { run, send } = machine(db);
    await send();
    expect((await run('state', 'unlock')).stdout).toBe('no lock is held by a process that is gone\n');
    holdLock(db, 5);
    const refused = await run('state', 'unlock');
    expect([refused.code, refused.stderr]).toEqual([
      8,
      expect.stringMatching(/held by run r .* on build-7, last heard of/),
    ]);
    expect(refused.stderr).toContain('profiles state unlock --force');
    const unasked = await run('state', 'unlock', '--force');
    expect([unasked.code, unasked.stderr]).toEqual([
      2,
      expect.stringContaining('profiles state unlock --force --yes'),
    ]);
    expect((await send()).code).toBe(8);
    expect((await run('state', 'unlock', '--force', '--yes')).stdout).toMatch(
      /^released: companies of .* held by run r/,
    );
    expect((await send()).code).toBe(0);
    holdLock(db, 61);
    expect((await send()).code).toBe(8);
    expect((await run('state', 'unlock')).stdout).toMatch(/^released: /);
    expect((await send()).code).toBe(0);
  });

  test('doctor opens it', async ({ db }) => {
    const { stdout } = await machine(db).run('doctor', '--region', 'sandbox');
    expect(stdout).toMatch(
      /^ok {4}state {12}postgres:\/\/postgres:…@.* \(environment PROFILES_STATE\), .* free in /m,
    );
  });
});

test('with a folder, unlock only explains', async ({ db: _ }) => {
  const cwd = scratch();
  await cli(['import', FILE, '--region', 'sandbox'], { cwd });
  expect((await cli(['state', 'unlock'], { cwd })).stdout).toContain(
    'the operating system releases each when its process ends',
  );
});
