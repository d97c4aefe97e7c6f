import { describe, expect, test } from 'vitest';
import { ServiceError, WaitTimeoutError } from '../../../src/engine/errors.js';
import {
  type JobSnapshot,
  pollInterval,
  readJobs,
  type WatchOptions,
  watchJobs,
} from '../../../src/engine/send/watch.js';
import type { Job } from '../../../src/engine/service/contract.js';
import { IdleClock } from '../../support/clock.js';

describe('pollInterval', () => {
  test.each([
    ['a new job', 0, 200],
    ['just before a tenth counts', 2_000, 200],
    ['a minute', 60_000, 6_000],
    ['beyond 100 s it stays', 100_000, 10_000],
    ['a day', 86_400_000, 10_000],
  ])('%s', (_name, age, interval) => {
    expect(pollInterval(age)).toBe(interval);
  });
});

type Reply = Partial<Job> | Error;

/** A service whose jobs answer by the time since the start: the last entry whose time has come. */
function service(clock: IdleClock, jobs: Record<string, [from: number, reply: Reply][]>) {
  const polls: { id: string; at: number }[] = [];
  return {
    polls,
    job: async (id: string): Promise<Job> => {
      polls.push({ id, at: clock.monotonic() });
      const reply = jobs[id]!.filter(([from]) => from <= clock.monotonic()).at(-1)![1];
      if (reply instanceof Error) throw reply;
      return { job_id: id, status: 'queued', links: null, ...reply };
    },
  };
}

async function all(snapshots: AsyncIterable<JobSnapshot>): Promise<string[]> {
  const seen: string[] = [];
  for await (const one of snapshots) {
    seen.push(
      one.missing
        ? `${one.job_id} missing`
        : `${one.job.job_id} ${one.job.status} ${one.job.completed_rows ?? '-'}`,
    );
  }
  return seen;
}

const missing = new ServiceError('no such job', { status: 404 });
const watch = (clock: IdleClock, over: Partial<WatchOptions> = {}): WatchOptions => ({ clock, ...over });

/** A state in which no job was missing before. */
const forgetful = (clock: IdleClock) => ({ missing: async () => clock.now(), found: async () => {} });

describe('watchJobs', () => {
  test('yields a job when its status or its rows change, and ends with it', async () => {
    const clock = new IdleClock();
    const client = service(clock, {
      a: [
        [0, { status: 'queued' }],
        [1_000, { status: 'processing', completed_rows: 10 }],
        [2_000, { status: 'processing', completed_rows: 20 }],
        [3_000, { status: 'completed', completed_rows: 30 }],
      ],
    });
    expect(await all(watchJobs(client, ['a'], watch(clock)))).toEqual([
      'a queued -',
      'a processing 10',
      'a processing 20',
      'a completed 30',
    ]);
  });

  test('polls every one of many jobs, even if a poll takes longer than the pause between two', async () => {
    const clock = new IdleClock();
    const ids = Array.from({ length: 20 }, (_, i) => `job ${i}`);
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
    await all(watchJobs(client, ids, watch(clock, { intervalMs: 1 })));
    expect(Math.max(...polled.values())).toBeLessThan(100);
  });

  test('follows several jobs, each to its own end; a status that is not known is unfinished', async () => {
    const clock = new IdleClock();
    const client = service(clock, {
      a: [[0, { status: 'completed' }]],
      b: [
        [0, { status: 'thinking' }],
        [5_000, { status: 'failed' }],
      ],
    });
    expect(await all(watchJobs(client, ['a', 'b'], watch(clock)))).toEqual([
      'a completed -',
      'b thinking -',
      'b failed -',
    ]);
    expect(client.polls.filter(({ id }) => id === 'a')).toHaveLength(1);
  });

  test('polls at a tenth of the age, or at the fixed interval', async () => {
    const times = async (intervalMs: number | null): Promise<number[]> => {
      const clock = new IdleClock();
      const client = service(clock, {
        a: [
          [0, {}],
          [4_000, { status: 'completed' }],
        ],
      });
      await all(watchJobs(client, ['a'], watch(clock, { intervalMs })));
      return client.polls.map(({ at }) => Math.round(at));
    };
    expect(await times(1_500)).toEqual([0, 1_500, 3_000, 4_500]);
    const own = await times(null);
    expect(own.slice(0, 4)).toEqual([0, 200, 400, 600]);
    expect(own.at(-1)! - own.at(-2)!).toBeGreaterThan(300);
  });

  test('an interval of nothing is one of a millisecond', async () => {
    const clock = new IdleClock();
    const { job, polls } = service(clock, {
      a: [
        [0, {}],
        [5, { status: 'completed' }],
      ],
    });
    const patient = {
      job: async (id: string): Promise<Job> => {
        if (polls.length > 10) throw new Error('asked without a pause');
        return job(id);
      },
    };
    await all(watchJobs(patient, ['a'], watch(clock, { intervalMs: 0 })));
    expect(polls.map(({ at }) => at)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('a record that was seen already is not yielded again, and one that has ended is not polled', async () => {
    const clock = new IdleClock();
    const client = service(clock, {
      a: [
        [0, { status: 'queued' }],
        [1_000, { status: 'completed' }],
      ],
    });
    const queued = { job_id: 'a', status: 'queued' };
    const failed = { job_id: 'x', status: 'failed' };
    expect(await all(watchJobs(client, [queued, failed], watch(clock)))).toEqual(['a completed -']);
    expect(client.polls.map(({ id }) => id)).not.toContain('x');
  });

  test('a 404 is thrown at once', async () => {
    const clock = new IdleClock();
    const client = service(clock, { a: [[0, missing]] });
    await expect(all(watchJobs(client, ['a'], watch(clock)))).rejects.toBe(missing);
    expect(clock.monotonic()).toBe(0);
  });

  test('with a grace, a 404 that passes is no matter, and one that lasts makes the job missing', async () => {
    const clock = new IdleClock();
    const client = service(clock, {
      back: [
        [0, missing],
        [30_000, { status: 'completed' }],
      ],
      gone: [
        [0, { status: 'queued' }],
        [20_000, missing],
      ],
    });
    const seen = await all(watchJobs(client, ['back', 'gone'], watch(clock, { missing: forgetful(clock) })));
    expect(seen).toEqual(['gone queued -', 'back completed -', 'gone missing']);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(80_000);
    expect(clock.monotonic()).toBeLessThan(100_000);
  });

  test('the grace begins again after the job was there', async () => {
    const clock = new IdleClock();
    const client = service(clock, {
      a: [
        [0, missing],
        [40_000, { status: 'queued' }],
        [50_000, missing],
        [90_000, { status: 'completed' }],
      ],
    });
    const seen = await all(
      watchJobs(client, ['a'], watch(clock, { missing: forgetful(clock), intervalMs: 5_000 })),
    );
    expect(seen).toEqual(['a queued -', 'a completed -']);
  });

  test('the grace goes on from when another process first missed the job, by a clock that may have been set', async () => {
    const missed = async (earlierMs: number): Promise<number> => {
      const clock = new IdleClock();
      const client = service(clock, { a: [[0, missing]] });
      const since = clock.now() - earlierMs;
      const remembers = { missing: async () => since, found: async () => {} };
      const options = watch(clock, { intervalMs: 5_000, missing: remembers });
      expect(await all(watchJobs(client, ['a'], options))).toEqual(['a missing']);
      return clock.monotonic();
    };
    expect([await missed(50_000), await missed(3_600_000), await missed(-3_600_000)]).toEqual([
      10_000, 0, 60_000,
    ]);
  });

  test('a job that answers is told as found: once, and again after it was missing', async () => {
    const clock = new IdleClock();
    const client = service(clock, {
      a: [
        [0, { status: 'queued' }],
        [20_000, missing],
        [40_000, { status: 'queued' }],
        [60_000, { status: 'completed' }],
      ],
    });
    const told: string[] = [];
    const remembers = {
      missing: async () => {
        told.push('missing');
        return clock.now();
      },
      found: async () => void told.push('found'),
    };
    const options = watch(clock, { intervalMs: 5_000, missing: remembers });
    await all(watchJobs(client, ['a'], options));
    expect(told).toEqual(['found', 'missing', 'found']);
  });

  test('any other failure is thrown at once, grace or not', async () => {
    const clock = new IdleClock();
    const refused = new ServiceError('no', { status: 500 });
    const client = service(clock, {
      a: [
        [0, {}],
        [1_000, refused],
      ],
    });
    await expect(all(watchJobs(client, ['a'], watch(clock, { missing: forgetful(clock) })))).rejects.toBe(
      refused,
    );
  });

  test('waiting ends at the deadline, and the error names what is unfinished', async () => {
    const clock = new IdleClock();
    const client = service(clock, { a: [[0, { status: 'processing' }]] });
    const error = await all(watchJobs(client, ['a'], watch(clock, { deadlineMs: 10_000 }))).catch(
      (e: unknown) => e,
    );
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error).toMatchObject({
      message: expect.stringContaining('job a'),
      problem: { code: 'jobs_unfinished', jobs: ['a'] },
    });
    expect(clock.monotonic()).toBe(10_000);
  });

  test('a poll that hangs does not hold the wait open, and is ended', async () => {
    const clock = new IdleClock();
    let ended = false;
    const client = {
      job: (_id: string, signal?: AbortSignal) =>
        new Promise<Job>((_resolve, reject) => {
          signal?.addEventListener('abort', () => {
            ended = true;
            reject(signal.reason);
          });
        }),
    };
    await expect(all(watchJobs(client, ['a'], watch(clock, { deadlineMs: 5_000 })))).rejects.toBeInstanceOf(
      WaitTimeoutError,
    );
    expect(ended).toBe(true);
  });

  test('the signal ends it, between polls too', async () => {
    const clock = new IdleClock();
    const stop = new AbortController();
    const client = service(clock, { a: [[0, {}]] });
    const snapshots = watchJobs(client, ['a'], watch(clock, { signal: stop.signal }));
    await snapshots.next();
    stop.abort('SIGINT');
    await expect(snapshots.next()).rejects.toBe('SIGINT');
  });

  test('a hundred jobs are polled a few at a time, and all of them', async () => {
    const clock = new IdleClock();
    let flying = 0;
    let most = 0;
    const client = {
      job: async (job_id: string): Promise<Job> => {
        most = Math.max(most, ++flying);
        await Promise.resolve();
        flying--;
        return { job_id, status: 'completed', links: null };
      },
    };
    const ids = Array.from({ length: 100 }, (_, i) => `job-${i}`);
    expect(await all(watchJobs(client, ids, watch(clock)))).toHaveLength(100);
    expect(most).toBe(8);
  });
});

describe('readJobs', () => {
  test('gives the records in the order of the ids', async () => {
    const clock = new IdleClock();
    const client = service(clock, { a: [[0, {}]], b: [[0, { status: 'completed' }]] });
    expect((await readJobs(client, ['b', 'a'], { clock })).map(({ job_id }) => job_id)).toEqual(['b', 'a']);
  });

  test('the first failure ends the requests for the others', async () => {
    const ended: string[] = [];
    const client = {
      job: (id: string, signal?: AbortSignal) =>
        new Promise<Job>((_resolve, reject) => {
          if (id === 'unknown') return reject(missing);
          signal?.addEventListener('abort', () => {
            ended.push(id);
            reject(signal.reason);
          });
        }),
    };
    const reading = readJobs(client, ['a', 'unknown', 'b'], { clock: new IdleClock() });
    await expect(reading).rejects.toBe(missing);
    expect(ended).toEqual(['a', 'b']);
  });
});

test('polls of one client are limited together, whoever asks', async () => {
  const clock = new IdleClock();
  let [open, most] = [0, 0];
  const client = {
    job: async (job_id: string): Promise<Job> => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open--;
      return { job_id, status: 'completed', links: null };
    },
  };
  const ids = (name: string): string[] => Array.from({ length: 6 }, (_, n) => `${name}-${n}`);
  const follow = async (name: string): Promise<number> => {
    let seen = 0;
    for await (const _ of watchJobs(client, ids(name), { clock })) seen++;
    return seen;
  };
  expect(await Promise.all([follow('a'), follow('b'), follow('c')])).toEqual([6, 6, 6]);
  expect(most).toBe(8);
});

test('a job that two follow is polled once for both, until the last of them leaves', async () => {
  const clock = new IdleClock();
  const client = service(clock, { a: [[0, {}]] });
  const stops = [new AbortController(), new AbortController()];
  const [first, second] = stops.map(({ signal }) => watchJobs(client, ['a'], { clock, signal }));
  expect(await Promise.all([first!.next(), second!.next()])).toMatchObject([
    { done: false },
    { done: false },
  ]);
  stops[0]!.abort('left');
  await expect(first!.next()).rejects.toBe('left');
  const [rest, polls] = [second!.next(), client.polls.length];
  await expect.poll(() => client.polls.length).toBeGreaterThan(polls);
  stops[1]!.abort('left');
  await expect(rest).rejects.toBe('left');
  const times = client.polls.map(({ at }) => at);
  expect(times).toEqual([...new Set(times)]);
});
