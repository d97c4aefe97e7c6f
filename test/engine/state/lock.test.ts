import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { StateError } from '../../../src/engine/errors.js';
import { openSqlite } from '../../../src/engine/state/sqlite/backend.js';
import { collectGarbage } from '../../support/measure.js';
import { type Bundle, bundle } from './support/process.js';
import { aRequest, SCOPE, sender, test } from './support/state.js';

describe('takeLock', () => {
  test('a second taker gets null until the first releases it', async ({ state, reopen }) => {
    const lock = await state.locks.take(SCOPE, 'companies');
    expect(lock).not.toBeNull();
    expect(await (await reopen()).locks.take(SCOPE, 'companies')).toBeNull();
    expect(await state.locks.take(SCOPE, 'companies')).toBeNull();
    await lock!.release();
    expect(await (await reopen()).locks.take(SCOPE, 'companies')).not.toBeNull();
  });

  test.for([
    ['the other kind', SCOPE, 'users'],
    ['another account', { ...SCOPE, account: 'staging' }, 'companies'],
    ['another region', { ...SCOPE, region: 'default' }, 'companies'],
    ['another host', { ...SCOPE, base_url: 'https://other.test' }, 'companies'],
  ] as const)('%s is another lock', async ([, scope, kind], { state }) => {
    await state.locks.take(SCOPE, 'companies');
    expect(await state.locks.take(scope, kind)).not.toBeNull();
  });

  test('a scope is what it says, however it was put together', async ({ state }) => {
    await state.locks.take(SCOPE, 'companies');
    const { account, region, base_url } = SCOPE;
    expect(await state.locks.take({ base_url, region, account }, 'companies')).toBeNull();
  });

  test('a file that cannot be opened is an error of the state', async ({ folder, state }) => {
    const lock = await state.locks.take(SCOPE, 'companies');
    await lock!.release();
    const [name] = readdirSync(join(folder, 'locks')).filter((file) => file.endsWith('.lock'));
    rmSync(join(folder, 'locks', name!));
    mkdirSync(join(folder, 'locks', name!), { mode: 0o700 });
    await expect(state.locks.held()).rejects.toThrow(StateError);
    await expect(state.locks.held(SCOPE)).rejects.toThrow(/^cannot look at the lock in /);
  });

  test('its file must be there until it is released, and not after that', async ({ folder, state }) => {
    const lock = await state.locks.take(SCOPE, 'companies');
    await sender(state).start();
    rmSync(join(folder, 'locks'), { recursive: true });
    expect(() => state.locks.check()).toThrow(/^the lock .* was removed while it was in use/);
    await expect(sender(state).record(aRequest({ state: 'intent' }))).rejects.toThrow('was removed');
    await lock!.release();
    expect(() => state.locks.check()).not.toThrow();
  });

  test('it is held by the process, even if nothing refers to it', async ({ state, reopen }) => {
    await state.locks.take(SCOPE, 'companies');
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await (await reopen()).locks.take(SCOPE, 'companies')).toBeNull();
  });

  test('its files are private', async ({ folder, state }) => {
    await state.locks.take(SCOPE, 'companies');
    const place = join(folder, 'locks');
    const mode = (name: string): number => statSync(join(place, name)).mode & 0o777;
    const names = readdirSync(place);
    expect(names).not.toEqual([]);
    expect([mode('.'), ...new Set(names.map(mode))]).toEqual([0o700, 0o600]);
  });

  test('a lock that cannot be taken at all is an error that names the folder', async ({ folder }) => {
    // Its path has the words by which SQLite says that someone else has it.
    const place = join(folder, 'busy and locked');
    const { locks, db } = openSqlite(place);
    await (await locks.take(SCOPE, 'companies'))!.release();
    const [file] = readdirSync(join(place, 'locks'));
    rmSync(join(place, 'locks', file!));
    mkdirSync(join(place, 'locks', file!), { mode: 0o700 });
    await expect(locks.take(SCOPE, 'companies')).rejects.toThrow(StateError);
    await expect(locks.take(SCOPE, 'companies')).rejects.toThrow(/cannot take the lock in .*busy and locked/);
    await db.close();
  });
});

describe('a process that holds it', () => {
  let program: Bundle;
  beforeAll(async () => {
    program = await bundle();
  });
  afterAll(() => program.remove());

  test('keeps others out until it is killed, and leaves nothing that must be cleared away', async ({
    folder,
    state,
  }) => {
    const holder = program.start('lock', folder);
    expect(await holder.says()).toBe('taken');
    expect(await state.locks.take(SCOPE, 'companies')).toBeNull();
    const second = program.start('lock', folder);
    expect(await second.says()).toBe('refused');
    await second.end();
    await holder.kill('SIGKILL');
    expect(await state.locks.take(SCOPE, 'companies')).not.toBeNull();
  });

  test('keeps it while other processes ask and go', async ({ folder, state }) => {
    await state.locks.take(SCOPE, 'companies');
    for (let i = 0; i < 2; i++) {
      const other = program.start('lock', folder);
      expect(await other.says()).toBe('refused');
      expect(await other.end()).toBe(0);
    }
    expect(await state.locks.take(SCOPE, 'companies')).toBeNull();
  });
});
