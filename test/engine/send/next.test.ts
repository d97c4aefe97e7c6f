/** Whether rows at fault are searched, and what the decisions of `pages/next.md` come to for random ones. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ImportEvent } from '../../../src/engine/events.js';
import type { RequestRecord } from '../../../src/engine/model/requests.js';
import { RunRequests } from '../../../src/engine/model/run-requests.js';
import { mayIsolate, nextStep } from '../../../src/engine/send/next.js';
import { Searches } from '../../../src/engine/send/searches.js';
import { times } from '../../support/times.js';
import { recordedRange } from '../support/rows.js';

const RULES = { isolate: true, jobs: 128, wait: true, most: Number.POSITIVE_INFINITY };
const ended = (status: string): Partial<RequestRecord> => ({
  state: 'settled',
  job: { job_id: 'j', status },
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

  test('the third waits for both others to end, and does not begin then', async () => {
    const told: ImportEvent[] = [];
    const deps = {
      requests: new RunRequests([bad, bad, bad]),
      emit: (event: ImportEvent) => told.push(event),
    };
    const searches = new Searches();
    const [first, second] = [await searches.begin(bad, deps), await searches.begin(bad, deps)];
    const third = searches.begin(bad, deps).then((end) => ({ end }));
    const soon = () => Promise.race([third, new Promise((resolve) => setImmediate(resolve, 'waits'))]);
    expect(await soon()).toBe('waits');
    first!();
    expect(await soon()).toBe('waits');
    second!();
    expect(await soon()).toEqual({ end: null });
    expect(told).toMatchObject([{ problem: { code: 'isolation_not_started' } }]);
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
  add(null, all, ended('failed'));
  expect(service.completes(all)).toBe(false);
  service.sent.length = 0;
  const [rejected, left]: [number[], number[]] = [[], []];
  for (let steps = 0; ; steps++) {
    expect(steps).toBeLessThan(10 * n + 10);
    const step = nextStep(requests.of(1)!, requests, { ...RULES, jobs });
    if (!step) break;
    const { request } = step;
    const items = rows.get(request.seq)!;
    if (step.do === 'repeat') add(request.seq, items, { state: 'withdrawn' });
    if (step.do === 'send') Object.assign(request, ended(service.completes(items) ? 'completed' : 'failed'));
    if (step.do === 'divide') {
      if (request.state === 'withdrawn') request.state = 'divided';
      const middle = Math.ceil(items.length / 2);
      add(request.seq, items.slice(0, middle), { state: 'withdrawn' });
      add(request.seq, items.slice(middle), { state: 'withdrawn' });
    }
    if (step.do === 'reject') rejected.push(...items);
    if (step.do === 'leave') left.push(...items);
    if (step.do === 'reject') request.state = 'rejected';
    if (step.do === 'leave') request.state = 'unsent';
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
