/** The data: who may read it, what a restart, a reset, another process and a clock that is set back leave of it. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect } from 'vitest';
import { StateError } from '../../src/engine/errors.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.js';
import { openSandboxData } from '../../src/sandbox/world.js';
import { scratch as folder } from '../support/cli.js';
import { COMPANY, get, post, timed as test, USERS } from './http.js';

const submit = async (sandbox: Sandbox, ...users: object[]) =>
  (await post(sandbox, USERS, { users })).json() as { job_id: string; links: string };
const user = (metadata: object, user_id = 'u') => ({ user_id, metadata });
const held = (sandbox: Sandbox, id = 'u') => sandbox.show('users', id)?.metadata;

test('is private, and exists after a restart, with continued ids', async ({ clock, start }) => {
  const dataDir = join(folder(), 'made');
  const before = await start({ dataDir, clock });
  const { job_id } = await submit(before, user({ a: 1 }));
  await before.stop();
  clock.advance(300);
  const after = await start({ dataDir, clock });
  expect(held(after)).toEqual({ a: 1 });
  expect((await submit(after, user({}, 'v'))).job_id).toBe(job_id.replace(/-1$/, '-2'));
  const mode = (path: string): number => statSync(path).mode & 0o777;
  expect(mode(dataDir)).toBe(0o700);
  for (const file of ['sandbox.db', 'sandbox.db-wal', 'sandbox.db-shm'])
    expect(mode(join(dataDir, file))).toBe(0o600);
});

test('is erased by a reset, from the file too; ids are not given twice', async ({ clock, start }) => {
  const dataDir = folder();
  const sandbox = await start({ dataDir, clock });
  const { links } = await submit(sandbox, user({ note: 'remember-me' }), user({}, 'v'));
  await post(sandbox, USERS, { users: [user({})] }, { to: sandbox.euUrl! });
  await post(sandbox, COMPANY, { company_id: 'c' });
  const data = openSandboxData(dataDir, clock)!;
  expect(data.reset()).toEqual({ companies: 1, users: 3, jobs: 2 });
  clock.advance(300);
  expect([held(sandbox), sandbox.count('companies'), (await get(sandbox, links)).status]).toEqual([
    undefined,
    0,
    404,
  ]);
  expect(data.reset()).toEqual({ companies: 0, users: 0, jobs: 0 });
  data.close();
  expect((await submit(sandbox, user({}))).job_id).toMatch(/-4$/);
  for (const file of ['sandbox.db', 'sandbox.db-wal'])
    expect(readFileSync(join(dataDir, file)).includes('remember-me')).toBe(false);
});

test('what another process wrote and erased is in the list, and what is pending is known', async ({
  clock,
  start,
}) => {
  const dataDir = folder();
  const [here, there] = [await start({ dataDir, clock }), await start({ dataDir, clock })];
  const ids = async () => (await here.list('users')).rows.map(({ id }) => id);
  const { links } = await submit(there, user({}, 'a'), user({}, 'b'));
  expect((await get(here, links.replace(there.url, here.url))).json()).toMatchObject({ total_rows: 2 });
  const data = openSandboxData(dataDir, clock)!;
  expect([await ids(), data.pending('users', 'a', 'default')]).toEqual([[], true]);
  clock.advance(300);
  expect([await ids(), data.pending('users', 'a', 'default')]).toEqual([['a', 'b'], false]);
  there.reset();
  expect(await ids()).toEqual([]);
  await submit(there, user({}, 'c'));
  clock.advance(300);
  expect([await ids(), here.count('users')]).toEqual([['c'], 1]);
  data.close();
});

test('a request that is sent again and again does not let the data grow or change', async ({
  clock,
  start,
}) => {
  const dataDir = folder();
  const sandbox = await start({ dataDir, clock });
  const users = Array.from({ length: 50 }, (_, i) => user({ a: 'x', gone: null }, `u-${i}`));
  for (let i = 0; i < 20; i++) {
    await submit(sandbox, ...users);
    clock.advance(300);
    if (i === 10) await submit(sandbox, user({ a: 'y', b: 'z' }, 'u-1'));
    clock.advance(300);
  }
  expect(held(sandbox, 'u-1')).toEqual({ a: 'x', b: 'z' });
  const db = new DatabaseSync(join(dataDir, 'sandbox.db'));
  const { n } = db.prepare('SELECT count(*) AS n FROM entry').get() as { n: number };
  db.close();
  expect(n).toBeLessThanOrEqual(3 * users.length + 1);
});

describe('the file', () => {
  test('of another version, or no database at all, is refused with the hint', async () => {
    const [other, broken] = [folder(), folder()];
    await (await startSandbox({ dataDir: other })).stop();
    const db = new DatabaseSync(join(other, 'sandbox.db'));
    db.exec('PRAGMA user_version = 99');
    db.close();
    writeFileSync(join(broken, 'sandbox.db'), 'no database '.repeat(100), { mode: 0o600 });
    for (const dataDir of [other, broken, join(broken, 'sandbox.db')]) {
      const refusal = await startSandbox({ dataDir }).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(StateError);
      expect(refusal).toMatchObject({
        message: expect.stringContaining('sandbox.db'),
        hint: expect.stringMatching(/--state/),
      });
    }
  });

  /** Holds a lock on it from a thread of its own, for a tenth of a second after it has said so. */
  const HOLDER = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { DatabaseSync } = require('@photostructure/sqlite');
    const db = new DatabaseSync(workerData.file);
    db.exec(workerData.lock);
    parentPort.postMessage('held');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    db.exec('COMMIT');
    db.close();
  `;

  // SQLite waits for some locks by itself, and refuses the switch to its write-ahead log at once.
  test.for(['BEGIN IMMEDIATE; CREATE TABLE other (x);', 'BEGIN EXCLUSIVE;'])('waits for %s', async (lock) => {
    const dataDir = folder();
    const file = join(dataDir, 'sandbox.db');
    writeFileSync(file, '', { mode: 0o600 });
    const holder = new Worker(HOLDER, { eval: true, workerData: { file, lock } });
    const ended = new Promise((resolve) => holder.once('exit', resolve));
    await new Promise((resolve, reject) => {
      holder.once('message', resolve);
      holder.once('error', reject);
    });
    await (await startSandbox({ dataDir })).stop();
    const db = new DatabaseSync(file);
    expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    db.close();
    expect(await ended).toBe(0);
  });
});
