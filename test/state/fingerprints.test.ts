import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeDatabase, openDatabase } from '../../src/state/database.js';
import { BATCH, FingerprintIndex, Fingerprints, type Prints } from '../../src/state/fingerprints.js';
import { printsOf } from './support/state.js';

type Pairs = (readonly [id: number, content: number])[];

/** Content of each of these ids as the index has it; ids without a fingerprint are left out. */
function contentsOf(index: FingerprintIndex, ids: readonly number[], contents: readonly number[]) {
  const found = new Map<number, number>();
  for (const id of ids) {
    for (const content of contents) if (index.matches(printsOf([id, content]), 0)) found.set(id, content);
  }
  return found;
}

describe('FingerprintIndex', () => {
  test('matches an id with the content that was set, and nothing else', () => {
    const index = new FingerprintIndex();
    index.apply(printsOf([1, 10], [2, 20]), true);
    const asked = printsOf([1, 10], [1, 20], [2, 20], [3, 10]);
    expect([0, 1, 2, 3].map((at) => index.matches(asked, at))).toEqual([true, false, true, false]);
  });

  test('a later content takes the place of an earlier one, and clearing leaves none', () => {
    const index = new FingerprintIndex();
    index.apply(printsOf([1, 10], [2, 10]), true);
    index.apply(printsOf([1, 11]), true);
    index.apply(printsOf([2, 10]), false);
    expect(contentsOf(index, [1, 2], [10, 11])).toEqual(new Map([[1, 11]]));
  });

  test('arrays that begin in the middle of a buffer are read from where they begin', () => {
    const index = new FingerprintIndex();
    const all = printsOf([1, 10], [2, 20], [3, 30]);
    index.apply({ ids: all.ids.subarray(1, 2), contents: all.contents.subarray(1, 2) }, true);
    expect(contentsOf(index, [1, 2, 3], [10, 20, 30])).toEqual(new Map([[2, 20]]));
  });

  /** Ids that fall on one place of the table, and ids that fall anywhere. */
  const anId = fc.oneof(
    fc.integer({ min: 1, max: 40 }).map((high) => (BigInt(high) << 32n) | 7n),
    fc.bigInt({ min: 1n, max: (1n << 64n) - 1n }),
  );
  const aContent = fc.bigInt({ min: 1n, max: (1n << 64n) - 1n });

  test('says the same as a Map, whatever is set and cleared', () => {
    const changes = fc.array(
      fc.record({ rows: fc.array(fc.tuple(anId, aContent), { maxLength: 30 }), set: fc.boolean() }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(changes, (batches) => {
        const index = new FingerprintIndex();
        const model = new Map<bigint, bigint>();
        for (const { rows, set } of batches) {
          index.apply(pack(rows), set);
          for (const [id, content] of rows) set ? model.set(id, content) : model.delete(id);
        }
        const asked = batches.flatMap(({ rows }) => rows);
        const prints = pack(asked);
        expect(asked.map((_, at) => index.matches(prints, at))).toEqual(
          asked.map(([id, content]) => model.get(id) === content),
        );
        expect(new Map([...index.entries()].flatMap(unpack))).toEqual(model);
      }),
    );
  });

  test('holds as many as come', () => {
    const index = new FingerprintIndex();
    const rows = Array.from({ length: 200_000 }, (_, i): [bigint, bigint] => [
      (BigInt(i + 1) * 0x9e3779b97f4a7c15n) & ((1n << 64n) - 1n),
      BigInt(i + 1),
    ]);
    const prints = pack(rows);
    index.apply(prints, true);
    expect(rows.every((_, at) => index.matches(prints, at))).toBe(true);
    const batches = [...index.entries()];
    expect(Math.max(...batches.map(({ ids }) => ids.length))).toBeLessThanOrEqual(65_536);
    expect(new Set(batches.flatMap(({ ids }) => [...ids])).size).toBe(200_000);
  });
});

const pack = (rows: readonly (readonly [id: bigint, content: bigint])[]): Prints => ({
  ids: BigUint64Array.from(rows, ([id]) => id),
  contents: BigUint64Array.from(rows, ([, content]) => content),
});

const unpack = ({ ids, contents }: Prints): [bigint, bigint][] =>
  [...ids].map((id, at) => [id, contents[at]!]);

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
