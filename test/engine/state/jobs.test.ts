/** What is known of jobs, and what their ends do to fingerprints and throughput. Long because each end has its consequences. */
import { describe, expect } from 'vitest';
import type { Job } from '../../../src/engine/service/contract.js';
import type { State } from '../../../src/engine/state/state.js';
import {
  acknowledged,
  aJob,
  aRequest,
  aRun,
  type Calendar,
  printsOf,
  RUN,
  SCOPE,
  test,
} from './support/state.js';

const PRINTS = printsOf([1, 10], [2, 20], [3, 30]);

/** A request of three rows that the service has acknowledged with `job-1`. */
async function sent(state: State): Promise<void> {
  await state.runs.start(aRun());
  await state.requests.record(RUN, SCOPE, 'companies', aRequest(), PRINTS);
  await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-1')), null);
}

/** For each of the three rows, whether it would be skipped as unchanged. */
const unchanged = async (state: State): Promise<boolean[]> => {
  const index = await state.known.load(SCOPE, 'companies');
  return [0, 1, 2].map((at) => index.matches(PRINTS, at));
};

describe('known jobs', () => {
  test('are known from their acknowledgement on, with what was said of them', async ({ state, clock }) => {
    await sent(state);
    const submitted_at = clock.text();
    expect(await state.jobs.all()).toEqual([
      {
        job_id: 'job-1',
        kind: 'companies',
        scope: SCOPE,
        run: RUN,
        rows: 3,
        status: 'queued',
        submitted_at,
        seen_at: submitted_at,
        record: aJob('job-1'),
      },
    ]);
    clock.pass(1_000);
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'thinking', mood: 'well' }));
    expect(await state.jobs.all()).toMatchObject([
      {
        status: 'thinking',
        submitted_at,
        seen_at: clock.text(),
        record: { job_id: 'job-1', status: 'thinking', mood: 'well' },
      },
    ]);
  });

  test('of single users are known too, newest first', async ({ state, clock }) => {
    await state.jobs.add(SCOPE, aJob('old'), { kind: 'users', rows: 1 });
    clock.pass(1);
    await state.jobs.add(SCOPE, aJob('new'), { kind: 'users', rows: 1 });
    expect((await state.jobs.all()).map(({ job_id, run }) => [job_id, run])).toEqual([
      ['new', null],
      ['old', null],
    ]);
  });

  test('one that this machine did not submit is not taken up', async ({ state }) => {
    await state.jobs.update(SCOPE, aJob('stranger', { status: 'completed' }));
    expect(await state.jobs.all()).toEqual([]);
  });

  test('a name that a service gives again is the job of its newest request', async ({ state }) => {
    await sent(state);
    await state.runs.start(aRun({ run: 'later' }));
    const again = acknowledged(aJob('job-1'), { rows: 1 });
    await state.requests.record('later', SCOPE, 'companies', again, printsOf([9, 90]));
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    expect(await state.jobs.all()).toMatchObject([{ job_id: 'job-1', run: 'later', rows: 1 }]);
    expect((await state.requests.of('later'))[0]!.state).toBe('settled');
    expect((await state.known.load(SCOPE, 'companies')).matches(printsOf([9, 90]), 0)).toBe(true);
    expect(await unchanged(state)).toEqual([false, false, false]);
  });
});

describe('a job’s end', () => {
  const ALL = [true, true, true];
  const NONE = [false, false, false];

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
    await state.jobs.update(SCOPE, aJob('job-1', seen));
    expect((await state.requests.of(RUN))[0]!.state).toBe(requestState);
    expect(await unchanged(state)).toEqual(rows);
  });

  test('is final: what is seen later of it sets nothing', async ({ state }) => {
    await sent(state);
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'failed' }));
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    expect(await unchanged(state)).toEqual(NONE);
  });

  test.for([false, true])(
    'sets nothing of two requests of a run that have its id (the first one ended before: %s)',
    async (isEnded, { state }) => {
      await sent(state);
      const done = (): Promise<void> => state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
      if (isEnded) await done();
      const second = acknowledged(aJob('job-1'), { seq: 2, first_row: 3, end_row: 4, rows: 1 });
      await state.requests.record(RUN, SCOPE, 'companies', second, printsOf([4, 40]));
      await done();
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
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    expect((await state.overview()).known).toEqual([]);
  });

  test('sets nothing for an id that was sent again since', async ({ state }) => {
    await sent(state);
    await state.sends.startProfile(SCOPE, 'companies', BigUint64Array.of(2n));
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    expect(await unchanged(state)).toEqual([true, false, true]);
  });

  test('sets only fingerprints of its own account and kind', async ({ state }) => {
    await sent(state);
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    expect((await state.known.load(SCOPE, 'users')).matches(PRINTS, 0)).toBe(false);
    expect((await state.known.load({ ...SCOPE, account: 'staging' }, 'companies')).matches(PRINTS, 0)).toBe(
      false,
    );
  });

  test('a request that waited, known not to have arrived, and went out after all, counts in full', async ({
    state,
  }) => {
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', aRequest(), PRINTS);
    await state.requests.record(
      RUN,
      SCOPE,
      'companies',
      aRequest({ state: 'withdrawn', reason: '429' }),
      null,
    );
    await state.requests.record(RUN, SCOPE, 'companies', aRequest({ retries: 1 }), null);
    await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-1')), null);
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    expect(await unchanged(state)).toEqual(ALL);
  });

  test.for([
    ['withdrawn', aRequest({ state: 'withdrawn', reason: 'refused' })],
    ['rejected', aRequest({ state: 'rejected', reason: '422' })],
    ['accepted without a job', aRequest({ state: 'settled', reason: 'no job_id' })],
  ] as const)(
    'a request that was %s sets nothing, and leaves nothing that waits',
    async ([, end], { state, disk }) => {
      await state.runs.start(aRun());
      await state.requests.record(RUN, SCOPE, 'companies', aRequest(), PRINTS);
      await state.requests.record(RUN, SCOPE, 'companies', end, null);
      expect(await unchanged(state)).toEqual(NONE);
      expect(disk.prepare('SELECT count(*) AS n FROM sends WHERE state = 0').get()).toEqual({
        n: 0,
      });
    },
  );
});

describe('ids that a run has verified', () => {
  test('are remembered as before, are no sends, and are later than older data', async ({ state }) => {
    await state.runs.start(aRun({ run: 'old' }));
    await sent(state);
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    await state.runs.start(aRun({ run: 'newer' }));
    const newest = await state.known.newest(SCOPE, 'companies');
    expect(await state.sends.mayBeOverwritten('newer', 'companies')).toBe(true);
    await state.sends.keepVerified('newer', SCOPE, 'companies', PRINTS.ids);
    expect(await unchanged(state)).toEqual([true, true, true]);
    expect(await state.known.newest(SCOPE, 'companies')).toBe(newest);
    const later = await state.sends.later('old', SCOPE, 'companies');
    expect([...PRINTS.ids].map((id) => later.by(id, 0))).toEqual(['newer', 'newer', 'newer']);
    expect((await state.sends.later('newer', SCOPE, 'companies')).isEmpty).toBe(true);
  });

  test('do not count when the state is compacted', async ({ state }) => {
    const ids = Array.from({ length: 1_200 }, (_, n): [number, number] => [n, 1]);
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-1')), printsOf(...ids));
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    await state.runs.start(aRun({ run: 'newer' }));
    await state.sends.keepVerified('newer', SCOPE, 'companies', printsOf(...ids).ids);
    await state.known.compact(SCOPE, 'companies');
    expect((await state.known.load(SCOPE, 'companies')).size).toBe(1_200);
  });
});

describe('clearing fingerprints', () => {
  test('of some ids, or of the whole kind', async ({ state }) => {
    await sent(state);
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    await state.known.clear(SCOPE, 'users');
    await state.known.clear({ ...SCOPE, account: 'staging' }, 'companies');
    expect(await unchanged(state)).toEqual([true, true, true]);
    await state.sends.startProfile(SCOPE, 'companies', BigUint64Array.of(1n, 99n));
    expect(await unchanged(state)).toEqual([false, true, true]);
    await state.known.clear(SCOPE, 'companies');
    expect(await unchanged(state)).toEqual([false, false, false]);
  });

  test('of the whole kind leaves an unfinished request its ids', async ({ state }) => {
    await sent(state);
    await state.known.clear(SCOPE, 'companies');
    expect([...(await state.sends.idsOf(RUN, 1))]).toEqual([1n, 2n, 3n]);
  });
});

describe('throughput', () => {
  /** Jobs of an import, each `[rows, submitted at second, seen completed at second]`, in order of what happens. */
  async function history(state: State, clock: Calendar, jobs: [number, number, number][]): Promise<void> {
    const start = clock.time;
    await state.runs.start(aRun());
    const events = jobs.flatMap(([rows, from, to], i) => [
      { at: from, rows, name: `job-${i}`, ends: false },
      { at: to, rows, name: `job-${i}`, ends: true },
    ]);
    for (const { at, rows, name, ends } of events.sort((a, b) => a.at - b.at)) {
      clock.time = start + at * 1_000;
      const seq = Number(name.slice(4)) + 1;
      if (ends) await state.jobs.update(SCOPE, aJob(name, { status: 'completed' }));
      else
        await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob(name), { seq, rows }), null);
    }
  }

  test.for<[name: string, jobs: [rows: number, from: number, to: number][], throughput: number]>([
    ['one job', [[100, 0, 10]], 10],
    [
      'in turn',
      [
        [100, 0, 10],
        [100, 10, 20],
      ],
      10,
    ],
    [
      'with a pause between, which is nobody’s work',
      [
        [100, 0, 10],
        [100, 1_000, 1_010],
      ],
      10,
    ],
    [
      'side by side',
      [
        [100, 0, 10],
        [100, 0, 10],
      ],
      20,
    ],
    [
      'overlapping by half',
      [
        [100, 0, 10],
        [100, 5, 15],
      ],
      200 / 15,
    ],
    [
      'one within another',
      [
        [100, 0, 20],
        [100, 5, 10],
      ],
      10,
    ],
    [
      'a long one around two short ones',
      [
        [100, 0, 30],
        [50, 1, 2],
        [50, 3, 4],
      ],
      200 / 30,
    ],
  ])('%s', async ([, jobs, throughput], { state, clock }) => {
    await history(state, clock, jobs);
    expect(await state.jobs.throughput(SCOPE, 'companies')).toBeCloseTo(throughput, 3);
  });

  test('a job does not count during which the clock was set back', async ({ state, clock }) => {
    await history(state, clock, [[100, 0, 10]]);
    await state.requests.record(
      RUN,
      SCOPE,
      'companies',
      acknowledged(aJob('back'), { seq: 2, rows: 900 }),
      null,
    );
    clock.pass(-3_600_000);
    await state.jobs.update(SCOPE, aJob('back', { status: 'completed' }));
    expect(await state.jobs.throughput(SCOPE, 'companies')).toBeCloseTo(10, 3);
  });

  test('the newest fifty count', async ({ state, clock }) => {
    const slow = Array.from({ length: 20 }, (_, i): [number, number, number] => [1, 50 * i, 50 * i + 50]);
    const fast = Array.from({ length: 50 }, (_, i): [number, number, number] => [100, 2_000 + i, 2_001 + i]);
    await history(state, clock, [...slow, ...fast]);
    expect(await state.jobs.throughput(SCOPE, 'companies')).toBeCloseTo(100, 3);
  });

  test('nothing is known of another kind, another account, unfinished or failed jobs', async ({
    state,
    clock,
  }) => {
    await history(state, clock, [[100, 0, 10]]);
    expect(await state.jobs.throughput(SCOPE, 'users')).toBeNull();
    expect(await state.jobs.throughput({ ...SCOPE, base_url: 'https://other.test' }, 'companies')).toBeNull();
    await state.runs.start(aRun({ run: 'users' }));
    await state.requests.record('users', SCOPE, 'users', acknowledged(aJob('u-1')), null);
    clock.pass(1_000);
    expect(await state.jobs.throughput(SCOPE, 'users')).toBeNull();
    await state.jobs.update(SCOPE, aJob('u-1', { status: 'failed' }));
    expect(await state.jobs.throughput(SCOPE, 'users')).toBeNull();
  });

  test('a job that is seen completed again later has not become slower', async ({ state, clock }) => {
    await history(state, clock, [[100, 0, 10]]);
    clock.pass(1_000_000);
    await state.jobs.update(SCOPE, aJob('job-0', { status: 'completed' }));
    expect(await state.jobs.throughput(SCOPE, 'companies')).toBeCloseTo(10, 3);
  });

  test('a job that nobody watched says nothing: it did not take until someone looked', async ({
    state,
    clock,
  }) => {
    await history(state, clock, [[100, 0, 86_400]]);
    expect(await state.jobs.throughput(SCOPE, 'companies')).toBeNull();
    clock.pass(1_000);
    await state.jobs.update(SCOPE, aJob('job-0', { status: 'completed' }));
    expect(await state.jobs.throughput(SCOPE, 'companies')).toBeNull();
  });

  test('a long job that was seen on its way says how long it took', async ({ state, clock }) => {
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-0'), { rows: 36_000 }), null);
    clock.pass(2_000_000);
    await state.jobs.update(SCOPE, aJob('job-0', { status: 'pending_refresh' }));
    clock.pass(1_600_000);
    await state.jobs.update(SCOPE, aJob('job-0', { status: 'completed' }));
    expect(await state.jobs.throughput(SCOPE, 'companies')).toBeCloseTo(10, 3);
  });

  test('jobs of single users say nothing about an import', async ({ state, clock }) => {
    await state.jobs.add(SCOPE, aJob('u-1'), { kind: 'users', rows: 1 });
    clock.pass(300);
    await state.jobs.update(SCOPE, aJob('u-1', { status: 'completed' }));
    expect(await state.jobs.throughput(SCOPE, 'users')).toBeNull();
  });

  test('jobs of a forgotten run still count', async ({ state, clock }) => {
    await history(state, clock, [[100, 0, 10]]);
    await state.runs.forget(RUN);
    expect(await state.jobs.throughput(SCOPE, 'companies')).toBeCloseTo(10, 3);
  });
});
