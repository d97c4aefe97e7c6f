/** What a step is given: flags, and what goes wrong meanwhile. */
import fc from 'fast-check';
import { ALL_WELL, type Circumstances } from './machine.js';
import type { Fate, Move } from './service.js';

export const FILES = ['a.csv', 'b.csv'] as const;
export const IDS = ['k1', 'k2', 'k3', 'k4'] as const;

/** True once in so many times. */
export const sometimes = (n: number): fc.Arbitrary<boolean> =>
  fc.integer({ min: 1, max: n }).map((k) => k === n);
const rarely = <T>(often: number, of: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: often, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: of });

const move = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Move>('accept') },
  { weight: 5, arbitrary: fc.constantFrom<Move>('lose before', 'lose after', 'lose after', 'name no job') },
  { weight: 4, arbitrary: fc.constantFrom<Move>(400, 401, 409, 413, 422, 422, 429, 500, 503) },
);
const fate: fc.Arbitrary<Fate> = fc.record({
  end: fc.constantFrom('completed', 'completed', 'completed', 'failed', 'short'),
  seconds: fc.constantFrom(1, 1, 1, 20, 600, 3_000, 10_000),
  gone: sometimes(8),
});
const trouble: fc.Arbitrary<Circumstances> = fc.record({
  moves: fc.array(move, { maxLength: 5 }),
  fates: fc.array(fate, { maxLength: 4 }),
  end: rarely(
    1,
    fc.oneof(
      {
        weight: 2,
        arbitrary: fc.record({
          at: fc.integer({ min: 1, max: 25 }),
          how: fc.constantFrom('kill', 'kill', 'Ctrl-C', 'Ctrl-C twice'),
        }),
      },
      // From there on, so early enough that some commit is left.
      {
        weight: 1,
        arbitrary: fc.record({ at: fc.integer({ min: 1, max: 12 }), how: fc.constant('full disk') }),
      },
    ),
  ),
});
export const circumstances = fc.oneof(
  { weight: 2, arbitrary: fc.constant(ALL_WELL) },
  { weight: 3, arbitrary: trouble },
);

/** A profile that is sent while a request of an import waits for its answer. */
export const meanwhile = rarely(
  5,
  fc.record({ request: fc.integer({ min: 1, max: 3 }), id: fc.constantFrom(...IDS) }),
);

export const sending = fc.record({
  changedOnly: sometimes(3),
  isolate: sometimes(3),
  continues: sometimes(5),
  canary: sometimes(6),
  noWait: sometimes(5),
  wait: fc.constantFrom(null, null, null, '2s', '90s'),
  chunk: fc.constantFrom(1, 2, 2, 5),
  concurrency: fc.constantFrom(1, 1, 3),
  retries: fc.constantFrom(0, 0, 2),
});
export type Sending = typeof sending extends fc.Arbitrary<infer T> ? T : never;

const isolating = ['--on-failure', 'isolate'];
export const isolation = (isolate: boolean): string[] => (isolate ? isolating : []);

/** Flags that belong to a plan. */
export const planning = (s: Sending): string[] => [
  ...['--chunk-size', `${s.chunk}`, '--concurrency', `${s.concurrency}`, '-o', `retries=${s.retries}`],
  ...(s.changedOnly ? ['--changed-only'] : []),
  ...(s.isolate && !s.noWait ? isolating : s.continues ? ['--on-failure', 'continue'] : []),
  ...(s.canary ? ['--canary', '1'] : []),
];

/** Flags that belong to a session. */
export const waiting = ({ noWait, wait }: { noWait?: boolean; wait: string | null }): string[] =>
  noWait ? ['--no-wait'] : wait === null ? [] : ['--wait', wait];
