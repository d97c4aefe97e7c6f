/** How a plan is divided among shards: requests that share identifiers stay together, and each shard gets its share of rows. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Kind } from '../../../src/engine/model.js';
import { partsOf, RequestGroups } from '../../../src/engine/plan/shards.js';

describe('requests that share identifiers are one group', () => {
  const cases: [name: string, requests: [Kind, bigint[]][], groups: (number | null)[]][] = [
    ['none', [], []],
    [
      'no identifier is shared',
      [
        ['companies', []],
        ['companies', []],
      ],
      [null, null],
    ],
    [
      'one that appears twice within a request',
      [
        ['companies', [7n]],
        ['companies', []],
      ],
      [null, null],
    ],
    [
      'one in two requests',
      [
        ['companies', [7n]],
        ['companies', []],
        ['companies', [7n]],
      ],
      [1, null, 1],
    ],
    [
      'by a third request',
      [
        ['users', [1n]],
        ['users', [2n]],
        ['users', [1n, 2n]],
      ],
      [1, 1, 1],
    ],
    [
      'two groups, in the order of requests',
      [
        ['users', [1n]],
        ['users', [2n]],
        ['users', [2n]],
        ['users', [1n]],
      ],
      [1, 2, 2, 1],
    ],
    [
      'a chain',
      [
        ['users', [1n]],
        ['users', [2n, 1n]],
        ['users', [3n, 2n]],
        ['users', [3n]],
      ],
      [1, 1, 1, 1],
    ],
    [
      'companies and users are not the same',
      [
        ['companies', [1n]],
        ['users', [1n]],
      ],
      [null, null],
    ],
    [
      'the hash 0',
      [
        ['companies', [0n]],
        ['companies', [0n]],
      ],
      [1, 1],
    ],
  ];
  test.each(cases)('%s', (_, requests, groups) => {
    const found = new RequestGroups();
    for (const [kind, shared] of requests) found.add(kind, shared);
    expect(found.numbers()).toEqual(groups);
  });
});

/** Of one kind; a request as `rows` or `[rows, group]`. */
const plan = (...requests: (number | [number, number])[]) =>
  requests.map((request) => {
    const [rows, group] = typeof request === 'number' ? [request, undefined] : request;
    return { input: 0, rows, ...(group !== undefined && { group }) };
  });
const companies: { kind: Kind }[] = [{ kind: 'companies' }];

describe('the part of each request', () => {
  const cases: [name: string, requests: ReturnType<typeof plan>, shards: number, parts: number[]][] = [
    ['one shard has all', plan(5, 5, 5), 1, [1, 1, 1]],
    ['stretches of the same size', plan(5, 5, 5, 5), 2, [1, 1, 2, 2]],
    ['the last request is small', plan(5, 5, 5, 1), 2, [1, 1, 2, 2]],
    ['more shards than requests', plan(5, 5), 4, [1, 3]],
    ['a group in one part', plan([5, 1], 5, 5, [5, 1]), 2, [1, 2, 2, 1]],
    ['a group larger than a share', plan([5, 1], 5, [5, 1], 5, [5, 1]), 2, [1, 2, 1, 2, 1]],
    ['the largest group first', plan([1, 1], [9, 2], [1, 1], [9, 2]), 2, [2, 1, 2, 1]],
    ['groups of the same size in order', plan([5, 1], [5, 2], [5, 2], [5, 1]), 2, [1, 2, 2, 1]],
    ['requests that send nothing', plan(0, 5, 0, 5), 2, [1, 1, 1, 2]],
    ['nothing but those', plan(0, 0), 2, [1, 1]],
    ['none', [], 3, []],
  ];
  test.each(cases)('%s', (_, requests, shards, parts) => {
    expect(partsOf(requests, companies, shards)).toEqual(parts);
  });

  test('each kind by itself, since users wait for companies', () => {
    const requests = [...plan(5, 5, 5, 5), ...plan(3, 3).map((request) => ({ ...request, input: 1 }))];
    expect(partsOf(requests, [{ kind: 'companies' }, { kind: 'users' }], 2)).toEqual([1, 1, 2, 2, 1, 2]);
  });

  test('every request in one part, groups whole, and no part with more than a share and one group or request', () => {
    const request = fc.record({
      input: fc.nat(2),
      rows: fc.nat(50),
      group: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (made, shards) => {
        const inputs: { kind: Kind }[] = [{ kind: 'companies' }, { kind: 'companies' }, { kind: 'users' }];
        // A group is of one kind.
        const requests = made.map(({ input, rows, group }) => ({
          input,
          rows,
          ...(group !== undefined && { group: input === 2 ? group + 10 : group }),
        }));
        const parts = partsOf(requests, inputs, shards);
        expect(partsOf(requests, inputs, shards)).toEqual(parts);
        expect(parts).toHaveLength(requests.length);
        const partOfGroup = new Map<number, number>();
        for (const [at, { group }] of requests.entries()) {
          expect(parts[at]).toBeGreaterThanOrEqual(1);
          expect(parts[at]).toBeLessThanOrEqual(shards);
          if (group === undefined) continue;
          expect(parts[at]).toBe(partOfGroup.get(group) ?? parts[at]);
          partOfGroup.set(group, parts[at]!);
        }
        for (const kind of ['companies', 'users'] as const) {
          const own = [...requests.keys()].filter((at) => inputs[requests[at]!.input]!.kind === kind);
          const sum = (some: number[]): number => some.reduce((rows, at) => rows + requests[at]!.rows, 0);
          const groups = own.map((at) => {
            const { group } = requests[at]!;
            return group === undefined ? [at] : own.filter((other) => requests[other]!.group === group);
          });
          const largest = Math.max(0, ...groups.map(sum));
          for (let part = 1; part <= shards; part++) {
            expect(sum(own.filter((at) => parts[at] === part))).toBeLessThanOrEqual(
              sum(own) / shards + largest,
            );
          }
        }
      }),
      { seed: 20261122, numRuns: 300 },
    );
  });
});
