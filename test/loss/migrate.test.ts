/** A state that moves: what it knows goes with it, and the old one is not imported with any more (contract §10). */
import { mkdirSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import { beforeEach, describe, expect, test } from 'vitest';
import { allScopes } from '../../src/engine/state/access.js';
import type { Backend } from '../../src/engine/state/backend.js';
import { COPIED, migrateState } from '../../src/engine/state/copy.js';
import { openSqlite } from '../../src/engine/state/sqlite/backend.js';
import { onPostgres } from '../support/state.js';
import { workspace } from '../support/workspace.js';
import { contentOf as contentIn, fill } from './support.js';

beforeEach(({ skip }) => {
  skip(onPostgres, 'from one folder to another; with PostgreSQL: test/postgres/migrate.test.ts');
});
const { service, machine, run } = workspace();

const never = new AbortController().signal;
const inFolder = (name: string): string => machine.path(name);
/** The environment in which a folder has the state. */
const at = (folder: string) => ({ env: { PROFILES_STATE_DIR: inFolder(folder) } });

/** Opens a state as `state migrate` does. */
function side(folder: string): Backend {
  mkdirSync(inFolder(folder), { recursive: true, mode: 0o700 });
  return openSqlite(inFolder(folder));
}

async function migrate(
  from: string,
  to: string,
  { progress, signal = never }: { progress?: (rows: number) => void; signal?: AbortSignal } = {},
): Promise<Record<string, number>> {
  const [source, target] = [side(from), side(to)];
  try {
    return await migrateState(source, target, signal, progress);
  } finally {
    await source.db.close();
    await target.db.close();
  }
}

const contentOf = (folder: string) => contentIn(openSqlite(inFolder(folder)));
const withHistory = () => fill(machine, service);

test('every table of the state is copied', async () => {
  await withHistory();
  const db = new DatabaseSync(inFolder('.state/state.db'), { readOnly: true });
  const tables = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('leases', 'writers')")
    .all() as { name: string }[];
  db.close();
  expect(tables.map(({ name }) => name).sort()).toEqual([...COPIED].sort());
  for (const [table, rows] of Object.entries(await contentOf('.state'))) expect(rows, table).not.toEqual([]);
});

test('there and back it is the same, and imports know what they knew', async () => {
  await withHistory();
  const before = await contentOf('.state');
  const counts = await migrate('.state', 'new');
  expect(counts).toMatchObject({ runs: before.runs!.length, fingerprints: before.fingerprints!.length });
  expect(await contentOf('new')).toEqual(before);
  await migrate('new', 'back');
  expect(await contentOf('back')).toEqual(before);

  const there = at('back');
  const changed = await run('import companies.csv --skip-invalid --changed-only', there);
  expect(changed.summary!.rows, changed.stderr).toMatchObject({ read: 13, unchanged: 12, submitted: 0 });
  const env = { ...there.env, PROFILES_ACCOUNT: 'production' };
  const again = await run('import users.csv --changed-only --config config.json', { env });
  expect(again.summary!.rows, again.stderr).toMatchObject({ read: 2, unchanged: 2, submitted: 0 });
  expect((await run('state check', there)).code).toBe(0);
  // New numbers follow those that were copied.
  const more = await run('import companies.csv --skip-invalid', there);
  expect([more.code, more.summary!.rows.submitted], more.stderr).toEqual([5, 12]);
});

test('the old one is refused by name, and sends nothing', async () => {
  await withHistory();
  await migrate('.state', 'new');
  const { submit } = service.seen;
  const id = (await machine.runs())[0]!.run;
  const moved = `sqlite:${inFolder('new')}`;
  for (const line of [
    'import companies.csv --skip-invalid',
    'import companies.csv --dry-run',
    'resume',
    'resume --failed',
    'identify user u-3 --set name=D',
    'jobs --refresh',
    `runs --forget ${id}`,
  ]) {
    const { code, error } = await run(line);
    expect([code, error?.message], line).toEqual([2, `this state has moved to ${moved}`]);
    expect(error!.hint).toContain(`--state ${moved}`);
  }
  expect(service.seen.submit).toBe(submit);
  expect((await contentOf('.state')).runs).toEqual((await contentOf('new')).runs);
  const said = `warning: this state has moved to ${moved}; import with --state ${moved}, or set it for good: profiles config set state ${moved}\n`;
  for (const line of ['runs', `runs ${id}`, 'jobs', 'history user u-3']) {
    const { code, stderr } = await run(line);
    expect([code, stderr], line).toEqual([0, said]);
  }
  const job = await run('job job-1');
  expect([job.code, job.stderr]).toEqual([0, expect.stringContaining('warning: this state has moved to')]);
  await expect(migrate('.state', 'other')).rejects.toThrow(`has moved to ${moved} already`);
  expect(await machine.show('state info')).toMatchObject({ moved_to: moved });
  const doctor = await machine.show<{ checks: { check: string }[] }>('doctor --region sandbox');
  expect(doctor.checks.find(({ check }) => check === 'state')).toMatchObject({
    status: 'fail',
    message: `this state has moved to ${moved}`,
    hint: expect.stringContaining(`--state ${moved}`),
  });
});

test.each(['resume', 'resume --failed'])('so is one that has nothing to resume: %s', async (line) => {
  machine.write('companies.csv', 'company_id,name\nc-1,A\n');
  expect((await run('import companies.csv')).code).toBe(0);
  await migrate('.state', 'new');
  const { code, error } = await run(line);
  expect([code, error?.message]).toEqual([2, `this state has moved to sqlite:${inFolder('new')}`]);
});

describe('a copy that was interrupted', () => {
  test('after any batch begins again', async () => {
    await withHistory();
    let isDone = false;
    for (let batches = 1; !isDone; batches++) {
      const before = await contentOf('.state');
      const stop = new AbortController();
      let left = batches;
      const progress = (): void => {
        if (--left === 0) stop.abort(new Error('killed'));
      };
      const copying = migrate('.state', 'new', { progress, signal: stop.signal });
      isDone = batches > COPIED.length;
      if (isDone) await copying;
      else await expect(copying, `${batches} batches`).rejects.toThrow('killed');
      expect(await contentOf(isDone ? 'new' : '.state')).toEqual(before);
      if (isDone) break;
      // Half a state is none.
      const early = await run('import companies.csv', at('new'));
      expect([early.code, early.error?.message]).toEqual([2, 'another state is being copied into this one']);
      await expect(migrate('new', 'other')).rejects.toThrow('another state is being copied into this one');
      // What was copied differs from now on, and there is more.
      await run('jobs --refresh');
      machine.write('again.csv', `company_id,name\nc-1,changed ${batches}\n`);
      expect((await run('import again.csv')).code).toBe(0);
    }
  });

  test('after its last step but one, it is finished', async () => {
    await withHistory();
    const before = await contentOf('.state');
    await migrate('.state', 'new');
    const db = new DatabaseSync(inFolder('new/state.db'));
    db.exec("INSERT INTO meta VALUES ('copy_of', 'sqlite:.state')");
    db.close();
    await migrate('.state', 'new');
    expect(await contentOf('new')).toEqual(before);
    const last = await run('import companies.csv --skip-invalid', at('new'));
    expect(last.code, last.stderr).toBe(5);
  });
});

test('nothing can be written to the old one while it is copied', async () => {
  await withHistory();
  const other = new DatabaseSync(inFolder('.state/state.db'), { timeout: 0 });
  const refused: unknown[] = [];
  const progress = (): void => {
    try {
      other.exec('UPDATE runs SET summary = NULL');
    } catch (error) {
      refused.push((error as Error).message);
    }
  };
  await migrate('.state', 'new', { progress });
  other.close();
  expect(refused.length).toBeGreaterThanOrEqual(COPIED.length);
  expect(new Set(refused)).toEqual(new Set(['database is locked']));
  expect(await contentOf('new')).toEqual(await contentOf('.state'));
});

test('while an import runs it is refused, exit 8', async () => {
  await withHistory();
  const importing = side('.state');
  const [scope] = await importing.db.read(allScopes);
  const lock = await importing.locks.take(scope!, 'users', 'run x (users.csv)');
  await expect(migrate('.state', 'new')).rejects.toMatchObject({
    exit: 8,
    message: 'an import of users with this state is running: run x (users.csv)',
  });
  await lock!.release();
  await importing.db.close();
  await migrate('.state', 'new');
});

test('a target that holds something, or another copy, is left alone', async () => {
  await withHistory();
  machine.env.PROFILES_STATE_DIR = inFolder('other');
  machine.write('a.csv', 'company_id,name\na,b\n');
  expect((await run('import a.csv')).code).toBe(0);
  const before = await contentOf('other');
  await expect(migrate('.state', 'other')).rejects.toThrow(/is not empty$/);
  expect(await contentOf('other')).toEqual(before);
  const stop = new AbortController();
  const half = migrate('.state', 'new', {
    progress: () => stop.abort(new Error('killed')),
    signal: stop.signal,
  });
  await expect(half).rejects.toThrow('killed');
  await expect(migrate('other', 'new')).rejects.toThrow(/another state is being copied to/);
  await migrate('.state', 'new');
});

test('an empty state has nothing to migrate', async () => {
  await expect(migrate('.state', 'new')).rejects.toMatchObject({
    exit: 2,
    message: expect.stringContaining('empty'),
  });
});
