import { describe, expect } from 'vitest';
import { sql } from '../../src/engine/state/database.js';
import { prepareSchema } from '../../src/engine/state/postgres/backend.js';
import { lockOf } from '../../src/engine/state/postgres/database.js';
import { MIGRATIONS, markOf } from '../../src/engine/state/schema.js';
import { hasPostgres, type TestDatabase, testOn, ways } from './support.js';

const tables = `CREATE TABLE things (name TEXT PRIMARY KEY, number BIGINT, share DOUBLE PRECISION, bytes BYTEA)`;

describe.runIf(hasPostgres).each(ways)('the driver, %s', (way) => {
  const test = testOn(way);

  test('takes and gives values as SQLite does', async ({ db }) => {
    const database = await db.open();
    db.sql(tables);
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    const all = ['a\'"\\?$1\0ö', 2 ** 53 - 1, 0.25] as const;
    await database.write(async (tx) => {
      expect(await tx.run(sql`INSERT INTO things VALUES (${all[0]}, ${all[1]}, ${all[2]}, ${bytes})`)).toBe(
        1,
      );
      expect(await tx.run(sql`INSERT INTO things (name, number) VALUES (${"it''s ?"}, ${-5n})`)).toBe(1);
    });
    const rows = await database.read((on) =>
      on.all("SELECT * FROM things WHERE name <> '?' -- what?\n ORDER BY number DESC"),
    );
    expect(rows).toEqual([
      { name: 'a\'"\\?$1\uFFFDö', number: 2 ** 53 - 1, share: 0.25, bytes: Buffer.from(bytes) },
      { name: "it''s ?", number: -5, share: null, bytes: null },
    ]);
    expect(
      await database.read((on) =>
        on.get(
          sql`SELECT sum(number) AS sum, count(*) AS n, number > 0 AS more FROM things WHERE number < ${0} GROUP BY 3`,
        ),
      ),
    ).toEqual({
      sum: -5,
      n: 1,
      more: 0,
    });
    expect(
      await database.read((on) => on.get(sql`SELECT 1 AS one FROM things WHERE name = ${'none'}`)),
    ).toBeUndefined();
  });

  test('a transaction that fails leaves nothing behind, and its error comes as it was', async ({ db }) => {
    const database = await db.open();
    db.sql(tables);
    const error = new Error('from within');
    await expect(
      database.write(async (tx) => {
        await tx.run(sql`INSERT INTO things (name) VALUES (${'gone'})`);
        throw error;
      }),
    ).rejects.toThrow(/from within/);
    await database.write((tx) => tx.run(sql`INSERT INTO things (name) VALUES (${'kept'})`));
    expect(await database.read((on) => on.all('SELECT name FROM things'))).toEqual([{ name: 'kept' }]);
  });

  test('rows come one by one, while others are written, and as of one moment', async ({ db }) => {
    const [database, other] = [await db.open(), await db.open()];
    db.sql(
      `${tables}; INSERT INTO things (name, number) SELECT 'n' || i, i FROM generate_series(1, 100) AS i`,
    );
    const seen: number[] = [];
    await database.read(async (on) => {
      const rows = on.each<{ number: number }>(
        sql`SELECT number FROM things WHERE number > ${2} ORDER BY number`,
      );
      for await (const { number } of rows) {
        seen.push(number);
        if (number === 3) await other.write((tx) => tx.run('DELETE FROM things WHERE number > 50'));
      }
      expect(await on.get('SELECT count(*) AS n FROM things')).toEqual({ n: 100 });
    });
    expect(seen).toEqual(Array.from({ length: 98 }, (_, at) => at + 3));
    await database.read(async (on) => {
      for await (const row of on.each<{ number: number }>('SELECT number FROM things ORDER BY number')) {
        if (row.number === 40) break;
      }
    });
    expect(await database.read((on) => on.get('SELECT count(*) AS n FROM things'))).toEqual({ n: 50 });
  });

  test('rows of a transaction come one by one too', async ({ db }) => {
    const database = await db.open();
    db.sql(
      `${tables}; INSERT INTO things (name, number) SELECT 'n' || i, i FROM generate_series(1, 100) AS i`,
    );
    await database.write(async (tx) => {
      for await (const { number } of tx.each<{ number: number }>('SELECT number FROM things')) {
        await tx.run(sql`UPDATE things SET share = ${number / 2} WHERE number = ${number}`);
      }
    });
    expect(await database.read((on) => on.get('SELECT sum(share) AS sum FROM things'))).toEqual({
      sum: 2525,
    });
  });

  test('writers take turns: what one has read stays true until it commits', async ({ db }) => {
    const [one, other] = [await db.open(), await db.open()];
    db.sql(`${tables}; INSERT INTO things VALUES ('count', 0)`);
    const add = (database: typeof one) =>
      database.write(async (tx) => {
        const { number } = (await tx.get<{ number: number }>('SELECT number FROM things'))!;
        await tx.run(sql`UPDATE things SET number = ${number + 1}`);
      });
    await Promise.all(Array.from({ length: 40 }, (_, at) => add(at % 2 === 0 ? one : other)));
    expect(await one.read((on) => on.get('SELECT number FROM things'))).toEqual({ number: 40 });
  });

  test('transactions and statements of one database never interleave', async ({ db }) => {
    const database = await db.open();
    db.sql(tables);
    const order: string[] = [];
    const writing = database.write(async (tx) => {
      await tx.run(sql`INSERT INTO things (name) VALUES (${'a'})`);
      order.push('written');
    });
    const reading = database
      .read((on) => on.all('SELECT name FROM things'))
      .then((rows) => order.push(`read ${rows.length}`));
    await Promise.all([writing, reading]);
    expect(order).toEqual(['written', 'read 1']);
  });

  test('several processes that start at once make one schema', async ({ db }) => {
    const all = await Promise.all(Array.from({ length: 4 }, () => db.open()));
    await Promise.all(all.map((each) => each.write(async () => {})));
    expect(db.sql("SELECT value FROM meta WHERE name = 'number'")).toBe('0');
  });

  test('a later schema is applied to a database of the first one', async ({ db }) => {
    const database = await db.open();
    db.sql("INSERT INTO meta VALUES ('kept', 'yes')");
    const second = "ALTER TABLE meta ADD COLUMN more TEXT; UPDATE meta SET more = value || '!'";
    for (let times = 0; times < 2; times++) {
      await prepareSchema(database, [...MIGRATIONS, second]);
      expect(db.sql("SELECT more FROM meta WHERE name = 'kept'")).toBe('yes!');
      expect(db.sql(`SELECT obj_description('meta'::regclass)`)).toBe(
        String(markOf([...MIGRATIONS, second])),
      );
    }
  });

  test('a schema of another version is refused', async ({ db }) => {
    await db.open();
    db.sql(`COMMENT ON TABLE meta IS '1000'`);
    await expect(db.open()).rejects.toMatchObject({ code: 'state', problem: { code: 'state_version' } });
  });

  test('nothing stays in a session', async ({ db }) => {
    const database = await db.open();
    await database.write(async () => expect(locks(db)).toBe('1'));
    await database.read((on) => on.all('SELECT 1'));
    expect(locks(db)).toBe('0');
  });
});

/** Advisory locks of this schema that outlive a transaction. Other files of tests have theirs on the same server. */
function locks({ schema, sql }: TestDatabase): string {
  const [all, its] = lockOf(schema).split(',').map(Number) as [number, number];
  return sql(
    `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = ${all} AND objid = ${its >>> 0}`,
  );
}
