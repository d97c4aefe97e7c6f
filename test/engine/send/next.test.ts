/** Which request comes next for rows that failed: decisions as tables, and what they come to for random rows at fault. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RequestRecord } from '../../../src/engine/model/requests.js';
import { RunRequests } from '../../../src/engine/model/run-requests.js';
import { mayIsolate, nextStep } from '../../../src/engine/send/next.js';
import { times } from '../../support/times.js';
import { recordedRange } from '../support/rows.js';

/** A request, and those that have its rows instead. */
interface Part {
  is: Partial<RequestRecord>;
  items: number;
  parts: Part[];
}

const ENDED = { job_id: 'j', status: 'completed' };
const part = (is: Partial<RequestRecord>, items: number, parts: Part[] = []): Part => ({ is, items, parts });
const failed = (items: number, ...parts: Part[]): Part =>
  part({ state: 'settled', job: { job_id: 'j', status: 'failed' } }, items, parts);
const known = (items: number, ...parts: Part[]): Part => part({ state: 'divided' }, items, parts);
const waiting = (items: number): Part => part({ state: 'waiting' }, items);
const completed = (items: number): Part => part({ state: 'settled', job: ENDED }, items);
const short = (items: number): Part =>
  part({ state: 'settled', job: { ...ENDED, completed_rows: 0 } }, items);
const rejected = (items: number): Part => part({ state: 'rejected', failure: 'job failed' }, items);
const otherwise = (items: number): Part => part({ state: 'refused', failure: '422 invalid' }, items);
const tooLarge = (items: number, ...parts: Part[]): Part =>
  part({ state: 'divided', failure: '413' }, items, parts);

function requestsOf(root: Part): { requests: RunRequests; places: Map<number, string> } {
  const requests = new RunRequests();
  const places = new Map<number, string>();
  const add = ({ is, items, parts }: Part, parent: number | null, place: string): void => {
    const seq = requests.next;
    requests.add({ ...recordedRange(0, items), job: null, seq, parent, rows: items, ...is });
    places.set(seq, place);
    for (const [at, child] of parts.entries()) add(child, seq, place === '' ? `${at}` : `${place}.${at}`);
  };
  add(root, null, '');
  return { requests, places };
}

const RULES = { isolate: true, jobs: 128, wait: true, most: Number.POSITIVE_INFINITY };

/** The step, and the place of its request: `0.1` is the right half of the request that repeats the first one. */
function stepOf(root: Part, rules = RULES): string {
  const { requests, places } = requestsOf(root);
  const step = nextStep(requests.of(1)!, requests, rules);
  return step ? `${step.do} ${places.get(step.request.seq)}`.trim() : 'done';
}

describe('the next step', () => {
  test.each<[string, Part, string, Partial<typeof RULES>?]>([
    ['the same rows go once more', failed(8), 'repeat'],
    ['not unless they are to be searched', failed(8), 'done', { isolate: false }],
    ['they are sent', failed(8, waiting(8)), 'send 0'],
    ['in any case', failed(8, waiting(8)), 'send 0', { isolate: false }],
    [
      'what is under way is seen to its end',
      failed(8, part({ state: 'unknown' }, 8)),
      'send 0',
      { isolate: false },
    ],
    ['they complete', failed(8, completed(8)), 'done'],
    ['they fail alike', failed(8, failed(8)), 'divide 0'],
    ['they fail alike, and are not searched', failed(8, failed(8)), 'done', { isolate: false }],
    ['they fail in another way', failed(8, otherwise(8)), 'done'],
    ['a single item fails twice', failed(1, failed(1)), 'reject 0'],
    ['it fails in another way the second time', failed(1, otherwise(1)), 'done'],
    ['they end short', failed(8, short(8)), 'done'],
    [
      'short, and failed the second time',
      part({ state: 'settled', job: { ...ENDED, completed_rows: 1 } }, 8, [failed(8)]),
      'done',
    ],
    ['refused for its content', otherwise(8), 'repeat'],
    ['the left half first', failed(8, failed(8, waiting(4), waiting(4))), 'send 0.0'],
    ['the right half after it', failed(8, failed(8, failed(1), waiting(4))), 'reject 0.0'],
    ['which is sent where the left one fails', failed(8, failed(8, rejected(1), waiting(4))), 'send 0.1'],
    ['and is not sent where that completes', failed(8, failed(8, completed(4), waiting(4))), 'divide 0.1'],
    ['a single item is always sent', failed(2, failed(2, completed(1), waiting(1))), 'send 0.1'],
    [
      'what is known to fail has a left half',
      failed(8, failed(8, completed(4), known(4, waiting(2), waiting(2)))),
      'send 0.1.0',
    ],
    [
      'and a right one',
      failed(8, failed(8, completed(4), known(4, completed(2), waiting(2)))),
      'divide 0.1.1',
    ],
    [
      'a left half whose parts all completed says nothing of the right one',
      failed(8, failed(8, failed(4, completed(2), completed(2)), waiting(4))),
      'send 0.1',
    ],
    [
      'a half that fails in another way is divided, too',
      failed(8, failed(8, otherwise(4), waiting(4))),
      'divide 0.0',
    ],
    ['all is known', failed(2, failed(2, completed(1), rejected(1))), 'done'],
    [
      'what a later attempt sent again is a search of its own',
      failed(8, failed(8, failed(4, waiting(4)), completed(4))),
      'send 0.0.0',
      { jobs: 1 },
    ],
    ['no request is left', failed(8, failed(8, waiting(4), waiting(4))), 'leave 0.0', { jobs: 1 }],
    ['nor for the other half', failed(8, failed(8, rejected(4), waiting(4))), 'leave 0.1', { jobs: 2 }],
    ['what failed stays as it is', failed(8, failed(8, failed(4), rejected(4))), 'done', { jobs: 3 }],
    [
      'but a single item is rejected',
      failed(2, failed(2, failed(1), rejected(1))),
      'reject 0.0',
      { jobs: 3 },
    ],
    ['the repetition itself', failed(8, failed(8)), 'done', { jobs: 1 }],
    [
      'a request that was not sent takes none',
      failed(8, failed(8, completed(4), known(4, waiting(2), waiting(2)))),
      'send 0.1.0',
      { jobs: 3 },
    ],
    [
      'nor does one of a later attempt',
      failed(8, failed(8, failed(4, completed(4)), waiting(4))),
      'send 0.1',
      { jobs: 3 },
    ],
    ['a planned request is sent', waiting(8), 'send'],
    ['in two if it is too large by now', waiting(8), 'divide', { most: 7 }],
    ['a single item as it is', waiting(1), 'send', { most: 0 }],
    ['halves of what was too large are sent', tooLarge(8, waiting(4), waiting(4)), 'send 0'],
    ['one after the other', tooLarge(8, completed(4), waiting(4)), 'send 1'],
    ['which says nothing of single rows', failed(8, tooLarge(8, completed(4), waiting(4))), 'send 0.1'],
    ['and takes a request', failed(8, tooLarge(8, completed(4), waiting(4))), 'leave 0.1', { jobs: 2 }],
    ['one that fails is a matter of its own', tooLarge(8, failed(4), waiting(4)), 'repeat 0'],
  ])('%s', (_, source, step, rules = {}) => {
    expect(stepOf(source, { ...RULES, ...rules })).toBe(step);
  });
});

describe('whether to search', () => {
  const job = (status: string) => ({ job_id: 'j', status });
  const bad = recordedRange(0, 1, { state: 'settled', job: job('failed') });
  const good = recordedRange(0, 1, { state: 'settled', rows: 1, job: job('completed') });
  const short = recordedRange(0, 1, {
    state: 'settled',
    rows: 2,
    job: { ...job('completed'), completed_rows: 1 },
  });
  test.each([
    ['the first that fails', 1, [bad], true],
    ['the second', 2, [bad, bad], true],
    ['the third that fails alike, and none has completed', 3, [bad, bad, bad], false],
    ['the third, and a request has completed', 3, [bad, good, bad, bad], true],
    ['the third, and a part of the first has completed', 3, [bad, { ...good, parent: 1 }, bad, bad], true],
    ['a short job tells nothing', 3, [bad, bad, short, bad], false],
  ] as const)('%s', (_, alike, records, may) => {
    expect(mayIsolate(alike, new RunRequests(records))).toBe(may);
  });
});

/** A service that fails what holds a bad item, or two that do not go together, and keeps what it completes. */
class Service {
  readonly held = new Set<number>();
  readonly sent: number[][] = [];
  constructor(
    readonly bad: ReadonlySet<number>,
    readonly pairs: readonly (readonly [number, number])[],
  ) {}
  completes(items: readonly number[]): boolean {
    this.sent.push([...items]);
    const has = new Set(items);
    const fails = items.some((i) => this.bad.has(i)) || this.pairs.some(([a, b]) => has.has(a) && has.has(b));
    if (!fails) for (const i of items) this.held.add(i);
    return !fails;
  }
}

/** Carries out step after step, as the sender does. */
function search(n: number, service: Service, jobs: number) {
  const all = Array.from({ length: n }, (_, i) => i);
  const rows = new Map<number, number[]>();
  const requests = new RunRequests();
  const add = (parent: number | null, items: number[], is: Partial<RequestRecord>): void => {
    const seq = requests.next;
    rows.set(seq, items);
    requests.add({ ...recordedRange(0, items.length), seq, parent, rows: items.length, job: null, ...is });
  };
  add(null, all, failed(n).is);
  expect(service.completes(all)).toBe(false);
  service.sent.length = 0;
  const [rejected, left]: [number[], number[]] = [[], []];
  for (let steps = 0; ; steps++) {
    expect(steps).toBeLessThan(10 * n + 10);
    const step = nextStep(requests.of(1)!, requests, { ...RULES, jobs });
    if (!step) break;
    const { request } = step;
    const items = rows.get(request.seq)!;
    if (step.do === 'repeat') add(request.seq, items, waiting(0).is);
    if (step.do === 'send') Object.assign(request, (service.completes(items) ? completed(0) : failed(0)).is);
    if (step.do === 'divide') {
      if (request.state === 'waiting') request.state = 'divided';
      const middle = Math.ceil(items.length / 2);
      add(request.seq, items.slice(0, middle), waiting(0).is);
      add(request.seq, items.slice(middle), waiting(0).is);
    }
    if (step.do === 'reject') rejected.push(...items);
    if (step.do === 'leave') left.push(...items);
    if (step.do === 'reject') request.state = 'rejected';
    if (step.do === 'leave') request.state = 'failed';
  }
  const stays = requests.ends.filter(({ state }) => state === 'settled');
  const failing = stays.filter(({ job }) => job?.status === 'failed');
  return { rejected, left: [...left, ...failing.flatMap(({ seq }) => rows.get(seq)!)] };
}

const levels = (n: number): number => Math.ceil(Math.log2(n));
const aCase = fc.integer({ min: 1, max: 300 }).chain((n) =>
  fc.record({
    n: fc.constant(n),
    bad: fc.uniqueArray(fc.nat(n - 1), { maxLength: 12 }),
    pairs: fc.array(fc.tuple(fc.nat(n - 1), fc.nat(n - 1)), { maxLength: 3 }),
    jobs: fc.oneof(fc.constant(10_000), fc.integer({ min: 1, max: 40 })),
  }),
);

test('exactly the rows at fault are rejected, within the bounds', () => {
  fc.assert(
    fc.property(aCase, ({ n, bad, pairs, jobs }) => {
      const apart = pairs.filter(([a, b]) => a !== b && !bad.includes(a) && !bad.includes(b));
      fc.pre(bad.length + apart.length > 0);
      const service = new Service(new Set(bad), apart);
      const { rejected, left } = search(n, service, jobs);
      // Each row is in one place; a pair that fails only together is completed apart.
      expect([...rejected, ...left, ...service.held].sort((a, b) => a - b)).toEqual(
        Array.from({ length: n }, (_, i) => i),
      );
      for (const item of rejected) expect(bad).toContain(item);
      if (jobs === 10_000) expect([...rejected].sort()).toEqual([...bad].sort());
      const faults = bad.length + 2 * apart.length;
      expect(service.sent.length).toBeLessThanOrEqual(Math.min(jobs, 1 + 2 * faults * levels(n)));
      expect(service.sent.flat().length).toBeLessThanOrEqual(n * (1 + levels(n)));
    }),
    { numRuns: times(80) },
  );
});
