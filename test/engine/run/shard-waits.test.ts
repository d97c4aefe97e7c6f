/** What a shard makes of another one that has died, or whose canary has failed. */
import { expect, test } from 'vitest';
import { CanaryError, LockLostError, ServiceError } from '../../../src/engine/errors.js';
import type { Shard } from '../../../src/engine/run/shard.js';
import { ShardWaits } from '../../../src/engine/run/shard-waits.js';
import type { RequestRecord } from '../../../src/engine/state/requests.js';
import type { State } from '../../../src/engine/state/state.js';

const SCOPE = { account: 'acme', region: 'eu', base_url: 'https://eu.test' };
const record = (more: Partial<RequestRecord>): RequestRecord =>
  ({ seq: 1, input: 0, rows: 3, parent: null, more: [], state: 'acknowledged', ...more }) as RequestRecord;

/** The second shard of two. On its clock time passes only by sleeping. */
function secondShard(
  /** At a time. */
  records: (at: number) => RequestRecord[],
  {
    canary = null,
    job = () => Promise.reject(new Error('not asked')),
  }: {
    canary?: number | null;
    job?: (at: number) => Promise<{ job_id: string; status: string }>;
  },
) {
  let time = 0;
  const taken = new Map([[1, 1]]);
  const statuses = { 1: 'running', 2: 'running' };
  const missing = new Map<string, number>();
  const state = {
    requests: async () => records(time),
    updateJob: async () => {},
    missingJob: async (_: unknown, id: string) => {
      if (!missing.has(id)) missing.set(id, time);
      return missing.get(id)!;
    },
    shards: {
      takeSlot: async (_: unknown, request: number, most: number) => {
        if (taken.size >= most) return false;
        taken.set(request, 2);
        return true;
      },
      releaseSlot: async (_: unknown, request: number) => void taken.delete(request),
      deadSlots: async () =>
        [...taken].flatMap(([request, shard]) => (shard === 1 ? { request, shard } : [])),
      of: async () => [1, 2].map((shard) => ({ shard, status: statuses[shard as 1 | 2] })),
    },
  } as unknown as State;
  const shard = {
    id: { run: 'run', shard: 2, shards: 2 },
    ofCanary: 1,
    hasCanary: false,
    open: () => [2],
    unfinished: () => records(time),
  } as unknown as Shard;
  const clock = {
    monotonic: () => time,
    now: () => time,
    sleep: async (ms: number) => {
      time += ms;
      if (time > 3_600_000) throw new Error('it waits for ever');
    },
  };
  const { signal: stop } = new AbortController();
  const deps = {
    state,
    scope: SCOPE,
    clock,
    client: { job: async () => job(time) },
    options: { canary, wait: true, concurrency: 1 },
    stop,
  };
  const waits = new ShardWaits(shard, [{ path: 'a.csv' }], deps as never);
  return {
    state,
    statuses,
    time: () => time,
    take: () => waits.take(7, () => {}, stop),
    async ready() {
      for await (const _ of waits.ready('companies'));
    },
  };
}

const job = { job_id: 'j' };
const notFound = () => Promise.reject(new ServiceError('no such job', { status: 404 }));

test('a slot of a dead shard is free when the service has not known its job for a minute', async () => {
  const shard = secondShard(() => [record({ job: job as never })], { job: notFound });
  await shard.take();
  expect(shard.time()).toBeGreaterThanOrEqual(60_000);
  expect(shard.time()).toBeLessThan(70_000);
});

test('a job that is found again has not ended', async () => {
  const shard = secondShard(() => [record({ job: job as never })], {
    job: (at) =>
      at < 5_000 ? notFound() : Promise.resolve({ ...job, status: at < 300_000 ? 'queued' : 'failed' }),
  });
  await shard.take();
  expect(shard.time()).toBeGreaterThanOrEqual(300_000);
});

test('what keeps it from asking for a job may pass', async () => {
  const shard = secondShard(() => [record({ job: job as never })], {
    job: (at) =>
      at < 200_000
        ? Promise.reject(new ServiceError('down', { status: 503 }))
        : Promise.resolve({ ...job, status: 'completed' }),
  });
  await shard.take();
  expect(shard.time()).toBeGreaterThanOrEqual(200_000);
});

const failedCanary = () =>
  record({ state: 'settled', job: { job_id: 'j', status: 'failed', total_rows: 3 } as never });

test('a canary that failed ends the other shards once its own has ended', async () => {
  const shard = secondShard(() => [failedCanary()], { canary: 3 });
  shard.statuses[1] = 'failed';
  await expect(shard.ready()).rejects.toThrow(CanaryError);
  // Its shard may be about to be repeated, too.
  expect(shard.time()).toBeGreaterThanOrEqual(15_000);
});

test('while its shard is running, it may be sent again', async () => {
  const again = record({
    seq: 2,
    state: 'settled',
    job: { job_id: 'k', status: 'completed', completed_rows: 3 } as never,
  });
  const shard = secondShard((at) => [failedCanary(), ...(at < 60_000 ? [] : [again])], { canary: 3 });
  await shard.ready();
  expect(shard.time()).toBeGreaterThanOrEqual(60_000);
});

test('a state that cannot be written is not taken for a job that has not ended', async () => {
  const shard = secondShard(() => [record({ job: job as never })], {
    job: async () => ({ ...job, status: 'completed' }),
  });
  shard.state.updateJob = () => Promise.reject(new LockLostError('another import took over'));
  await expect(shard.take()).rejects.toThrow(LockLostError);
});
