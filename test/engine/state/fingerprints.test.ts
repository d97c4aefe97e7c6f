import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { StoredCells } from '../../../src/engine/fingerprints/cells.js';
import { foldContents } from '../../../src/engine/fingerprints/tables.js';
import type { RequestRecord } from '../../../src/engine/model/requests.js';
import { Access } from '../../../src/engine/state/access.js';
import { Known } from '../../../src/engine/state/known.js';
import { openSqlite } from '../../../src/engine/state/sqlite/backend.js';
import type { Scope, State } from '../../../src/engine/state/state.js';
import { onPostgres, stateSql } from '../../support/state.js';
import { times } from '../../support/times.js';
import {
  acknowledged,
  aJob,
  aRequest,
  aRun,
  type Calendar,
  contentsOf,
  printsOf,
  rowsOf,
  sender,
  test,
} from './support/state.js';

type Pairs = (readonly [id: number, content: number])[];

/** What happens to fingerprints, by request; each is of a run of its own. Compaction happens at any time between. */
type Step =
  | { do: 'send'; request: number; pairs: Pairs }
  | { do: 'acknowledge' | 'complete' | 'fail' | 'gone' | 'lose' | 'withdraw' | 'revive'; request: number }
  | { do: 'forget'; request: number }
  | { do: 'identify'; pairs: Pairs }
  | { do: 'full' | 'compact' | 'a day passes' };

interface Send {
  request: number | null;
  /** Null where it must not be remembered. */
  contents: Map<number, number | null>;
  state: 'pending' | 'withdrawn' | 'ended';
  job: boolean;
  doubt: boolean;
}

/**
 * The contract in a few lines: a send clears its ids, its completion sets those that were not sent since. What another
 * unfinished job holds is not remembered, nor what may still get another content.
 */
class Model {
  readonly contents = new Map<number, number>();
  readonly #last = new Map<number, Send | null>();
  readonly #sends: Send[] = [];

  take(step: Step): void {
    if (step.do === 'full') this.contents.clear();
    if (step.do === 'a day passes') for (const send of this.#sends) send.doubt = false;
    if (step.do === 'identify') this.#clear(step.pairs, null);
    if (step.do === 'send') this.#send(step.request, step.pairs);
    const send = 'request' in step ? this.#of(step.request) : undefined;
    if (!send) return;
    if (step.do === 'forget') this.#letGo(send);
    if (step.do === 'acknowledge') Object.assign(send, { job: true, doubt: false });
    if (step.do === 'lose') send.doubt = true;
    if (step.do === 'withdraw') Object.assign(send, { state: 'withdrawn', doubt: false });
    if (step.do === 'revive') Object.assign(send, { state: 'pending', doubt: true });
    if (step.do === 'fail') Object.assign(send, { state: 'ended', job: false });
    if (step.do === 'gone') Object.assign(send, { state: 'ended', job: false, doubt: true });
    if (step.do !== 'complete') return;
    Object.assign(send, { state: 'ended', job: false });
    for (const [id, content] of send.contents) {
      if (content !== null && this.#last.get(id) === send) this.contents.set(id, content);
    }
  }

  /** Whether the program would take this step. */
  allows(step: Step): boolean {
    if (!('request' in step)) return true;
    const send = this.#of(step.request);
    if (step.do === 'send') return !send || (send.state !== 'ended' && !send.job);
    if (step.do === 'forget') return send !== undefined;
    if (step.do === 'revive') return send?.state === 'withdrawn';
    if (step.do === 'complete' || step.do === 'fail' || step.do === 'gone') return send?.job === true;
    return send?.state === 'pending' && !send.job;
  }

  #of(request: number): Send | undefined {
    return this.#sends.find((send) => send.request === request);
  }

  #letGo(send: Send): void {
    send.request = null;
    if (!send.job) send.state = 'ended';
  }

  #send(request: number, pairs: Pairs): void {
    const before = this.#of(request);
    if (before) this.#letGo(before);
    const open = (id: number, content: number): boolean =>
      this.#sends.some(
        ({ job, doubt, contents }) => contents.has(id) && (job || (doubt && contents.get(id) !== content)),
      );
    const contents = new Map(pairs.map(([id, content]) => [id, open(id, content) ? null : content]));
    const send: Send = { request, contents, state: 'pending', job: false, doubt: true };
    this.#sends.push(send);
    this.#clear(pairs, send);
  }

  #clear(pairs: Pairs, by: Send | null): void {
    for (const [id] of pairs) {
      this.contents.delete(id);
      this.#last.set(id, by);
    }
  }
}

/** Pairs of these ids, up to and without the last, each with this content. */
const pairsOf = (from: number, to: number, content: number): Pairs =>
  Array.from({ length: to - from }, (_, i) => [from + i, content] as const);

const FILLER = pairsOf(1_000, 1_340, 1);
const IDS = [1, 2, 3];
const CONTENTS = [1, 2];

/** An account of its own, and the steps taken in it. */
class Account {
  readonly #scope: Scope;
  /** Runs that were forgotten go on under another name. */
  readonly #names = new Map<number, string>();
  #filled = 0;

  constructor(
    private readonly state: State,
    private readonly clock: Calendar,
    private readonly name: string,
  ) {
    this.#scope = { account: name, region: 'r', base_url: 'h' };
  }

  async take(step: Step): Promise<void> {
    const { state } = this;
    if (step.do === 'full') await state.known.clear(this.#scope, 'users');
    if (step.do === 'a day passes') this.clock.pass(24 * 3_600_000);
    if (step.do === 'compact') await this.#compact();
    if (step.do === 'identify') {
      const ids = printsOf(...step.pairs).ids;
      await state.sends.endProfile(await state.sends.startProfile(this.#scope, 'users', ids), false);
    }
    if (!('request' in step)) return;
    const { request } = step;
    const job = aJob(`${this.name}-${await this.#run(request)}`);
    switch (step.do) {
      case 'send':
        await state.runs.reopen(await this.#run(request));
        return this.#record(request, aRequest(), step.pairs);
      case 'acknowledge':
        return this.#record(request, acknowledged(job));
      case 'lose':
        return this.#record(request, aRequest({ state: 'unknown', reason: 'reset' }));
      case 'withdraw':
        return this.#record(request, aRequest({ state: 'withdrawn', reason: '429' }));
      case 'revive':
        return this.#record(request, aRequest({ retries: 1 }));
      case 'gone':
        return await state.jobs.update(this.#scope, { ...job, status: 'unknown' }, true);
      case 'complete':
      case 'fail':
        return await state.jobs.update(this.#scope, {
          ...job,
          status: step.do === 'fail' ? 'failed' : 'completed',
        });
      case 'forget':
        await state.runs.forget(await this.#run(request));
        this.#names.delete(request);
    }
  }

  async held(): Promise<Map<number, number>> {
    return contentsOf(await this.state.known.load(this.#scope, 'users'), IDS, CONTENTS);
  }

  async #run(request: number): Promise<string> {
    const known = this.#names.get(request);
    if (known) return known;
    const run = `${this.name} ${request} ${this.#filled++}`;
    await this.state.runs.start(aRun({ run, scope: this.#scope }));
    this.#names.set(request, run);
    return run;
  }

  async #record(request: number, record: RequestRecord, pairs: Pairs | null = null) {
    const run = await this.#run(request);
    const recorded = sender(this.state, { run, scope: this.#scope, kind: 'users' }).record(record, pairs);
    // An acknowledgement would wait for the next intent; a question comes after all that was recorded.
    await Promise.all([recorded, this.held()]);
  }

  /** Enough that says nothing any more for compaction to be worth its while. */
  async #compact(): Promise<void> {
    for (let i = 0; i < 3; i++) {
      const run = `${this.name} filler ${this.#filled++}`;
      await sender(this.state, { run, scope: this.#scope, kind: 'users' }).completes(FILLER);
    }
    await this.state.known.compact(this.#scope, 'users');
  }
}

const somePairs = fc
  .uniqueArray(fc.constantFrom(...IDS), { minLength: 1 })
  .chain((ids) =>
    fc.tuple(...ids.map((id) => fc.constantFrom(...CONTENTS).map((content) => [id, content] as const))),
  );
const request = fc.integer({ min: 1, max: 3 });
const aStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('send' as const), request, pairs: somePairs }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('acknowledge' as const), request }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('complete' as const), request }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'fail' as const,
        'gone' as const,
        'lose' as const,
        'withdraw' as const,
        'revive' as const,
      ),
      request,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), request }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('identify' as const), pairs: somePairs }) },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ do: 'full' }, { do: 'a day passes' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'compact' }) },
);

describe('fingerprints', () => {
  const SCOPE = { account: 'a', region: 'r', base_url: 'h' };
  const users = (state: State, run: string) => sender(state, { run, scope: SCOPE, kind: 'users' });

  test('are compacted once more than a third says nothing, and not before, whether or not they were read first', async ({
    state,
    disk,
    reopen,
  }) => {
    const again = pairsOf(1, 251, 2);
    const stored = async (): Promise<unknown> => {
      await state.known.compact(SCOPE, 'users');
      return disk.prepare('SELECT sum(length(ids)) / 8 AS rows FROM fingerprints').get();
    };
    await users(state, 'run 1').completes(pairsOf(1, 1_001, 1));
    await state.known.load(SCOPE, 'users');
    await users(state, 'run 2').completes(again);
    expect(await stored()).toEqual({ rows: 1_250 }); // for 1,000 ids
    await users(state, 'run 3').completes(again);
    await (await reopen()).known.compact(SCOPE, 'users'); // knows no number of ids
    expect(await stored()).toEqual({ rows: 1_500 });
    await users(state, 'run 4').completes(again);
    expect(await stored()).toEqual({ rows: 1_000 }); // they were 1,750
    await (await reopen()).known.compact(SCOPE, 'users');
    expect(await stored()).toEqual({ rows: 1_000 });
    const held = contentsOf(await state.known.load(SCOPE, 'users'), [1, 250, 251], [1, 2]);
    expect([...held]).toEqual([
      [1, 2],
      [250, 2],
      [251, 1],
    ]);
    for (const run of ['run 5', 'run 6'])
      await sender(state, { run, scope: SCOPE }).completes(pairsOf(1, 501, 1)); // the fewest that are compacted
    await state.known.compact(SCOPE, 'companies');
    expect(await stored()).toEqual({ rows: 1_500 });
  });

  test.skipIf(onPostgres).for([15_000, 100])(
    'are compacted %s ids at a time with the same result',
    async (atOnce, { state, folder, disk, clock }) => {
      const rows = 1_500;
      // As random as a hash is, in its high word too.
      const idOf = (n: number): bigint => BigInt.asUintN(64, BigInt(n + 1) * 0x9e3779b97f4a7c15n);
      // Each run sends a part of the ids again, all of them completed but the last one.
      for (const [number, share] of [1, 1, 2, 3, 5].entries()) {
        const { start, ends } = users(state, `run ${number}`);
        const ids = Array.from({ length: rows }, (_, n) => n).filter((n) => n % share === 0);
        const prints = {
          ...printsOf(...ids.map((n) => [n, 1] as const)),
          ids: BigUint64Array.from(ids, idOf),
        };
        await start();
        const request = acknowledged(aJob(`job ${number}`));
        await state.requests.record(`run ${number}`, SCOPE, 'users', request, rowsOf(prints));
        if (share < 5) await ends(`job ${number}`);
      }
      const { db } = openSqlite(folder);
      await new Known(new Access(db, folder, clock.now), async () => {}, atOnce).compact(SCOPE, 'users');
      await db.close();
      // The last row of each id, and all those of the open send; what a send of the same id holds still counts until then.
      expect(disk.prepare('SELECT sum(length(ids)) / 8 AS rows FROM fingerprints').get()).toEqual({ rows });
      expect((await state.known.load(SCOPE, 'users')).size).toBe(rows - rows / 5);
    },
  );

  test('of a request that was sent again after its answer was lost are compacted a day later', async ({
    state,
    disk,
    clock,
  }) => {
    const pairs = pairsOf(1, 1_001, 1);
    for (const run of ['run 1', 'run 2']) {
      const { start, record, ends } = users(state, run);
      await start();
      await record(aRequest(), pairs);
      await record(aRequest({ state: 'unknown' }));
      await record(aRequest(), pairs);
      await record(acknowledged(aJob(run)));
      await ends(run);
    }
    clock.pass(24 * 3_600_000);
    await users(state, 'run 3').start();
    await state.known.compact(SCOPE, 'users');
    const rows =
      'SELECT run, sum(length(ids)) / 8 AS rows FROM sends JOIN fingerprints USING (send) GROUP BY run';
    expect(disk.prepare(rows).all()).toEqual([{ run: 'run 2', rows: 2_000 }]);
  });

  /** Sends these rows and sees them completed; their age counts from the moment at which they were accepted. */
  async function complete(state: State, clock: Calendar, pairs: Pairs, at: string): Promise<void> {
    const { start, record, ends } = users(state, `run of ${at}`);
    clock.time = Date.parse(at);
    await start();
    await record(acknowledged(aJob(at)), pairs);
    clock.pass(5 * 3_600_000);
    await ends(at);
  }

  /** One that was recorded before its age was. */
  function undate(folder: string, at: string): void {
    const sql = `UPDATE sends SET completed_at = NULL WHERE completed_at = '${at}'`;
    if (onPostgres) return void stateSql(folder, sql);
    const db = new DatabaseSync(join(folder, 'state.db'));
    db.exec(sql);
    db.close();
  }

  test('what one run sent of an id, one time after another, counts together, compacted or not', async ({
    state,
  }) => {
    const cellsOf = (rows: number, hash: number) => ({
      keys: ['k'],
      bytes: Buffer.concat(Array.from({ length: rows }, (_, row) => Buffer.from([1, hash, row & 0xff]))),
    });
    const complete = async (run: string, seq: number, pairs: Pairs, hash: number): Promise<void> => {
      const job = `${run} ${seq}`;
      const prints = { ...printsOf(...pairs), cells: cellsOf(pairs.length, hash) };
      await state.requests.record(run, SCOPE, 'users', acknowledged(aJob(job), { seq }), rowsOf(prints));
      await users(state, run).ends(job);
    };
    await users(state, 'one').start();
    await complete('one', 1, pairsOf(1, 1_001, 5), 1);
    const two: Pairs = [
      [1_000, 6],
      [1_500, 7],
    ];
    await complete('one', 2, two, 2);
    const check = async () => {
      const index = await state.known.load(SCOPE, 'users');
      const row = index.rowOf(1_000n);
      expect(index.remembered(row).content).toBe(foldContents(5n, 6n));
      const cells: number[] = [];
      for (const { send, at } of index.placesOf(row)) {
        new StoredCells((await state.known.cells(send))!).each(at, (_, hash) => cells.push(hash));
      }
      // Of its row in each of the two requests, wherever that is stored now.
      expect(cells).toEqual([1 + 256 * (999 & 0xff), 2]);
      return index;
    };
    const before = await check();
    await users(state, 'two').start();
    await complete('two', 1, pairsOf(1, 999, 8), 3);
    await state.known.compact(SCOPE, 'users');
    const after = await check();
    expect(after.rows).toBeLessThan(before.rows + 998);
    expect(after.remembered(after.rowOf(1n)).content).toBe(8n);
  });

  test('what was completed before a moment counts as unknown, and so does what nobody dated', async ({
    state,
    clock,
    folder,
  }) => {
    const [first, second, third] = ['14', '15', '16'].map((day) => `2026-01-${day}T12:00:00.000Z`);
    await complete(state, clock, [[1, 1]], first!);
    await complete(state, clock, [[2, 1]], second!);
    await complete(state, clock, [[3, 1]], third!);
    undate(folder, first!);
    const known = async (since: string | null) => [
      ...contentsOf(await state.known.load(SCOPE, 'users', since), IDS, [1]).keys(),
    ];
    expect(await known(null)).toEqual([1, 2, 3]);
    expect(await known(second!)).toEqual([2, 3]);
    expect(await known('2026-01-15T12:00:00.001Z')).toEqual([3]);
    // Sent again and not completed since: what was completed earlier does not come back.
    await state.sends.startProfile(SCOPE, 'users', BigUint64Array.of(3n));
    expect(await known('2026-01-15T12:00:00.001Z')).toEqual([]);
  });

  test('keep their age when they are compacted', async ({ state, clock, folder, disk }) => {
    await complete(state, clock, pairsOf(1, 1_001, 1), '2026-01-15T12:10:00.000Z');
    await complete(state, clock, pairsOf(1, 501, 2), '2026-01-15T12:50:00.000Z');
    await complete(state, clock, pairsOf(301, 401, 3), '2026-01-16T09:00:00.000Z');
    await complete(state, clock, pairsOf(1, 301, 4), '2026-01-17T08:00:00.000Z');
    await complete(state, clock, pairsOf(1, 301, 5), '2026-01-17T09:00:00.000Z');
    undate(folder, '2026-01-17T08:00:00.000Z');
    const counts = async (): Promise<number[]> => {
      const sizes: number[] = [];
      for (const since of [
        null,
        '2026-01-15T12:10:00.000Z',
        '2026-01-15T12:10:00.001Z',
        '2026-01-16T09:00:00.001Z',
      ])
        sizes.push((await state.known.load(SCOPE, 'users', since)).size);
      return sizes;
    };
    expect(await counts()).toEqual([1_000, 1_000, 500, 300]);
    await state.known.compact(SCOPE, 'users');
    expect(await counts()).toEqual([1_000, 1_000, 500, 300]);
    expect((await state.overview()).known).toMatchObject([
      {
        rows: 1_000,
        oldest_completed_at: '2026-01-15T12:10:00.000Z',
        newest_completed_at: '2026-01-17T09:00:00.000Z',
      },
    ]);
    const rows = disk
      .prepare(
        'SELECT completed_at, length(ids) / 8 AS rows FROM sends JOIN fingerprints USING (send) ORDER BY send',
      )
      .all();
    expect(rows).toEqual([
      { completed_at: '2026-01-15T12:10:00.000Z', rows: 500 },
      { completed_at: '2026-01-15T12:50:00.000Z', rows: 100 },
      { completed_at: '2026-01-16T09:00:00.000Z', rows: 100 },
      { completed_at: '2026-01-17T09:00:00.000Z', rows: 300 },
    ]);
  });

  let accounts = 0;
  const follow = async (steps: readonly Step[], state: State, clock: Calendar): Promise<void> => {
    const model = new Model();
    const account = new Account(state, clock, `account ${++accounts}`);
    for (const [at, step] of steps.entries()) {
      if (!model.allows(step)) continue;
      await account.take(step);
      model.take(step);
      expect(await account.held(), `after step ${at}, ${step.do}`).toEqual(model.contents);
    }
  };

  /** Steps in words: what is done, the request, and the content of its only id. */
  const stepsIn = (words: string): Step[] =>
    words.split(', ').map((word) => {
      const [, what, request, content] = /^(.*?)(?: (\d)(?: of (\d))?)?$/.exec(word)!;
      const pairs = content === undefined ? {} : { pairs: [[1, Number(content)]] };
      return { do: what, ...(request !== undefined && { request: Number(request) }), ...pairs } as Step;
    });

  const SENT_AGAIN = 'send 2 of 2, acknowledge 2, complete 2';
  test.for([
    [
      'a request that was given up, and goes out after everything was cleared, is remembered',
      'send 1 of 1, withdraw 1, full, revive 1, acknowledge 1, complete 1',
      1,
    ],
    [
      'both of two jobs of one id are forgotten, whichever is seen to end first',
      'send 1 of 1, acknowledge 1, send 2 of 2, acknowledge 2, complete 2, complete 1',
      0,
    ],
    [
      'what an unfinished job holds is not compacted away by a later send',
      `send 1 of 1, acknowledge 1, ${SENT_AGAIN}, compact, send 3 of 2, acknowledge 3, complete 3`,
      0,
    ],
    [
      'a forgotten run’s unfinished job still counts',
      `send 1 of 1, acknowledge 1, forget 1, ${SENT_AGAIN}`,
      0,
    ],
    [
      'for a day, what may still get another content is not remembered',
      `send 1 of 1, lose 1, ${SENT_AGAIN}`,
      0,
    ],
    ['nor is it if its job is gone', `send 1 of 1, acknowledge 1, gone 1, ${SENT_AGAIN}`, 0],
    ['after a day it is', `send 1 of 1, lose 1, a day passes, ${SENT_AGAIN}`, 1],
    [
      'the same content with an unknown outcome is no other content',
      'send 1 of 1, lose 1, send 2 of 1, acknowledge 2, complete 2',
      1,
    ],
  ] as const)('%s', async ([, words, held], { state, clock }) => {
    const steps = stepsIn(words);
    await follow(steps, state, clock);
    const model = new Model();
    for (const step of steps) {
      expect(model.allows(step), step.do).toBe(true);
      model.take(step);
    }
    expect(model.contents.size).toBe(held);
  });

  test('say the same as the contract in a Map, after every step, compacted or not', async ({
    state,
    clock,
  }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(aStep, { maxLength: 20, size: 'max' }), (steps) =>
        follow(steps, state, clock),
      ),
      { numRuns: times(20) },
    );
  });
});
