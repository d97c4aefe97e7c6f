import { describe, expect } from 'vitest';
import { sql } from '../../src/engine/state/database.js';
import { prepareSchema } from '../../src/engine/state/postgres/backend.js';
import { lockOf, type PostgresDatabase } from '../../src/engine/state/postgres/database.js';
import { forPostgres, MIGRATIONS, markOf } from '../../src/engine/state/schema.js';
import { testDatabase, WORDS } from '../engine/state/support/database.js';
import { hasPostgres, type TestDatabase, testOn, ways } from './support.js';

describe.runIf(hasPostgres).each(ways)('the driver, %s', (way) => {
  const test = testOn(way).extend<{ words: PostgresDatabase }>({
    words: async ({ db }, use) => {
      const database = await db.open();
      db.sql(forPostgres(WORDS));
      await use(database);
    },
  });

  testDatabase(test);

  test('rows are as of one moment, while others write', async ({ db, words }) => {
    const other = await db.open();
    db.sql("INSERT INTO words (word, size) SELECT 'n' || i, i FROM generate_series(1, 100) AS i");
    const seen: number[] = [];
    await words.read(async (on) => {
      for await (const { size } of on.each<{ size: number }>('SELECT size FROM words ORDER BY size')) {
        seen.push(size);
        if (size === 3) await other.write((tx) => tx.run('DELETE FROM words WHERE size > 50'));
      }
      expect(await on.get('SELECT count(*) AS n FROM words')).toEqual({ n: 100 });
    });
    expect(seen).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
    expect(await words.read((on) => on.get('SELECT count(*) AS n FROM words'))).toEqual({ n: 50 });
  });

  test('writers take turns: what one has read stays true until it commits', async ({ db, words }) => {
    const other = await db.open();
    db.sql("INSERT INTO words VALUES ('count', 0)");
    const add = (database: PostgresDatabase) =>
      database.write(async (tx) => {
        const { size } = (await tx.get<{ size: number }>('SELECT size FROM words'))!;
        await tx.run(sql`UPDATE words SET size = ${size + 1}`);
      });
    await Promise.all(Array.from({ length: 40 }, (_, at) => add(at % 2 === 0 ? words : other)));
    expect(await words.read((on) => on.get('SELECT size FROM words'))).toEqual({ size: 40 });
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
