/** What the stores rely on in any database (`state/database.ts`). */
import { expect } from 'vitest';
import { type Database, sql } from '../../../../src/engine/state/database.js';

/** With the table that the tests use. */
export const WORDS =
  'CREATE TABLE words (word TEXT PRIMARY KEY, size BIGINT, share DOUBLE PRECISION, body BYTEA)';

const add = (db: Database, ...words: string[]): Promise<void> =>
  db.write(async (tx) => {
    for (const word of words) {
      await Promise.resolve();
      await tx.run(sql`INSERT INTO words (word, size) VALUES (${word}, ${word.length})`);
    }
  });

const words = async (db: Database): Promise<string[]> =>
  (await db.read((on) => on.all<{ word: string }>('SELECT word FROM words ORDER BY word'))).map(
    ({ word }) => word,
  );

/** A test that gets a database with `WORDS`, closed after it. */
type Test = (name: string, run: (fixtures: { words: Database }) => Promise<void>) => void;

export function testDatabase(test: Test): void {
  test('gives numbers as numbers, bytes as bytes, and truth as 0 and 1', async ({ words: db }) => {
    const body = Uint8Array.from({ length: 256 }, (_, at) => at);
    const word = 'a\'"\\?$1ö';
    const put = sql`INSERT INTO words VALUES (${word}, ${2 ** 53 - 1}, ${0.25}, ${body})`;
    expect(await db.write((tx) => tx.run(put))).toBe(1);
    await db.write((tx) => tx.run(sql`INSERT INTO words (size, word) VALUES (${-5n}, ${"it''s ?"})`));
    const rows = await db.read((on) =>
      on.all<{ body: Uint8Array | null }>(
        sql`SELECT *, size > ${0} AS more FROM words WHERE word <> '?' -- what?
          ORDER BY size DESC`,
      ),
    );
    expect(rows.map((row) => ({ ...row, body: row.body && [...row.body] }))).toEqual([
      { word, size: 2 ** 53 - 1, share: 0.25, body: [...body], more: 1 },
      { word: "it''s ?", size: -5, share: null, body: null, more: 0 },
    ]);
    const none = sql`SELECT 1 AS one FROM words WHERE word = ${'none'}`;
    expect(await db.read((on) => on.get(none))).toBeUndefined();
  });

  test('counts what a statement changed, and returns rows of what it wrote', async ({ words: db }) => {
    await add(db, 'a', 'bb', 'cc');
    const [changed, returned] = await db.write(async (tx) => [
      await tx.run(sql`UPDATE words SET size = 9 WHERE size = ${2}`),
      await tx.all('DELETE FROM words WHERE size = 9 RETURNING word'),
    ]);
    expect([changed, returned]).toEqual([2, [{ word: 'bb' }, { word: 'cc' }]]);
    expect(await words(db)).toEqual(['a']);
  });

  test('a transaction that fails leaves nothing, its error comes as it was, and those behind it go on', async ({
    words: db,
  }) => {
    const error = new Error('from within');
    const failing = db.write(async (tx) => {
      await tx.run("INSERT INTO words (word) VALUES ('gone')");
      throw error;
    });
    const outcomes = await Promise.allSettled([failing, add(db, 'c')]);
    expect(outcomes).toMatchObject([{ reason: { message: /from within/ } }, { status: 'fulfilled' }]);
    expect(await words(db)).toEqual(['c']);
  });

  test('what was asked for first comes first: no statement sees half a transaction', async ({
    words: db,
  }) => {
    const before = words(db);
    const first = add(db, 'a', 'b');
    const between = words(db);
    const second = add(db, 'c', 'd');
    expect(await Promise.all([before, between, words(db)])).toEqual([[], ['a', 'b'], ['a', 'b', 'c', 'd']]);
    await Promise.all([first, second]);
  });

  test('row by row, also where the reader stops early; whoever comes next waits for that', async ({
    words: db,
  }) => {
    const all = Array.from({ length: 9 }, (_, at) => `w${at}`);
    await add(db, ...all);
    const read: string[] = [];
    let added: Promise<void> | undefined;
    await db.read(async (on) => {
      for await (const { word } of on.each<{ word: string }>('SELECT word FROM words ORDER BY word')) {
        read.push(word);
        added ??= add(db, 'later');
        await new Promise(setImmediate); // time enough to be written
        if (word === 'w6') break;
      }
      const rest = sql`SELECT word FROM words WHERE word > ${'w6'} ORDER BY word`;
      for await (const { word } of on.each<{ word: string }>(rest)) read.push(word);
    });
    await added;
    expect([read, await words(db)]).toEqual([all, ['later', ...all]]);
  });

  test('rows of a transaction come one by one too', async ({ words: db }) => {
    await add(db, 'a', 'bb', 'ccc', 'dddd', 'eeeee');
    await db.write(async (tx) => {
      for await (const { word, size } of tx.each<{ word: string; size: number }>('SELECT * FROM words'))
        await tx.run(sql`UPDATE words SET share = ${size / 2} WHERE word = ${word}`);
    });
    expect(await db.read((on) => on.get('SELECT sum(share) AS sum FROM words'))).toEqual({ sum: 7.5 });
  });

  test('closes after what it was asked before', async ({ words: db }) => {
    const last = add(db, 'a');
    await Promise.all([last, db.close()]);
  });
}
