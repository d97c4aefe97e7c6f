import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { afterEach, test as base, describe, expect, vi } from 'vitest';
import { StateError } from '../../../src/engine/errors.js';
import { Commits } from '../../../src/engine/state/commits.js';
import type { Transaction } from '../../../src/engine/state/database.js';
import { SqliteDatabase } from '../../../src/engine/state/sqlite/database.js';

type Change = (tx: Transaction) => Promise<void>;

interface Fixtures {
  /** Has one table, of words. */
  db: DatabaseSyncInstance;
  commits: Commits<Change>;
  /** The words that a second connection finds: those that are on disk. */
  onDisk: () => string[];
}

const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  db: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'profiles-commits-'));
    const file = join(folder, 'words.db');
    const db = new DatabaseSync(file);
    db.exec('CREATE TABLE words (word TEXT UNIQUE)');
    await use(db);
    db.close();
    rmSync(folder, { recursive: true });
  },
  commits: async ({ db }, use) => use(committing(new SqliteDatabase(db))),
  onDisk: async ({ db }, use) => {
    const second = new DatabaseSync(db.location()!, { readOnly: true });
    const words = second.prepare('SELECT word FROM words ORDER BY rowid');
    await use(() => words.all().map((row) => (row as { word: string }).word));
    second.close();
  },
});

const committing = (db: SqliteDatabase): Commits<Change> =>
  new Commits(async (changes) => {
    await db.write(async (tx) => {
      for (const change of changes) await change(tx);
    });
  }, '/state');

const add = (db: DatabaseSyncInstance, word: string) => async (): Promise<void> => {
  db.prepare('INSERT INTO words VALUES (?)').run(word);
};

/** What each came to: the error, or null. */
const outcomes = async (commits: readonly Promise<void>[]): Promise<unknown[]> =>
  (await Promise.allSettled(commits)).map((each) => (each.status === 'rejected' ? each.reason : null));

describe('Commits', () => {
  test('writes nothing of a group that waited for its turn behind one that failed', async ({
    db,
    onDisk,
  }) => {
    const database = new SqliteDatabase(db);
    const commits = committing(database);
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const held = database.alone(() => released);
    const first = commits.commit([add(db, 'a'), add(db, 'a')]);
    void commits.flush();
    const second = commits.commit([add(db, 'b')]);
    void commits.flush();
    release();
    await held;
    expect(await outcomes([first, second])).toEqual([expect.any(StateError), expect.any(StateError)]);
    expect(onDisk()).toEqual([]);
  });

  test('is not written before it is known what became of the group in front of it', async () => {
    const written: string[] = [];
    const commits = new Commits<string>(async ([word]) => {
      if (word === 'a') {
        await setImmediate();
        throw new Error('disk full');
      }
      written.push(word!);
    }, 'words.db');
    const first = commits.commit(['a']);
    void commits.flush();
    const second = commits.commit(['b']);
    void commits.flush();
    expect(await outcomes([first, second])).toEqual([expect.any(StateError), expect.any(StateError)]);
    expect(written).toEqual([]);
  });

  afterEach(() => void vi.useRealTimers());

  test('is on disk when it resolves, and not before', async ({ db, commits, onDisk }) => {
    const one = commits.commit([add(db, 'one')]);
    expect(onDisk()).toEqual([]);
    await one;
    expect(onDisk()).toEqual(['one']);
  });

  test('changes of one turn share a transaction, in the order they were asked for', async ({
    db,
    commits,
    onDisk,
  }) => {
    /** What was on disk when each change was made. */
    const found: string[][] = [];
    const words = ['a', 'b', 'c'].map((word) =>
      commits.commit([
        async () => {
          await add(db, word)();
          found.push(onDisk());
        },
      ]),
    );
    await words[0];
    expect(onDisk()).toEqual(['a', 'b', 'c']);
    await Promise.all(words);
    expect(found).toEqual([[], [], []]);
  });

  test('what nothing waits for goes to disk with what is asked for next, in order', async ({
    db,
    commits,
    onDisk,
  }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const first = commits.commit([add(db, 'a')], false);
    await setImmediate();
    await setImmediate();
    expect(onDisk()).toEqual([]);
    await commits.commit([
      async () => {
        expect(onDisk()).toEqual([]);
        await add(db, 'b')();
      },
    ]);
    expect(onDisk()).toEqual(['a', 'b']);
    await first;
  });

  test('or by itself, where nothing comes', async ({ db, commits, onDisk }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const alone = commits.commit([add(db, 'a')], false);
    await vi.runAllTimersAsync();
    await alone;
    expect(onDisk()).toEqual(['a']);
  });

  test('a change of a later turn finds the earlier one on disk', async ({ db, commits, onDisk }) => {
    await commits.commit([add(db, 'a')]);
    await commits.commit([async () => expect(onDisk()).toEqual(['a'])]);
  });

  test('one that fails takes its whole turn with it, and none of it is on disk', async ({
    db,
    commits,
    onDisk,
  }) => {
    const [first, second, third] = await outcomes(
      ['a', 'a', 'b'].map((word) => commits.commit([add(db, word)])),
    );
    expect(first).toBeInstanceOf(StateError);
    expect(String(first)).toContain('cannot record the import in /state: UNIQUE constraint failed');
    expect([second, third]).toEqual([first, first]);
    expect(onDisk()).toEqual([]);
  });

  test('after a failure every later one fails with the same error, and is not tried', async ({
    db,
    commits,
    onDisk,
  }) => {
    const [failure] = await outcomes([commits.commit([async () => db.exec('no SQL')])]);
    let tried = false;
    const [later] = await outcomes([
      commits.commit([
        async () => {
          tried = true;
        },
      ]),
    ]);
    expect(failure).toBeInstanceOf(StateError);
    expect(later).toBe(failure);
    expect(tried).toBe(false);
    expect(onDisk()).toEqual([]);
  });

  test('a transaction that cannot begin is such a failure too', async ({ db, commits }) => {
    const other = new DatabaseSync(db.location()!);
    other.exec('BEGIN IMMEDIATE');
    const [failure] = await outcomes([commits.commit([add(db, 'a')])]);
    other.exec('COMMIT');
    other.close();
    expect(String(failure)).toContain('database is locked');
    expect((failure as StateError).hint).toMatch(/^another program, such as a backup .* has locked it/);
    expect(await outcomes([commits.commit([add(db, 'b')])])).toEqual([failure]);
  });

  test('a full disk says what to do about it', async ({ db, commits }) => {
    db.exec('PRAGMA max_page_count = 3');
    const much = 'x'.repeat(100_000);
    const [failure] = (await outcomes([commits.commit([add(db, much)])])) as [StateError];
    expect(failure.message).toContain('database or disk is full');
    expect(failure.hint).toBe('free some disk space, then resume');
  });

  describe('while changes are on their way to the disk', () => {
    /** Groups of words as they are written, one after the other, each until it is ended. */
    const slowDisk = () => {
      const groups: { words: readonly string[]; end: (error?: Error) => void }[] = [];
      const commits = new Commits<string>(
        (words) =>
          new Promise<void>((resolve, reject) =>
            groups.push({ words, end: (error) => (error ? reject(error) : resolve()) }),
          ),
        '/state',
      );
      return { commits, groups, written: () => groups.map(({ words }) => words) };
    };

    test('what is asked for goes together, as soon as they are there', async () => {
      const { commits, groups, written } = slowDisk();
      const all = [commits.commit(['a'])];
      await setImmediate();
      all.push(commits.commit(['b']));
      await setImmediate();
      all.push(commits.commit(['c', 'd']), commits.commit([]));
      await setImmediate();
      expect(written()).toEqual([['a']]);
      groups[0]!.end();
      await setImmediate();
      expect(written()).toEqual([['a'], ['b', 'c', 'd']]);
      groups[1]!.end();
      await Promise.all(all);
    });

    test('what nothing waits for goes next too, once its time is over', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const { commits, groups, written } = slowDisk();
      const first = commits.commit(['a']);
      await setImmediate();
      const second = commits.commit(['b'], false);
      await vi.runAllTimersAsync();
      expect(written()).toEqual([['a']]);
      groups[0]!.end();
      await first;
      await setImmediate();
      expect(written()).toEqual([['a'], ['b']]);
      groups[1]!.end();
      await second;
    });

    test('what waits for its turn is not written where they fail', async () => {
      const { commits, groups, written } = slowDisk();
      const first = commits.commit(['a']);
      await setImmediate();
      const second = commits.commit(['b']);
      void commits.flush();
      groups[0]!.end(new Error('no disk'));
      const [failure, later] = await outcomes([first, second]);
      expect(String(failure)).toContain('cannot record the import in /state: no disk');
      expect(later).toBe(failure);
      expect(written()).toEqual([['a']]);
    });
  });

  test('flush commits what waits at once', async ({ db, commits, onDisk }) => {
    const waiting = commits.commit([add(db, 'a')]);
    await commits.flush();
    expect(onDisk()).toEqual(['a']);
    await waiting;
  });
});
