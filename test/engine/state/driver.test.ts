/** The SQLite driver. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { test as base, describe, expect } from 'vitest';
import { SqliteDatabase } from '../../../src/engine/state/sqlite/database.js';
import { testDatabase, WORDS } from './support/database.js';

const test = base.extend<{ folder: string; words: SqliteDatabase }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'profiles-driver-'));
    await use(folder);
    rmSync(folder, { recursive: true });
  },
  words: async ({ folder }, use) => {
    const db = new SqliteDatabase(new DatabaseSync(join(folder, 'words.db')));
    await db.write((tx) => tx.run(WORDS));
    await use(db);
    await db.close().catch(() => {}); // a test may have closed it
  },
});

describe('SQLite', () => {
  testDatabase(test);

  test('closed, it fails for what comes later', async ({ words }) => {
    await words.close();
    await expect(words.read((on) => on.all('SELECT 1'))).rejects.toThrow(/not open/);
  });
});

test('a damaged file is an error of the state', async ({ folder }) => {
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
});
