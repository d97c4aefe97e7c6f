/** `state` and `doctor` with a state in PostgreSQL, and the rights that an import needs there. */
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test as plainTest } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { PASSWORD, startPostgres, type TestPostgres } from '../support/postgres.js';
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

/** What docs/machines.md says to type as an administrator: an import needs no more than that. */
const page = readFileSync(resolve(import.meta.dirname, '../../docs/machines.md'), 'utf8');
const [forOwner, forLoader] = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql!);

describe.runIf(hasPostgres)('roles with the rights that the documentation lists', () => {
  let own: TestPostgres;
  beforeAll(async () => {
    own = await startPostgres();
    own.sql('CREATE DATABASE crm; REVOKE ALL ON DATABASE crm FROM PUBLIC');
    own.sql(forOwner!, 'crm');
  });
  afterAll(() => own?.remove());

  const as = (user: string, password: string) => {
    const url = own.url('profiles', { user, password }).replace('/postgres?', '/crm?');
    return (...argv: string[]) => cli(argv, { env: { PROFILES_STATE: url } });
  };
  const owner = () => as('profiles', 'a long random password');
  const loader = () => as('loader', 'another long random password');

  plainTest('one that owns its schema makes the tables, and imports', async () => {
    const sent = await owner()('import', FILE, '--region', 'sandbox');
    expect(sent.code, sent.stderr).toBe(0);
  });

  plainTest('one that may not create tables imports, resumes, checks, and unlocks', async () => {
    own.sql(forLoader!, 'crm');
    const again = await loader()('import', FILE, '--region', 'sandbox', '--changed-only', '--json');
    expect(again.code, again.stderr).toBe(0);
    expect(JSON.parse(again.stdout).rows).toMatchObject({ unchanged: 12 });
    const full = await loader()('import', FILE, '--region', 'sandbox', '--full');
    expect(full.code, full.stderr).toBe(0);
    for (const words of [['state', 'info'], ['state', 'check'], ['state', 'unlock'], ['runs']]) {
      const done = await loader()(...words);
      expect(done.code, done.stderr).toBe(0);
    }
    const run = JSON.parse((await loader()('runs', '--json')).stdout)[0].run;
    expect((await loader()('runs', '--forget', run)).code).toBe(0);
  });

  plainTest('but makes no state of its own', async () => {
    const url = own
      .url('another', { user: 'loader', password: 'another long random password' })
      .replace('/postgres?', '/crm?');
    const refused = await cli(['runs'], { env: { PROFILES_STATE: url } });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('grant loader the rights on schema another'),
    ]);
  });
});
