/** What the stores rely on in any database of the state (`database.ts`). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { test as base, describe, expect, onTestFinished } from 'vitest';
import { type Database, sql } from '../../../src/engine/state/database.js';
import { SqliteDatabase } from '../../../src/engine/state/sqlite/database.js';

interface Fixtures {
  /** Has one table, of words and bytes. */
  db: Database;
}

const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  db: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'profiles-driver-'));
    const db = new SqliteDatabase(new DatabaseSync(join(folder, 'words.db')));
    await db.write((tx) => tx.run('CREATE TABLE words (word TEXT UNIQUE, size INTEGER, body BLOB)'));
    await use(db);
    await db.close().catch(() => {}); // a test may have closed it
    rmSync(folder, { recursive: true });
  },
});

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

describe('a database', () => {
  test('gives numbers as numbers and bytes as bytes', async ({ db }) => {
    const size = 2 ** 50 + 1;
    const body = Uint8Array.of(0, 255, 7);
    await db.write((tx) => tx.run(sql`INSERT INTO words VALUES (${'a'}, ${size}, ${body})`));
    const row = await db.read((on) =>
      on.get<{ size: number; body: Uint8Array }>(sql`SELECT size, body FROM words WHERE word = ${'a'}`),
    );
    expect([row!.size, [...row!.body]]).toEqual([size, [...body]]);
    expect(
      await db.read((on) => on.get(sql`SELECT 1 AS one FROM words WHERE word = ${'b'}`)),
    ).toBeUndefined();
  });

  test('counts what a statement changed, and returns rows of what it wrote', async ({ db }) => {
    await add(db, 'a', 'bb', 'cc');
    const [changed, returned] = await db.write(async (tx) => [
      await tx.run(sql`UPDATE words SET size = 9 WHERE size = ${2}`),
      await tx.all('DELETE FROM words WHERE size = 9 RETURNING word'),
    ]);
    expect([changed, returned]).toEqual([2, [{ word: 'bb' }, { word: 'cc' }]]);
    expect(await words(db)).toEqual(['a']);
  });

  test('a transaction that fails leaves nothing, and those behind it go on', async ({ db }) => {
    const outcomes = await Promise.allSettled([add(db, 'a', 'b', 'a'), add(db, 'c')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(await words(db)).toEqual(['c']);
  });

  test('what was asked for first comes first: no statement sees half a transaction', async ({ db }) => {
    const before = words(db);
    const first = add(db, 'a', 'b');
    const between = words(db);
    const second = add(db, 'c', 'd');
    expect(await Promise.all([before, between, words(db)])).toEqual([[], ['a', 'b'], ['a', 'b', 'c', 'd']]);
    await Promise.all([first, second]);
  });

  test('row by row, also where the reader stops early; whoever comes next waits for that', async ({ db }) => {
    await add(db, 'a', 'b', 'c');
    const read: string[] = [];
    let added: Promise<void> | undefined;
    await db.read(async (on) => {
      for await (const { word } of on.each<{ word: string }>('SELECT word FROM words ORDER BY word')) {
        read.push(word);
        added ??= add(db, 'aa');
        await new Promise(setImmediate); // time enough to be written
        if (word === 'b') break;
      }
      for await (const { word } of on.each<{ word: string }>(sql`SELECT word FROM words WHERE word > ${'b'}`))
        read.push(word);
    });
    await added;
    expect([read, await words(db)]).toEqual([
      ['a', 'b', 'c'],
      ['a', 'aa', 'b', 'c'],
    ]);
  });

  test('closes after what it was asked before, and fails for what comes later', async ({ db }) => {
    const last = add(db, 'a');
    const closed = db.close();
    await Promise.all([last, closed]);
    await expect(words(db)).rejects.toThrow(/not open/);
  });
});

test('a damaged file is an error of the state; wrong SQL is not', async ({ db }) => {
  const folder = mkdtempSync(join(tmpdir(), 'profiles-damaged-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'state.db');
  const whole = new DatabaseSync(file);
  whole.exec('CREATE TABLE words (word TEXT)');
  const insert = whole.prepare('INSERT INTO words VALUES (?)');
  for (let n = 0; n < 1_000; n++) insert.run(`word ${n}`);
  whole.close();
  writeFileSync(file, readFileSync(file).fill(0, 4_096)); // all pages but the first
  const damaged = new SqliteDatabase(new DatabaseSync(file));
  const select = 'SELECT word FROM words';
  for (const query of [
    () => damaged.read((on) => on.all(select)),
    () => damaged.read((on) => on.get(select)),
    () => damaged.read((on) => on.each(select)[Symbol.asyncIterator]().next()),
  ]) {
    await expect(query()).rejects.toMatchObject({
      code: 'state',
      message: `cannot read the state in ${folder}: database disk image is malformed`,
      problem: { code: 'state_damaged' },
    });
  }
  await damaged.close();
  await expect(db.read((on) => on.all('SELECT nothing'))).rejects.toMatchObject({ code: 'ERR_SQLITE_ERROR' });
});
