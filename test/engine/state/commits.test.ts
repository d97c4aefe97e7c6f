/** Group commit: what is asked for together goes to disk together, in order, and nothing goes after a failure. */
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StateError } from '../../../src/engine/errors.js';
import { Commits } from '../../../src/engine/state/commits.js';

/** A disk that writes one group of words after the other, each until a test ends it. */
class SlowDisk {
  readonly #groups: { words: readonly string[]; end: (error?: Error) => void }[] = [];
  readonly commits = new Commits<string>(
    (words) =>
      new Promise<void>((resolve, reject) =>
        this.#groups.push({ words, end: (error) => (error ? reject(error) : resolve()) }),
      ),
    '/state',
  );

  get written(): (readonly string[])[] {
    return this.#groups.map(({ words }) => words);
  }

  /** Ends the group that was begun last. */
  end(error?: Error): void {
    this.#groups.at(-1)!.end(error);
  }
}

let disk: SlowDisk;
beforeEach(() => {
  disk = new SlowDisk();
});
afterEach(() => void vi.useRealTimers());

/** Whether it has resolved or failed by now. */
async function isOver(commit: Promise<void>): Promise<boolean> {
  let over = false;
  void commit.then(
    () => (over = true),
    () => (over = true),
  );
  await setImmediate();
  return over;
}

/** What each came to: the error, or null. */
const outcomes = async (commits: readonly Promise<void>[]): Promise<unknown[]> =>
  (await Promise.allSettled(commits)).map((each) => (each.status === 'rejected' ? each.reason : null));

test('changes of one turn share a transaction, in the order they were asked for, and resolve when it is on disk', async () => {
  const all = ['a', 'b', 'c'].map((word) => disk.commits.commit([word]));
  expect(disk.written).toEqual([]);
  expect(await isOver(all[0]!)).toBe(false);
  expect(disk.written).toEqual([['a', 'b', 'c']]);
  disk.end();
  expect(await outcomes(all)).toEqual([null, null, null]);
});

describe('what nothing waits for', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

  test('goes to disk with what is asked for next, in order', async () => {
    const first = disk.commits.commit(['a'], false);
    await setImmediate();
    expect(disk.written).toEqual([]);
    const second = disk.commits.commit(['b']);
    await setImmediate();
    expect(disk.written).toEqual([['a', 'b']]);
    disk.end();
    expect(await outcomes([first, second])).toEqual([null, null]);
  });

  test('or by itself, where nothing comes', async () => {
    const alone = disk.commits.commit(['a'], false);
    await vi.runAllTimersAsync();
    disk.end();
    await alone;
    expect(disk.written).toEqual([['a']]);
  });

  test('or after the group that is being written, once its time is over', async () => {
    const first = disk.commits.commit(['a']);
    await setImmediate();
    const second = disk.commits.commit(['b'], false);
    await vi.runAllTimersAsync();
    expect(disk.written).toEqual([['a']]);
    disk.end();
    await first;
    await setImmediate();
    expect(disk.written).toEqual([['a'], ['b']]);
    disk.end();
    await second;
  });
});

test('what is asked for while a group is written goes together after it', async () => {
  const all = [disk.commits.commit(['a'])];
  await setImmediate();
  all.push(disk.commits.commit(['b']));
  await setImmediate();
  all.push(disk.commits.commit(['c', 'd']), disk.commits.commit([]));
  await setImmediate();
  expect(disk.written).toEqual([['a']]);
  disk.end();
  await setImmediate();
  expect(disk.written).toEqual([['a'], ['b', 'c', 'd']]);
  disk.end();
  await Promise.all(all);
});

test('flush writes what waits at once', async () => {
  const waiting = disk.commits.commit(['a'], false);
  const flushed = disk.commits.flush();
  await setImmediate();
  expect(disk.written).toEqual([['a']]);
  disk.end();
  await Promise.all([flushed, waiting]);
});

test.each([
  ['database or disk is full', /^free some disk space, then resume$/],
  ['database is locked', /^another program, such as a backup .* has locked it/],
])(
  'a failure (%s) takes its group with it, and what waits and comes later is not tried',
  async (message, hint) => {
    const group = [disk.commits.commit(['a']), disk.commits.commit(['b'])];
    await setImmediate();
    const behind = disk.commits.commit(['c']);
    void disk.commits.flush();
    disk.end(new Error(message));
    const [failure, ...others] = await outcomes([...group, behind]);
    expect(failure).toBeInstanceOf(StateError);
    expect(failure).toMatchObject({
      message: `cannot record the import in /state: ${message}`,
      hint: expect.stringMatching(hint),
    });
    const later = disk.commits.commit(['d']);
    expect([...others, ...(await outcomes([later]))]).toEqual([failure, failure, failure]);
    expect(disk.written).toEqual([['a', 'b']]);
  },
);
