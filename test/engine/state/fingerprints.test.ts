import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeDatabase, openDatabase } from '../../../src/engine/state/database.js';
import { BATCH, Fingerprints } from '../../../src/engine/state/fingerprints.js';
import { contentsOf, printsOf } from './support/state.js';

type Pairs = (readonly [id: number, content: number])[];

describe('Fingerprints', () => {
  const folder = join(tmpdir(), `profiles-prints-${process.pid}`);
  let db: DatabaseSyncInstance;
  let stored: Fingerprints;
  beforeAll(() => {
    db = openDatabase(folder);
    db.exec("PRAGMA synchronous = OFF; INSERT INTO scopes VALUES (1, 'a', 'r', 'h'), (2, 'b', 'r', 'h')");
    stored = new Fingerprints(db);
  });
  afterAll(() => {
    closeDatabase(db);
    rmSync(folder, { recursive: true });
  });

  /** What happens to fingerprints, by request. Compaction happens at any time between. */
  type Step =
    | { do: 'send'; request: number; pairs: Pairs }
    | { do: 'complete' | 'fail' | 'withdraw' | 'revive'; request: number }
    | { do: 'identify'; pairs: Pairs }
    | { do: 'full' }
    | { do: 'compact' };

  /** The contract in a few lines: a send clears its ids, its completion sets those that were not sent since. */
  class Model {
    readonly contents = new Map<number, number>();
    readonly #last = new Map<number, number | null>();
    readonly #requests = new Map<number, { pairs: Pairs; state: 'pending' | 'withdrawn' | 'ended' }>();

    take(step: Step): void {
      if (step.do === 'full') this.contents.clear();
      if (step.do === 'compact') {
        // It comes at the end of a run: what was given up until then is not sent by it any more.
        for (const each of this.#requests.values()) if (each.state === 'withdrawn') each.state = 'ended';
      }
      if (step.do === 'identify') this.#clear(step.pairs, null);
      if (step.do === 'send') {
        this.#clear(step.pairs, step.request);
        this.#requests.set(step.request, { pairs: step.pairs, state: 'pending' });
      }
      const request = 'request' in step ? this.#requests.get(step.request) : undefined;
      if (!request) return;
      if (step.do === 'withdraw') request.state = 'withdrawn';
      if (step.do === 'revive') request.state = 'pending';
      if (step.do === 'fail') request.state = 'ended';
      if (step.do === 'complete') {
        request.state = 'ended';
        for (const [id, content] of request.pairs) {
          if (this.#last.get(id) === step.request) this.contents.set(id, content);
        }
      }
    }

    /** Whether the program would take this step: what has ended, or was given up, does not end again. */
    allows(step: Step): boolean {
      if (!('request' in step)) return true;
      const state = this.#requests.get(step.request)?.state;
      if (step.do === 'send') return state !== 'ended';
      return step.do === 'revive' ? state === 'withdrawn' : state === 'pending';
    }

    #clear(pairs: Pairs, by: number | null): void {
      for (const [id] of pairs) {
        this.contents.delete(id);
        this.#last.set(id, by);
      }
    }
  }

  function take(step: Step): void {
    if (step.do === 'send') stored.resend(1, 'users', step.request, printsOf(...step.pairs));
    if (step.do === 'complete') stored.settle(step.request, BATCH.completed);
    if (step.do === 'fail' || step.do === 'withdraw') stored.settle(step.request, BATCH.dead);
    if (step.do === 'revive') stored.revive(step.request);
    if (step.do === 'identify') stored.append(1, 'users', null, printsOf(...step.pairs), BATCH.dead);
    if (step.do === 'full') stored.clear(1, 'users');
    if (step.do === 'compact') {
      // Enough that says nothing any more for compaction to be worth its while.
      for (let i = 0; i < 3; i++) stored.append(1, 'users', null, FILLER, BATCH.completed);
      expect(stored.compact(1, 'users')).toBe(true);
    }
  }

  const FILLER = printsOf(...Array.from({ length: 340 }, (_, i) => [1_000 + i, 1] as const));
  const IDS = [1, 2, 3];
  const CONTENTS = [1, 2];

  const somePairs = fc
    .uniqueArray(fc.constantFrom(...IDS), { minLength: 1 })
    .chain((ids) =>
      fc.tuple(...ids.map((id) => fc.constantFrom(...CONTENTS).map((content) => [id, content] as const))),
    );
  const request = fc.integer({ min: 1, max: 3 });
  const aStep: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('send' as const), request, pairs: somePairs }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('complete' as const), request }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('fail' as const, 'withdraw' as const, 'revive' as const),
        request,
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('identify' as const), pairs: somePairs }) },
    { weight: 1, arbitrary: fc.constant<Step>({ do: 'full' }) },
    { weight: 3, arbitrary: fc.constant<Step>({ do: 'compact' }) },
  );

  test('are compacted once more than a third says nothing, and not before, whether or not they were read first', () => {
    db.exec('DELETE FROM fingerprints');
    const all = printsOf(...Array.from({ length: 1_000 }, (_, i) => [i + 1, 1] as const));
    const again = printsOf(...Array.from({ length: 250 }, (_, i) => [i + 1, 2] as const));
    const complete = (request: number, prints: typeof all): void => {
      stored.resend(1, 'users', request, prints);
      stored.settle(request, BATCH.completed);
    };
    complete(1, all);
    stored.load(1, 'users');
    complete(2, again);
    expect(stored.compact(1, 'users')).toBe(false); // 1,250 rows for 1,000 ids
    complete(3, again);
    expect(stored.compact(1, 'users')).toBe(false); // 1,500
    complete(4, again);
    expect(stored.compact(1, 'users')).toBe(true); // 1,750
    expect(db.prepare('SELECT sum(length(ids)) / 8 AS rows FROM fingerprints').get()).toEqual({
      rows: 1_000,
    });
    expect(new Fingerprints(db).compact(1, 'users')).toBe(false);
    expect(contentsOf(stored.load(1, 'users'), [1, 250, 251], [1, 2])).toEqual(
      new Map([
        [1, 2],
        [250, 2],
        [251, 1],
      ]),
    );
  });

  test('what was completed before a moment counts as unknown, and so does what nobody dated', () => {
    db.exec('DELETE FROM fingerprints');
    const complete = (request: number, pairs: Pairs, at: string | null): void => {
      stored.resend(1, 'users', request, printsOf(...pairs));
      stored.settle(request, BATCH.completed, at);
    };
    complete(1, [[1, 1]], null);
    complete(2, [[2, 1]], '2026-01-15T12:00:00.000Z');
    complete(3, [[3, 1]], '2026-01-16T12:00:00.000Z');
    const known = (since: string | null) => [...contentsOf(stored.load(1, 'users', since), IDS, [1]).keys()];
    expect(known(null)).toEqual([1, 2, 3]);
    expect(known('2026-01-15T12:00:00.000Z')).toEqual([2, 3]);
    expect(known('2026-01-15T12:00:00.001Z')).toEqual([3]);
    // Sent again and not completed since: what was completed earlier does not come back.
    stored.resend(1, 'users', 4, printsOf([3, 2]));
    expect(known('2026-01-15T12:00:00.001Z')).toEqual([]);
  });

  test('keep their age when they are compacted: those of one hour the earliest in it', () => {
    db.exec('DELETE FROM fingerprints');
    const complete = (request: number, ids: readonly [from: number, to: number], at: string | null): void => {
      const pairs = Array.from({ length: ids[1] - ids[0] }, (_, i) => [ids[0] + i, request] as const);
      stored.resend(1, 'users', request, printsOf(...pairs));
      stored.settle(request, BATCH.completed, at);
    };
    complete(1, [1, 1_001], '2026-01-15T12:10:00.000Z');
    complete(2, [1, 501], '2026-01-15T12:50:00.000Z');
    complete(3, [301, 401], '2026-01-16T09:00:00.000Z');
    complete(4, [1, 301], null);
    complete(5, [1, 301], '2026-01-17T09:00:00.000Z');
    const counts = (): number[] =>
      [null, '2026-01-15T12:10:00.000Z', '2026-01-15T12:10:00.001Z', '2026-01-16T09:00:00.001Z'].map(
        (since) => stored.load(1, 'users', since).size,
      );
    expect(counts()).toEqual([1_000, 1_000, 500, 300]);
    expect(stored.extent(1, 'users')).toEqual({
      profiles: 1_000,
      oldest_completed_at: '2026-01-15T12:10:00.000Z',
      newest_completed_at: '2026-01-17T09:00:00.000Z',
    });
    expect(stored.compact(1, 'users')).toBe(true);
    // 401 to 500 were completed at 12:50, and count with 12:10: too early never leaves a row out.
    expect(counts()).toEqual([1_000, 1_000, 400, 300]);
    const rows = db
      .prepare('SELECT completed_at, length(ids) / 8 AS rows FROM fingerprints ORDER BY batch')
      .all();
    expect(rows).toEqual([
      { completed_at: '2026-01-15T12:10:00.000Z', rows: 600 },
      { completed_at: '2026-01-16T09:00:00.000Z', rows: 100 },
      { completed_at: '2026-01-17T09:00:00.000Z', rows: 300 },
    ]);
  });

  test('say the same as the contract in a Map, after every step, compacted or not', () => {
    fc.assert(
      fc.property(fc.array(aStep, { maxLength: 20, size: 'max' }), (steps) => {
        db.exec('DELETE FROM fingerprints');
        const model = new Model();
        for (const step of steps) {
          if (!model.allows(step)) continue;
          take(step);
          model.take(step);
          expect(contentsOf(stored.load(1, 'users'), IDS, CONTENTS)).toEqual(model.contents);
        }
      }),
      { numRuns: 400 },
    );
  });
});
