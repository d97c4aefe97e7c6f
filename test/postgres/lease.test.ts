import { describe, expect } from 'vitest';
import { LockLostError } from '../../src/engine/errors.js';
import { sql } from '../../src/engine/state/database.js';
import type { Times } from '../../src/engine/state/postgres/heart.js';
import { Leases } from '../../src/engine/state/postgres/lease.js';
import { hasPostgres, type TestDatabase, testOn, ways } from './support.js';

const SCOPE = { account: 'acme', region: 'eu', base_url: 'https://eu.test' };
/** Long beside what a test takes, so that nothing runs out by itself. */
const LEASE = 'lease_seconds=600';
const LEASE_MS = 600_000;

/** Leases of another process each, with clocks that a test moves. */
async function process(db: TestDatabase, query = LEASE) {
  const clock: Times = { monotonic: performance.now(), wall: 1_000_000 };
  const database = await db.open({}, query);
  const leases = new Leases(database, () => ({ ...clock }));
  return {
    clock,
    database,
    leases,
    take: (kind: 'companies' | 'users' = 'companies') => leases.take(SCOPE, kind, `run of ${kind}`),
    pass: (ms: number): void => {
      clock.monotonic += ms;
      clock.wall += ms;
    },
  };
}

/** As if the last heartbeat had come so long ago by the clock of the database. */
const age = (db: TestDatabase, seconds: number): string =>
  db.sql(
    `UPDATE leases SET beat_at = beat_at - interval '${seconds} seconds', expires_at = expires_at - interval '${seconds} seconds'`,
  );

describe.runIf(hasPostgres).each(ways)('a lease, %s', (way) => {
  const test = testOn(way);

  test('is one process’s until it is released, and each kind has one', async ({ db }) => {
    const [one, other] = [await process(db), await process(db)];
    const held = await one.take();
    expect(held).not.toBeNull();
    expect(await other.take()).toBeNull();
    expect(await one.take()).toBeNull();
    expect(await other.take('users')).not.toBeNull();
    expect(await other.leases.held()).toMatchObject([
      {
        ...SCOPE,
        kind: 'companies',
        holder: expect.stringMatching(/^run of companies on ./),
        fresh: true,
      },
      {
        ...SCOPE,
        kind: 'users',
        holder: expect.stringMatching(/^run of users on ./),
        fresh: true,
      },
    ]);
    await held!.release();
    expect(await other.take()).not.toBeNull();
    for (const { leases } of [one, other]) await leases.close();
  });

  test('of two that want it at once one gets it', async ({ db }) => {
    const all = await Promise.all(Array.from({ length: 5 }, () => process(db)));
    const taken = await Promise.all(all.map((each) => each.take()));
    expect(taken.filter((lease) => lease !== null)).toHaveLength(1);
    for (const { leases } of all) await leases.close();
  });

  test('a successor waits for half its length past its end', async ({ db }) => {
    const [one, other] = [await process(db), await process(db)];
    await one.take();
    age(db, 890);
    expect(await other.leases.held()).toMatchObject([{ fresh: false }]);
    expect(await other.take()).toBeNull();
    age(db, 11);
    expect(await other.leases.held(SCOPE)).toMatchObject([{ fresh: false }]);
    expect(await other.take()).not.toBeNull();
    for (const { leases } of [one, other]) await leases.close();
  });

  test('its owner sends nothing when less than a third of it is left', async ({ db }) => {
    const one = await process(db);
    await one.take();
    one.pass(LEASE_MS * (2 / 3) - 10);
    one.leases.check();
    one.pass(1_000);
    expect(() => one.leases.check()).toThrow(LockLostError);
    expect(() => one.leases.check()).toThrow(/not renewed for 401 s/);
    await one.leases.close();
  });

  test.for([
    ['while the machine slept', { monotonic: 0, wall: 500_000 }],
    ['while the clock was set back', { monotonic: 500_000, wall: -9_000_000 }],
  ] as const)('time that passed %s counts', async ([, { monotonic, wall }], { db }) => {
    const one = await process(db);
    await one.take();
    one.clock.monotonic += monotonic;
    one.clock.wall += wall;
    expect(() => one.leases.check()).toThrow(LockLostError);
    await one.leases.close();
  });

  test('who lost it writes nothing any more, and says who took over', async ({ db }) => {
    const [one, other] = [await process(db), await process(db)];
    await one.take();
    const note = (text: string) =>
      one.database.write((tx) =>
        tx.run(
          sql`INSERT INTO scopes (scope, account, region, base_url) VALUES (${text.length}, ${text}, '', '')`,
        ),
      );
    await note('before');
    age(db, 901);
    await other.take();
    await expect(note('after')).rejects.toMatchObject({
      code: 'lock_lost',
      exit: 8,
      message: expect.stringMatching(/^run of companies on .+ took over the lock on imports of companies/),
    });
    // Without a look at the database, from then on.
    expect(() => one.leases.check()).toThrow(LockLostError);
    expect(db.sql(`SELECT account FROM scopes ORDER BY 1`)).toBe('acme\nbefore');
    for (const { leases } of [one, other]) await leases.close();
  });

  test('releasing it after another took over leaves it to that one', async ({ db }) => {
    const [one, other] = [await process(db), await process(db)];
    const held = (await one.take())!;
    age(db, 901);
    await other.take();
    await held.release();
    expect(await one.leases.held()).toMatchObject([{ fresh: true }]);
    for (const { leases } of [one, other]) await leases.close();
  });

  test('a heartbeat renews it by the clock of the database, and by both clocks here', async ({ db }) => {
    const one = await process(db, 'lease_seconds=1');
    const held = (await one.take())!;
    const epochs = () => db.sql('SELECT extract(epoch FROM expires_at) FROM leases');
    const before = Number(epochs());
    await expect.poll(() => Number(epochs())).toBeGreaterThan(before);
    await expect.poll(() => Number(epochs())).toBeGreaterThan(before + 0.3);
    // What it knows here goes by the clock of the heart, which is the real one: the beats catch up with this one.
    one.pass(900);
    await expect.poll(() => problemOf(one.leases.check)).toBe('');
    await held.release();
    await one.leases.close();
  });

  test('a heartbeat finds out that it was taken over', async ({ db }) => {
    const one = await process(db, 'lease_seconds=1');
    await one.take();
    db.sql(`UPDATE leases SET owner = 'another', epoch = epoch + 1`);
    await expect.poll(() => problemOf(one.leases.check)).toMatch(/no longer holds the lock/);
    await one.leases.close();
  });

  test('it can be taken from an owner that is gone, and by force from any', async ({ db }) => {
    const [one, other] = [await process(db), await process(db)];
    await one.take();
    expect(await other.leases.unlock(false)).toHaveLength(0);
    expect(await other.take()).toBeNull();
    age(db, 601);
    expect(await other.leases.unlock(false)).toHaveLength(1);
    expect(await other.take()).not.toBeNull();
    const third = await process(db);
    expect(await third.leases.unlock(true)).toHaveLength(1);
    expect(await third.take()).not.toBeNull();
    await expect(other.database.write(async () => {})).rejects.toThrow(LockLostError);
    await third.leases.close();
    await expect(one.database.write(async () => {})).rejects.toThrow(LockLostError);
    for (const { leases } of [one, other]) await leases.close();
  });
});

function problemOf(check: () => void): string {
  try {
    check();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
