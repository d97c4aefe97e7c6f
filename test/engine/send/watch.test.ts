/** Jobs that are followed, by a service that answers by the time. */
import { describe, expect, test } from 'vitest';
import { ServiceError, WaitTimeoutError } from '../../../src/engine/errors.js';
import { pollInterval, readJobs, type WatchOptions, watchJobs } from '../../../src/engine/send/follow.js';
import type { Job } from '../../../src/engine/service/contract.js';
import { IdleClock } from '../../support/clock.js';
import { collectGarbage } from '../../support/measure.js';

test.each([
  ['a new job', 0, 200],
  ['just before a tenth counts', 2_000, 200],
  ['a minute', 60_000, 6_000],
  ['a day', 86_400_000, 10_000],
])('the interval: %s', (_name, age, interval) => {
  expect(pollInterval(age)).toBe(interval);
});

type Reply = Partial<Job> | Error;
/** What a job answers from a time on, milliseconds since the start. */
type Times = [from: number, reply: Reply][];

interface Following extends Partial<WatchOptions> {
  /** With a state, in which a job that is missing now was first missed so long ago, milliseconds. */
  missedFor?: number;
}

/** Follows these jobs. @returns what was yielded, the polls, when it was over, and what the state was told */
async function followed(
  jobs: Record<string, Times>,
  { missedFor, ...over }: Following = {},
  known: Job[] = [],
) {
  const clock = new IdleClock();
  const polls: [id: string, at: number][] = [];
  const client = {
    job: async (id: string): Promise<Job> => {
      if (polls.length > 1_000) throw new Error('asked without a pause');
      polls.push([id, clock.monotonic()]);
      const reply = jobs[id]!.filter(([from]) => from <= clock.monotonic()).at(-1)![1];
      if (reply instanceof Error) throw reply;
      return { job_id: id, status: 'queued', links: null, ...reply };
    },
  };
  const told: string[] = [];
  const missing: WatchOptions['missing'] = async (_, isMissing) => {
    told.push(isMissing ? 'missing' : 'found');
    return clock.now() - missedFor!;
  };
  const options = { clock, ...over, ...(missedFor !== undefined && { missing }) };
  const all = Object.keys(jobs).map((id) => known.find((job) => job.job_id === id) ?? id);
  const seen: string[] = [];
  let failure: unknown = null;
  try {
    for await (const one of watchJobs(client, all, options)) {
      const state = one.missing ? 'missing' : `${one.job.status} ${one.job.completed_rows ?? ''}`.trim();
      seen.push(`${one.job_id} ${state}`);
    }
  } catch (error) {
    failure = error;
  }
  return { seen, polls, failure, end: clock.monotonic(), told };
}

const missing = new ServiceError('no such job', { status: 404 });
const refused = new ServiceError('no', { status: 500 });
const done = { status: 'completed' };
type Case = [
  name: string,
  jobs: Record<string, Times>,
  wanted: { seen: string[]; failure?: unknown; end?: number; polls?: unknown },
  options?: Following,
  known?: Job[],
];

test.each<Case>([
  [
    'a job is yielded when its status or its rows change, and ends with it',
    {
      a: [
        [0, {}],
        [1_000, { status: 'processing', completed_rows: 10 }],
        [2_000, { status: 'processing', completed_rows: 20 }],
        [3_000, { ...done, completed_rows: 30 }],
      ],
    },
    { seen: ['a queued', 'a processing 10', 'a processing 20', 'a completed 30'], failure: null },
  ],
  [
    'each has its own end; a status that is not known is unfinished',
    {
      a: [[0, done]],
      b: [
        [0, { status: 'thinking' }],
        [5_000, { status: 'failed' }],
      ],
    },
    { seen: ['a completed', 'b thinking', 'b failed'] },
  ],
  [
    'a fixed interval',
    {
      a: [
        [0, {}],
        [4_000, done],
      ],
    },
    { seen: ['a queued', 'a completed'], polls: [0, 1_500, 3_000, 4_500].map((at) => ['a', at]) },
    { intervalMs: 1_500 },
  ],
  [
    'an interval of nothing is one of a millisecond',
    {
      a: [
        [0, {}],
        [3, done],
      ],
    },
    { seen: ['a queued', 'a completed'], polls: [0, 1, 2, 3].map((at) => ['a', at]) },
    { intervalMs: 0 },
  ],
  [
    'a record that is known is not yielded again, and one that has ended is not polled',
    {
      a: [
        [0, {}],
        [900, done],
      ],
      x: [[0, refused]],
    },
    { seen: ['a completed'], failure: null, polls: [500, 1_000].map((at) => ['a', at]) },
    { intervalMs: 500 },
    [
      { job_id: 'a', status: 'queued' },
      { job_id: 'x', status: 'failed' },
    ],
  ],
  ['a 404 is thrown at once', { a: [[0, missing]] }, { seen: [], failure: missing, end: 0 }],
  [
    'a 404 that passes is no matter, where it may be temporary',
    {
      a: [
        [0, missing],
        [30_000, done],
      ],
    },
    { seen: ['a completed'], failure: null },
    { missedFor: 0 },
  ],
  [
    'one that lasts makes the job missing',
    {
      a: [
        [0, {}],
        [20_000, missing],
      ],
    },
    { seen: ['a queued', 'a missing'], failure: null, end: 80_000 },
    { missedFor: 0, intervalMs: 5_000 },
  ],
  [
    'its time begins again after the job was there',
    {
      a: [
        [0, missing],
        [40_000, {}],
        [50_000, missing],
        [90_000, done],
      ],
    },
    { seen: ['a queued', 'a completed'] },
    { missedFor: 0, intervalMs: 5_000 },
  ],
  ...(
    [
      [50_000, 10_000],
      [3_600_000, 0],
      [-3_600_000, 60_000],
    ] as const
  ).map(
    ([earlier, end]): Case => [
      `its time goes on from when another process missed it, ${earlier} ms ago by a clock that may have been set`,
      { a: [[0, missing]] },
      { seen: ['a missing'], end },
      { missedFor: earlier, intervalMs: 5_000 },
    ],
  ),
  [
    'any other failure is thrown at once, and ends the polls of the others',
    {
      a: [[0, {}]],
      b: [
        [0, {}],
        [1_000, refused],
      ],
    },
    { seen: ['a queued', 'b queued'], failure: refused, end: 1_000 },
    { missedFor: 0, intervalMs: 1_000 },
  ],
])('%s', async (_name, jobs, wanted, options, known) => {
  expect(await followed(jobs, options, known)).toMatchObject(wanted);
});

test('a job that answers is told as found: once, and again after it was missing', async () => {
  const a: Times = [
    [0, {}],
    [20_000, missing],
    [40_000, {}],
    [60_000, done],
  ];
  const { told } = await followed({ a }, { missedFor: 0, intervalMs: 5_000 });
  expect(told).toEqual(['found', 'missing', 'found']);
});

test('waiting ends at the deadline, and the error names what is unfinished', async () => {
  const jobs: Record<string, Times> = { gone: [[0, missing]], a: [[0, { status: 'processing' }]] };
  const { failure, end } = await followed(jobs, { deadlineMs: 10_000, missedFor: 3_600_000 });
  expect(failure).toBeInstanceOf(WaitTimeoutError);
  expect(failure).toMatchObject({
    message: 'waiting timed out; job a is unfinished (processing) and will continue',
    problem: { code: 'jobs_unfinished', jobs: ['a'] },
  });
  expect(end).toBe(10_000);
});

test('the signal ends it, between polls too', async () => {
  const stop = new AbortController();
  const client = { job: async (job_id: string) => ({ job_id, status: 'queued' }) };
  const snapshots = watchJobs(client, ['a'], { clock: new IdleClock(), signal: stop.signal });
  await snapshots.next();
  stop.abort('SIGINT');
  await expect(snapshots.next()).rejects.toBe('SIGINT');
});

/** A service that does not answer, but for this. */
function silent(answer: (id: string) => Promise<Job> | null) {
  const ended: string[] = [];
  const job = (id: string, signal?: AbortSignal): Promise<Job> =>
    answer(id) ??
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => {
        ended.push(id);
        reject(signal.reason);
      });
    });
  return { job, ended };
}

test('a poll that hangs does not hold the wait open, and is ended', async () => {
  const service = silent(() => null);
  const watching = watchJobs(service, ['a'], { clock: new IdleClock(), deadlineMs: 5_000 });
  await expect(watching.next()).rejects.toBeInstanceOf(WaitTimeoutError);
  expect(service.ended).toEqual(['a']);
});

test('records are read in the order of the ids; the first failure ends the requests for the others', async () => {
  const { signal } = new AbortController();
  const status = (id: string): string => (id === 'a' ? 'queued' : 'completed');
  const known = silent(async (id) => ({ job_id: id, status: status(id) }));
  expect((await readJobs(known, ['b', 'a'], signal)).map(({ job_id }) => job_id)).toEqual(['b', 'a']);
  const service = silent((id) => (id === 'unknown' ? Promise.reject(missing) : null));
  await expect(readJobs(service, ['a', 'unknown', 'b'], signal)).rejects.toBe(missing);
  expect(service.ended).toEqual(['a', 'b']);
});

describe('polls of one client', () => {
  const idsOf = (name: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${name}-${n}`);

  test('are limited together, whoever follows the jobs, and reach all of them', async () => {
    const clock = new IdleClock();
    let [open, most] = [0, 0];
    const client = {
      job: async (job_id: string): Promise<Job> => {
        most = Math.max(most, ++open);
        await new Promise((resolve) => setImmediate(resolve));
        open--;
        return { job_id, status: 'completed' };
      },
    };
    const follow = async (ids: string[]): Promise<number> => {
      let seen = 0;
      for await (const _ of watchJobs(client, ids, { clock })) seen++;
      return seen;
    };
    expect(
      await Promise.all([follow(idsOf('a', 6)), follow(idsOf('b', 6)), follow(idsOf('c', 100))]),
    ).toEqual([6, 6, 100]);
    expect(most).toBe(8);
  });

  test('come to every one of many jobs, even if a poll takes longer than the pause between two', async () => {
    const clock = new IdleClock();
    const ids = idsOf('job', 20);
    const polled = new Map<string, number>();
    const client = {
      job: async (id: string): Promise<Job> => {
        const times = (polled.get(id) ?? 0) + 1;
        polled.set(id, times);
        if (times < 100) await clock.sleep(5);
        // The first ones end only after all others have.
        const others = ids.slice(8).every((other) => polled.has(other));
        return { job_id: id, status: others || times > 100 ? 'completed' : 'queued' };
      },
    };
    for await (const _ of watchJobs(client, ids, { clock, intervalMs: 1 }));
    expect(Math.max(...polled.values())).toBeLessThan(100);
  });
});

test('what has followed a job to its end is not kept by the signal of the run', async () => {
  const run = new AbortController();
  class Delivery {
    async follow(): Promise<void> {
      const client = { job: async (): Promise<Job> => ({ job_id: 'j', status: 'completed', links: null }) };
      for await (const _ of watchJobs(client, ['j'], { clock: new IdleClock(), signal: run.signal }));
    }
  }
  const kept: WeakRef<Delivery>[] = [];
  for (let at = 0; at < 20; at++) {
    const delivery = new Delivery();
    await delivery.follow();
    kept.push(new WeakRef(delivery));
  }
  await new Promise(setImmediate); // until then, what a WeakRef was made of is kept
  collectGarbage();
  expect(kept.filter((delivery) => delivery.deref()).length).toBeLessThan(3);
  expect(run.signal.aborted).toBe(false);
});
