import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql as query } from '../../src/engine/state/database.js';
import { prepareSchema } from '../../src/engine/state/postgres/backend.js';
import { PATIENCE, PostgresDatabase } from '../../src/engine/state/postgres/database.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { type Cutter, cutter } from './cutter.js';
import { hasPostgres, locationOf, newSchema } from './support.js';

/** The server of this file alone, reached through a proxy that can fail. */
describe.runIf(hasPostgres)('a connection that is lost', () => {
  let server: TestPostgres;
  let proxy: Cutter;
  let schema = '';
  const opened: PostgresDatabase[] = [];

  beforeAll(async () => {
    server = await startPostgres();
    proxy = await cutter(server.port);
  });
  afterAll(async () => {
    for (const db of opened) await db.close();
    await proxy?.close();
    await server?.remove();
  });

  async function open(patience = {}): Promise<PostgresDatabase> {
    schema = newSchema();
    const url = server
      .url(schema, { query: 'sslmode=disable' })
      .replace(`:${server.port}/`, `:${proxy.port}/`);
    const database = (its = {}): PostgresDatabase =>
      new PostgresDatabase(locationOf(url), undefined, { ...PATIENCE, ...its });
    const first = database();
    await prepareSchema(first);
    await first.close();
    const db = database(patience);
    opened.push(db);
    sql('CREATE TABLE things (number BIGINT)');
    return db;
  }
  const sql = (statements: string): string => server.sql(`SET search_path TO ${schema}; ${statements}`);
  const add = (db: PostgresDatabase, number: number): Promise<number> =>
    db.write((tx) => tx.run(query`INSERT INTO things VALUES (${number})`));
  const numbers = (): string =>
    sql("SELECT coalesce(string_agg(number::text, ',' ORDER BY number), '') FROM things");

  test('a statement that was cut off is undone, and the transaction is carried out once', async () => {
    const db = await open();
    let attempts = 0;
    await db.write(async (tx) => {
      attempts++;
      await tx.run('INSERT INTO things VALUES (1)');
      if (attempts === 1) proxy.cut();
      await tx.run('INSERT INTO things VALUES (2)');
    });
    expect(attempts).toBe(2);
    expect(numbers()).toBe('1,2');
  });

  test.for(['before it arrived', 'after it was carried out'] as const)(
    'a commit that was cut off %s is carried out once',
    async (when) => {
      const db = await open();
      await add(db, 1);
      const before = proxy.commitsCut;
      proxy.cutAtCommit(when === 'before it arrived' ? 'request' : 'answer');
      await add(db, 2);
      expect(proxy.commitsCut).toBe(before + 1);
      await add(db, 3);
      expect(numbers()).toBe('1,2,3');
    },
  );

  test('a server that crashes and comes back is waited for', async () => {
    const db = await open();
    await add(db, 1);
    await server.stop('immediate');
    const adding = add(db, 2);
    await server.start();
    await adding;
    expect(numbers()).toBe('1,2');
    expect(await db.read((on) => on.all('SELECT number FROM things ORDER BY number'))).toEqual([
      { number: 1 },
      { number: 2 },
    ]);
  });

  test('a server that does not come back ends it, and what comes after it does not wait again', async () => {
    const db = await open({ retryMs: 300 });
    await add(db, 1);
    await server.stop('immediate');
    await expect(add(db, 2)).rejects.toMatchObject({
      code: 'state',
      message: expect.stringContaining('cannot record in postgres://postgres@127.0.0.1'),
    });
    const before = proxy.connections;
    await expect(add(db, 3)).rejects.toMatchObject({ code: 'state' });
    expect(proxy.connections - before).toBe(1);
    await server.start();
    expect(numbers()).toBe('1');
  });

  test('a database that has lost a commit ends it', async () => {
    const db = await open();
    await add(db, 1);
    await expect(
      db.write(async () => {
        throw new Error('undone');
      }),
    ).rejects.toThrow('undone');
    await add(db, 2);
    sql('UPDATE writers SET number = number - 1');
    await expect(add(db, 3)).rejects.toMatchObject({
      code: 'state',
      problem: { code: 'state_went_back' },
      message: expect.stringContaining('has lost what was recorded in it a moment ago'),
    });
    sql('DELETE FROM writers');
    await expect(add(db, 4)).rejects.toMatchObject({ problem: { code: 'state_went_back' } });
    expect(numbers()).toBe('1,2');
  });

  test('an answer that never comes counts as a lost connection', async () => {
    const db = await open({ statementMs: 500, turnMs: 500, graceMs: 500 });
    await add(db, 1);
    proxy.freeze();
    const adding = add(db, 2);
    // Whatever is asked on that connection from here on has no answer.
    await proxy.nextConnection();
    await adding;
    expect(numbers()).toBe('1,2');
  });

  test('who stands still in a transaction loses it, and does it again', async () => {
    const db = await open({ idleMs: 50 });
    let attempts = 0;
    await db.write(async (tx) => {
      attempts++;
      await tx.run('INSERT INTO things VALUES (7)');
      if (attempts > 1) return;
      await expect
        .poll(() => server.sql(`SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'`))
        .toBe('0');
    });
    // A busy machine stands still by itself.
    expect(attempts).toBeGreaterThan(1);
    expect(numbers()).toBe('7');
  });

  test('an abort ends the waiting', async () => {
    const stop = new AbortController();
    schema = newSchema();
    const db = new PostgresDatabase(locationOf(server.url(schema)), stop.signal);
    await prepareSchema(db);
    await server.stop('immediate');
    const failing = expect(db.write(async () => {})).rejects.toMatchObject({ code: 'state' });
    stop.abort();
    await failing;
    await server.start();
  });
});
