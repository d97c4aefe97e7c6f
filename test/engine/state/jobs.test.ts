/** What is known of jobs, and what their ends do to fingerprints and throughput. */
import { describe, expect } from 'vitest';
import type { Job } from '../../../src/engine/service/contract.js';
import type { State } from '../../../src/engine/state/state.js';
import {
  acknowledged,
  aJob,
  aRequest,
  type Calendar,
  printsOf,
  RUN,
  SCOPE,
  sender,
  test,
} from './support/state.js';

const PAIRS = [
  [1, 10],
  [2, 20],
  [3, 30],
] as const;
const PRINTS = printsOf(...PAIRS);
const ALL = [true, true, true];
const NONE = [false, false, false];

/** A request of three rows that the service has acknowledged with `job-1`. */
async function sent(state: State): Promise<void> {
  await sender(state).start();
  await sender(state).record(aRequest(), PAIRS);
  await sender(state).record(acknowledged(aJob('job-1')));
}

/** For each of the three rows, whether it would be skipped as unchanged. */
const unchanged = async (state: State): Promise<boolean[]> => {
  const index = await state.known.load(SCOPE, 'companies');
  return [0, 1, 2].map((at) => index.matches(PRINTS, at));
};

describe('known jobs', () => {
  test('are known from their acknowledgement on, with what was said of them', async ({ state, clock }) => {
    await sent(state);
    const at = clock.text();
    const seen = { job_id: 'job-1', kind: 'companies', scope: SCOPE, run: RUN, rows: 3, submitted_at: at };
    expect(await state.jobs.all()).toEqual([
      { ...seen, status: 'queued', seen_at: at, record: aJob('job-1') },
    ]);
    clock.pass(1_000);
    const record = aJob('job-1', { status: 'thinking', mood: 'well' });
    await state.jobs.update(SCOPE, record);
    expect(await state.jobs.all()).toEqual([{ ...seen, status: 'thinking', seen_at: clock.text(), record }]);
  });

  test('of single users are known too, newest first; one that this machine did not submit is not', async ({
    state,
    clock,
  }) => {
    await state.jobs.add(SCOPE, aJob('old'), { kind: 'users', rows: 1 });
    clock.pass(1);
    await state.jobs.add(SCOPE, aJob('new'), { kind: 'users', rows: 1 });
    await sender(state).ends('stranger');
    expect((await state.jobs.all()).map(({ job_id, run }) => [job_id, run])).toEqual([
      ['new', null],
      ['old', null],
    ]);
  });

  test('a name that a service gives again is the job of its newest request', async ({ state }) => {
    await sent(state);
    const later = sender(state, { run: 'later' });
    await later.start();
    await later.record(acknowledged(aJob('job-1'), { rows: 1 }), [[9, 90]]);
    await later.ends('job-1');
    expect(await state.jobs.all()).toMatchObject([{ job_id: 'job-1', run: 'later', rows: 1 }]);
    expect((await state.requests.of('later'))[0]!.state).toBe('settled');
    expect((await state.known.load(SCOPE, 'companies')).matches(printsOf([9, 90]), 0)).toBe(true);
    expect(await unchanged(state)).toEqual(NONE);
  });
});

describe('a job’s end', () => {
  test.for<[name: string, seen: Partial<Job>, state: string, unchanged: boolean[]]>([
    ['unfinished', { status: 'processing', completed_rows: 3 }, 'acknowledged', NONE],
    ['an unknown status', { status: 'archived' }, 'acknowledged', NONE],
    ['completed', { status: 'completed', total_rows: 3, completed_rows: 3 }, 'settled', ALL],
    ['completed, no number given', { status: 'completed' }, 'settled', ALL],
    ['completed, null for a number', { status: 'completed', completed_rows: null }, 'settled', ALL],
    ['completed, more rows than were sent', { status: 'completed', completed_rows: 4 }, 'settled', ALL],
    ['short of its request', { status: 'completed', completed_rows: 2 }, 'settled', NONE],
    ['short by its own count', { status: 'completed', total_rows: 5, completed_rows: 4 }, 'settled', NONE],
    ['failed', { status: 'failed' }, 'settled', NONE],
    ['failed after all rows', { status: 'failed', completed_rows: 3 }, 'settled', NONE],
  ])('%s', async ([, seen, requestState, rows], { state }) => {
    await sent(state);
    expect(await unchanged(state)).toEqual(NONE);
    await sender(state).ends('job-1', seen);
    expect((await state.requests.of(RUN))[0]!.state).toBe(requestState);
    expect(await unchanged(state)).toEqual(rows);
  });

  test('is final: what is seen later of it sets nothing', async ({ state }) => {
    await sent(state);
    await sender(state).ends('job-1', { status: 'failed' });
    await sender(state).ends('job-1');
    expect(await unchanged(state)).toEqual(NONE);
  });

  test.for([false, true])(
    'sets nothing of two requests of a run that have its id (the first one ended before: %s)',
    async (isEnded, { state }) => {
      await sent(state);
      if (isEnded) await sender(state).ends('job-1');
      const second = acknowledged(aJob('job-1'), { seq: 2, first_row: 3, end_row: 4, rows: 1 });
      await sender(state).record(second, [[4, 40]]);
      await sender(state).ends('job-1');
      const index = await state.known.load(SCOPE, 'companies');
      expect(index.matches(printsOf([4, 40]), 0)).toBe(false);
      expect(index.matches(PRINTS, 0)).toBe(isEnded);
    },
  );

  test('of a profile that was sent by itself is not remembered, nor counted', async ({ state }) => {
    const send = await state.sends.startProfile(SCOPE, 'users', BigUint64Array.of(7n));
    await state.jobs.add(SCOPE, aJob('job-1'), { kind: 'users', rows: 1, send });
    const open = await state.sends.openJobs(SCOPE, 'users', null);
    expect(open.holding(BigUint64Array.of(7n))).toEqual([{ job_id: 'job-1', run: 'identify' }]);
    await sender(state).ends('job-1');
    expect((await state.overview()).known).toEqual([]);
  });

  test('sets only fingerprints of its own account and kind, and nothing that was sent again since', async ({
    state,
  }) => {
    await sent(state);
    await state.sends.startProfile(SCOPE, 'companies', BigUint64Array.of(2n));
    await sender(state).ends('job-1');
    expect(await unchanged(state)).toEqual([true, false, true]);
    for (const [scope, kind] of [
      [SCOPE, 'users'],
      [{ ...SCOPE, account: 'staging' }, 'companies'],
    ] as const)
      expect((await state.known.load(scope, kind)).matches(PRINTS, 0)).toBe(false);
  });

  test('a request that waited, known not to have arrived, and went out after all, counts in full', async ({
    state,
  }) => {
    const { start, record, ends } = sender(state);
    await start();
    await record(aRequest(), PAIRS);
    await record(aRequest({ state: 'withdrawn', reason: '429' }));
    await record(aRequest({ retries: 1 }));
    await record(acknowledged(aJob('job-1')));
    await ends('job-1');
    expect(await unchanged(state)).toEqual(ALL);
  });

  test.for([
    ['withdrawn', aRequest({ state: 'withdrawn', reason: 'refused' })],
    ['rejected', aRequest({ state: 'rejected', reason: '422' })],
    ['accepted without a job', aRequest({ state: 'settled', reason: 'no job_id' })],
  ] as const)(
    'a request that was %s sets nothing, and leaves nothing that waits',
    async ([, end], { state, disk }) => {
      const { start, record } = sender(state);
      await start();
      await record(aRequest(), PAIRS);
      await record(end);
      expect(await unchanged(state)).toEqual(NONE);
      expect(disk.prepare('SELECT count(*) AS n FROM sends WHERE state = 0').get()).toEqual({ n: 0 });
    },
  );
});

describe('ids that a run has verified', () => {
  test('are remembered as before, are no sends, and are later than older data', async ({ state }) => {
    await sender(state, { run: 'old' }).start();
    await sent(state);
    await sender(state).ends('job-1');
    await sender(state, { run: 'newer' }).start();
    const mark = await state.known.mark(SCOPE, 'companies');
    expect(await state.sends.mayBeOverwritten('newer', 'companies')).toBe(true);
    await state.sends.keepVerified('newer', SCOPE, 'companies', PRINTS.ids);
    expect(await unchanged(state)).toEqual(ALL);
    expect(await state.known.mark(SCOPE, 'companies')).toBe(mark);
    const later = await state.sends.later('old', SCOPE, 'companies');
    expect([...PRINTS.ids].map((id) => later.by(id, 0))).toEqual(['newer', 'newer', 'newer']);
    expect((await state.sends.later('newer', SCOPE, 'companies')).isEmpty).toBe(true);
  });

  test('do not count when the state is compacted', async ({ state }) => {
    const pairs = Array.from({ length: 1_200 }, (_, n) => [n, 1] as const);
    await sender(state).completes(pairs);
    await sender(state, { run: 'newer' }).start();
    await state.sends.keepVerified('newer', SCOPE, 'companies', printsOf(...pairs).ids);
    await state.known.compact(SCOPE, 'companies');
    expect((await state.known.load(SCOPE, 'companies')).size).toBe(1_200);
  });
});

test('fingerprints are cleared of some ids, or of the whole kind, which leaves an unfinished request its ids', async ({
  state,
}) => {
  await sent(state);
  await sender(state).ends('job-1');
  await state.known.clear(SCOPE, 'users');
  await state.known.clear({ ...SCOPE, account: 'staging' }, 'companies');
  expect(await unchanged(state)).toEqual(ALL);
  await state.sends.startProfile(SCOPE, 'companies', BigUint64Array.of(1n, 99n));
  expect(await unchanged(state)).toEqual([false, true, true]);
  await sender(state).record(aRequest({ seq: 2 }), PAIRS);
  await state.known.clear(SCOPE, 'companies');
  expect(await unchanged(state)).toEqual(NONE);
  expect([...(await state.sends.idsOf(RUN, 2))]).toEqual([1n, 2n, 3n]);
});

describe('throughput', () => {
  type Past = readonly (readonly [rows: number, submitted: number, seenCompleted: number])[];
  const known = (state: State) => state.jobs.throughput(SCOPE, 'companies');

  /** Jobs of an import, in order of what happens, by the second. */
  async function history(state: State, clock: Calendar, jobs: Past): Promise<void> {
    const start = clock.time;
    await sender(state).start();
    const events = jobs.flatMap(([rows, from, to], i) => [
      { at: from, rows, name: `job-${i}`, ends: false },
      { at: to, rows, name: `job-${i}`, ends: true },
    ]);
    for (const { at, rows, name, ends } of events.sort((a, b) => a.at - b.at)) {
      clock.time = start + at * 1_000;
      const seq = Number(name.slice(4)) + 1;
      await (ends ? sender(state).ends(name) : sender(state).record(acknowledged(aJob(name), { seq, rows })));
    }
  }

  const slow = Array.from({ length: 20 }, (_, i) => [1, 50 * i, 50 * i + 50] as const);
  const fast = Array.from({ length: 50 }, (_, i) => [100, 2_000 + i, 2_001 + i] as const);
  // biome-ignore format: a job a line would hide the table.
  test.for<[name: string, jobs: Past, throughput: number]>([
    ['one job', [[100, 0, 10]], 10],
    ['in turn', [[100, 0, 10], [100, 10, 20]], 10],
    ['with a pause between, which is nobody’s work', [[100, 0, 10], [100, 1_000, 1_010]], 10],
    ['side by side', [[100, 0, 10], [100, 0, 10]], 20],
    ['overlapping by half', [[100, 0, 10], [100, 5, 15]], 200 / 15],
    ['one within another', [[100, 0, 20], [100, 5, 10]], 10],
    ['a long one around two short ones', [[100, 0, 30], [50, 1, 2], [50, 3, 4]], 200 / 30],
    ['the newest fifty count', [...slow, ...fast], 100],
  ])('%s', async ([, jobs, throughput], { state, clock }) => {
    await history(state, clock, jobs);
    expect(await known(state)).toBeCloseTo(throughput, 3);
  });

  test('of one job that took ten seconds stays, whatever is seen later', async ({ state, clock }) => {
    const stays = async (): Promise<void> => expect(await known(state)).toBeCloseTo(10, 3);
    await history(state, clock, [[100, 0, 10]]);
    clock.pass(1_000_000);
    await sender(state).ends('job-0'); // seen completed again, it has not become slower
    await stays();
    await sender(state).record(acknowledged(aJob('back'), { seq: 2, rows: 900 }));
    clock.pass(-3_600_000);
    await sender(state).ends('back'); // the clock was set back during it
    await stays();
    await state.runs.forget(RUN);
    await stays();
  });

  test('nothing is known of another kind, another account, unfinished or failed jobs, and single users', async ({
    state,
    clock,
  }) => {
    await history(state, clock, [[100, 0, 10]]);
    const users = sender(state, { run: 'users', kind: 'users' });
    const nothing = async (): Promise<void> => expect(await state.jobs.throughput(SCOPE, 'users')).toBeNull();
    await nothing();
    expect(await state.jobs.throughput({ ...SCOPE, base_url: 'https://other.test' }, 'companies')).toBeNull();
    await users.start();
    await users.record(acknowledged(aJob('u-1')));
    clock.pass(1_000);
    await nothing();
    await users.ends('u-1', { status: 'failed' });
    await nothing();
    await state.jobs.add(SCOPE, aJob('u-2'), { kind: 'users', rows: 1 });
    clock.pass(300);
    await users.ends('u-2');
    await nothing();
  });

  test('a job that nobody watched says nothing; one that was seen on its way says how long it took', async ({
    state,
    clock,
  }) => {
    await history(state, clock, [[100, 0, 86_400]]);
    expect(await known(state)).toBeNull();
    clock.pass(1_000);
    await sender(state).ends('job-0');
    expect(await known(state)).toBeNull();
    await sender(state).record(acknowledged(aJob('long'), { seq: 2, rows: 36_000 }));
    clock.pass(1_800_000);
    await sender(state).ends('long', { status: 'pending_refresh' });
    clock.pass(1_800_000);
    await sender(state).ends('long');
    expect(await known(state)).toBeCloseTo(10, 3);
  });
});
