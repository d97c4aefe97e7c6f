/** Which rows are remembered while other sends may still change the same profiles. */
import { rmSync } from 'node:fs';
import { describe, expect } from 'vitest';
import type { Kind } from '../../../src/engine/model.js';
import type { Database } from '../../../src/engine/state/database.js';
import { openSqlite } from '../../../src/engine/state/sqlite/backend.js';
import { type State, stateOf } from '../../../src/engine/state/state.js';
import {
  acknowledged,
  aJob,
  aRequest,
  contentsOf,
  printsOf,
  RUN,
  SCOPE,
  sender,
  test,
} from './support/state.js';

type Pair = readonly [id: number, content: number];

/** One session of one run. */
class Session {
  #requests = 0;

  private constructor(
    private readonly state: State,
    private readonly run: string,
    /** Ids that appear more than once in the inputs. */
    private readonly shared: readonly number[],
  ) {}

  static async of(state: State, run: string, ...shared: number[]): Promise<Session> {
    await sender(state, { run }).start();
    return new Session(state, run, shared);
  }

  /** Records the intent of a request. @returns its number */
  async intent(pairs: readonly Pair[], kind: Kind = 'companies'): Promise<number> {
    const seq = ++this.#requests;
    const shared = pairs.map(([id]) => id).filter((id) => this.shared.includes(id));
    await this.#of(kind).record(aRequest({ seq }), pairs, shared);
    return seq;
  }

  /** @param possibleDuplicate why it may have been sent twice */
  async acknowledge(seq: number, possibleDuplicate: string | null = null, kind: Kind = 'companies') {
    await this.#of(kind).record(acknowledged(aJob(`${this.run} ${seq}`), { seq, possibleDuplicate }));
  }

  async complete(seq: number): Promise<void> {
    await this.#of().ends(`${this.run} ${seq}`);
  }

  /** Sends rows, and sees them completed. */
  async send(...pairs: Pair[]): Promise<void> {
    const seq = await this.intent(pairs);
    await this.acknowledge(seq);
    await this.complete(seq);
  }

  #of(kind: Kind = 'companies') {
    return sender(this.state, { run: this.run, kind });
  }
}

const known = async (state: State, kind: Kind = 'companies') => [
  ...contentsOf(await state.known.load(SCOPE, kind), [1, 2], [5, 6, 7]),
];

/** The content of all rows of an id that one run has sent, together; 0 if it is not known. */
async function contentOf(state: State, id: number): Promise<bigint> {
  const index = await state.known.load(SCOPE, 'companies');
  return index.remembered(index.rowOf(BigInt(id))).content;
}

describe('what another run has sent of an id', () => {
  test('an unfinished job of an earlier session of the run counts like one of another run', async ({
    state,
  }) => {
    const session = await Session.of(state, 'one');
    await session.acknowledge(await session.intent([[1, 6]]));
    await state.runs.reopen('one');
    await session.send([1, 5], [2, 5]);
    expect(await known(state)).toEqual([[2, 5]]);
  });

  test('sent by identify between two requests of the run: not remembered', async ({ state }) => {
    const session = await Session.of(state, 'one');
    await session.send([2, 5]);
    await state.sends.startProfile(SCOPE, 'companies', BigUint64Array.of(1n));
    await session.send([1, 5]);
    expect(await known(state)).toEqual([[2, 5]]);
  });

  test('in an unfinished job of users: not remembered by a run that sends companies before', async ({
    state,
  }) => {
    const before = await Session.of(state, 'before');
    await before.acknowledge(await before.intent([[1, 5]], 'users'), null, 'users');
    const session = await Session.of(state, 'one');
    await session.send([1, 5]);
    const both: Pair[] = [
      [1, 6],
      [2, 6],
    ];
    const seq = await session.intent(both, 'users');
    await session.acknowledge(seq, null, 'users');
    await session.complete(seq);
    expect(await known(state)).toEqual([[1, 5]]);
    expect(await known(state, 'users')).toEqual([[2, 6]]);
  });
});

describe('what the same session has sent of an id', () => {
  test('in an unfinished job: not remembered', async ({ state }) => {
    const session = await Session.of(state, 'one', 1);
    const seq = await session.intent([[1, 5]]);
    await session.acknowledge(seq);
    await session.send([1, 6], [2, 6]);
    await session.complete(seq);
    expect(await known(state)).toEqual([[2, 6]]);
    expect(await contentOf(state, 1)).toBe(0n);
  });

  test('in a request that may have been sent twice: not remembered, however often it is sent after that', async ({
    state,
  }) => {
    const session = await Session.of(state, 'one', 1);
    const seq = await session.intent([[1, 5]]);
    await session.acknowledge(seq, 'reset');
    await session.complete(seq);
    await session.send([1, 6]);
    await session.send([1, 7]);
    expect(await contentOf(state, 1)).toBe(0n);
  });
});

/** A transaction may be run again from its start: then others may have written since it was begun for the first time. */
test('what others sent before a request was recorded again is not overlooked', async ({
  folder,
  state,
  clock,
}) => {
  const { db, ...backend } = openSqlite(folder);
  const lost = new Error('connection lost');
  /** The next write is undone once, as if the connection had been lost, and this is done before it is run again. */
  let meanwhile: (() => Promise<unknown>) | null = null;
  const write: Database['write'] = async (work) => {
    const others = meanwhile;
    meanwhile = null;
    if (others) {
      const undone = db.write(async (tx) => {
        await work(tx);
        throw lost;
      });
      await expect(undone).rejects.toBe(lost);
      await others();
    }
    return db.write(work);
  };
  const losing: Database = { read: (work) => db.read(work), close: () => db.close(), write };
  const other = stateOf(folder, state.secret, { ...backend, db: losing }, clock.now);
  const session = await Session.of(other, 'one');
  const first = await session.intent([[1, 5]]);
  // Another process sends the same profile by itself; its job is still unfinished when the request's job has ended.
  meanwhile = () => state.sends.startProfile(SCOPE, 'companies', printsOf([2, 0]).ids);
  const second = await session.intent([[2, 5]]);
  for (const seq of [first, second]) {
    await session.acknowledge(seq);
    await session.complete(seq);
  }
  expect(await known(state)).toEqual([[1, 5]]);
  await db.close();
  rmSync(folder, { recursive: true });
});

test('which request of a run is the last of an id: by their places, not by when they were sent', async ({
  state,
}) => {
  await sender(state).start();
  for (const seq of [1, 2]) await sender(state).record(acknowledged(aJob(`job-${seq}`), { seq }), [[7, 0]]);
  const sent = await state.sends.byRun(RUN, SCOPE, 'companies', (seq) => 3 - seq);
  expect([sent.by(7n, 1), sent.by(7n, 2)]).toEqual([RUN, null]);
});
