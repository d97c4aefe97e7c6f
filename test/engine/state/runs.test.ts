import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { RequestRecord } from '../../../src/engine/model/requests.js';
import type { State } from '../../../src/engine/state/state.js';
import { aSummary } from '../../support/runs.js';
import { acknowledged, aJob, aRequest, aRun, printsOf, RUN, SCOPE, sender, test } from './support/state.js';

const [INPUT] = aRun().inputs as [ReturnType<typeof aRun>['inputs'][number]];
const first = async (state: State) => (await state.runs.all())[0]!;

describe('runs', () => {
  test('come back as they were stored, after the state was closed', async ({ state, reopen }) => {
    const run = aRun({
      options: { rules: { map: [['__proto__', 'plan']] }, limits: null },
      inputs: [
        { ...INPUT, path: '-', location: '/spool/input' },
        { ...INPUT, path: 'u 2.csv', kind: 'users', types: ['string', 'integer'] },
        { ...INPUT, path: 'u.csv', kind: 'users', digest: 'c' },
      ],
    });
    await state.runs.start(run);
    await state.close();
    const [kinds, paths] = [
      ['companies', 'users'],
      ['-', 'u 2.csv', 'u.csv'],
    ];
    expect(await (await reopen()).runs.all()).toEqual([
      {
        ...{ ...run, kinds, paths, ended_at: null, ended_by: null, hasOpenJobs: false, summary: null },
        inputs: run.inputs.map((input) => ({ ...input, rejects_file: null })),
      },
    ]);
  });

  test('are listed newest first; of one moment, the last stored; and found by their name', async ({
    state,
  }) => {
    await state.runs.start(aRun({ run: 'b', started_at: '2026-01-15T12:00:00.000Z' }));
    await state.runs.start(aRun({ run: 'c', started_at: '2026-01-15T11:00:00.000Z' }));
    await state.runs.start(aRun({ run: 'a', started_at: '2026-01-15T12:00:00.000Z' }));
    expect((await state.runs.all()).map(({ run }) => run)).toEqual(['a', 'b', 'c']);
    expect((await state.runs.all({ run: 'b' })).map(({ run }) => run)).toEqual(['b']);
    expect(await state.runs.all({ run: 'none' })).toEqual([]);
  });

  test('an end is kept with its summary; going on takes the end back, not the summary, nor does an end without', async ({
    state,
    clock,
  }) => {
    const summary = aSummary({ status: 'interrupted' });
    await state.runs.start(aRun());
    clock.pass(5_000);
    await state.runs.end(RUN, { status: 'interrupted', finished: false, endedBy: 'interrupted', summary });
    const ended = { status: 'interrupted', finished: false, ended_by: 'interrupted', ended_at: clock.text() };
    expect(await first(state)).toMatchObject({ ...ended, summary });
    await state.runs.reopen(RUN);
    expect(await first(state)).toMatchObject({ status: 'running', ended_at: null, summary });
    await state.runs.end(RUN, { status: 'superseded', finished: true, endedBy: null, summary: null });
    expect(await first(state)).toMatchObject({ status: 'superseded', finished: true, summary });
  });

  test('saved plans of more than 30 days leave the state', async ({ state, clock, disk }) => {
    for (const plan of ['oldest', 'older', 'new']) {
      await state.runs.numberPlan(plan, SCOPE);
      clock.pass(16 * 86_400_000);
    }
    expect(disk.prepare('SELECT run FROM plans ORDER BY number').all()).toMatchObject([
      { run: 'older' },
      { run: 'new' },
    ]);
  });

  test('a summary is kept without the words that quote its rows', async ({ state }) => {
    const summary = aSummary({
      rejected: [{ file: 'c.csv', line: 2, reason: 'seats: "confidential" is not of type integer' }],
      warnings: ['price: trailing zeros are dropped: line 3: "1.10" becomes 1.1'],
    });
    await state.runs.start(aRun());
    await state.runs.end(RUN, { status: 'partial', finished: true, endedBy: null, summary });
    const rejected = [{ file: 'c.csv', line: 2, reason: '' }];
    expect((await first(state)).summary).toEqual({ ...summary, rejected, warnings: [] });
  });

  test('one that a refused token ended may go on with another token, however often it stops', async ({
    state,
  }) => {
    const endedBy = async (code: string): Promise<string | null> => {
      await state.runs.reopen(RUN);
      await state.runs.end(RUN, { status: 'stopped', finished: false, endedBy: code, summary: null });
      return (await first(state)).ended_by;
    };
    await state.runs.start(aRun());
    expect(await endedBy('network')).toBe('network');
    expect(await endedBy('unauthorised')).toBe('unauthorised');
    expect(await endedBy('network')).toBe('unauthorised');
  });

  test('how a rejects file without a run was read is kept for 90 days', async ({ state, clock }) => {
    const what = { digest: '', mark: null, reading: {}, unedited: new BigUint64Array(), unsent: null };
    const put = (run: string) => state.rejects.put({ run, input: 0, owner: run, location: run, ...what });
    await put('first');
    for (const [days, kept] of [
      [89, 1],
      [2, 0],
    ] as const) {
      clock.pass(days * 86_400_000);
      await put(`${days} days later`);
      expect(await state.rejects.ofRun('first')).toHaveLength(kept);
    }
  });

  test('an input has the rejects file that was written last', async ({ state, clock }) => {
    await state.runs.start(aRun({ inputs: [INPUT, { ...INPUT, path: 'b.csv' }] }));
    const what = { digest: '', mark: null, reading: {}, unedited: new BigUint64Array(), unsent: null };
    for (const [run, location] of [
      [RUN, '/b.rejects.csv'],
      ['another', '/b.rejects-2.csv'],
    ] as const) {
      clock.pass(1);
      await state.rejects.put({ ...what, run, input: 1, owner: RUN, location });
      const files = (await first(state)).inputs.map(({ rejects_file }) => rejects_file);
      expect(files).toEqual([null, location]);
    }
  });
});

describe('requests', () => {
  /** Each value is another one. */
  const full = aRequest({
    ...{ parent: 3, first_row: 10, end_row: 20, first_line: 12, last_line: 25 },
    ...{ rows: 7, merged: 2, unchanged: 1, left_out: 3, left_out_by: 'another run', overtaken: 2 },
    ...{ doubtful: 1, bytes: 1_234, digest: 'c'.repeat(64), state: 'unknown', reason: 'connection reset' },
    ...{ failure: '422 invalid_item', retries: 3, possibleDuplicate: 'reply timeout' },
  });

  test('come back as they were recorded, in their order', async ({ state, reopen }) => {
    await sender(state).start();
    await sender(state).record(aRequest({ seq: 2 }));
    await sender(state).record(full);
    await state.close();
    expect(await (await reopen()).requests.of(RUN)).toEqual([full, aRequest({ seq: 2 })]);
    expect(await (await reopen()).requests.of('another run')).toEqual([]);
  });

  test('recorded again, they come back as they are now, whatever changed', async ({ state }) => {
    await sender(state).start();
    await sender(state).record(full);
    const job = aJob('job-1', { total_rows: 5, region_of_birth: 'a field the spec does not name' });
    const now: RequestRecord = {
      ...full,
      ...{ rows: 5, merged: 1, unchanged: 4, bytes: 900, digest: 'e'.repeat(64), state: 'acknowledged' },
      ...{ reason: null, retries: 4, possibleDuplicate: 'connection reset', job_id: 'job-1', job },
    };
    await sender(state).record(now);
    expect(await state.requests.of(RUN)).toEqual([now]);
  });

  test('have their job as it was last seen, by whatever command', async ({ state, reopen }) => {
    await sender(state).start();
    await sender(state).record(acknowledged(aJob('job-1')));
    const seen = { status: 'processing', completed_rows: 1 };
    await sender(await reopen()).ends('job-1', seen);
    expect((await state.requests.of(RUN))[0]).toMatchObject({ state: 'acknowledged', job: seen });
  });

  test('a job of the same name at another service is another job', async ({ state }) => {
    const [one, other] = [
      sender(state),
      sender(state, { run: 'other', scope: { ...SCOPE, region: 'default' } }),
    ];
    for (const { start, record } of [one, other]) {
      await start();
      await record(acknowledged(aJob('job-1')), [[1, 10]]);
    }
    await other.ends('job-1', { status: 'failed' });
    expect(await state.requests.of(RUN)).toMatchObject([
      { state: 'acknowledged', job: { status: 'queued' } },
    ]);
    expect(await state.requests.of('other')).toMatchObject([{ state: 'settled', job: { status: 'failed' } }]);
  });

  test('of a run that is not there are refused', async ({ state }) => {
    const recorded = sender(state, { run: 'none' }).record(aRequest());
    await expect(recorded).rejects.toThrow(/cannot record .*FOREIGN KEY/i);
  });

  test('are on disk when their recording resolves, and not before, with their job', async ({
    state,
    disk,
  }) => {
    await sender(state).start();
    const onDisk = (): unknown[] => disk.prepare('SELECT seq, state FROM requests ORDER BY seq').all();
    const recorded = sender(state).record(aRequest(), [[1, 10]]);
    expect(onDisk()).toEqual([]);
    await recorded;
    expect(onDisk()).toEqual([{ seq: 1, state: 'intent' }]);
    await sender(state).record(acknowledged(aJob('job-1')));
    expect(onDisk()).toEqual([{ seq: 1, state: 'acknowledged' }]);
    expect(disk.prepare('SELECT job_id FROM jobs').all()).toEqual([{ job_id: 'job-1' }]);
  });

  test('that wait when the state is closed are recorded', async ({ state, reopen }) => {
    await sender(state).start();
    const recorded = sender(state).record(aRequest());
    await state.close();
    await recorded;
    expect(await (await reopen()).requests.of(RUN)).toHaveLength(1);
  });

  test('their ids come back in their order, to hold what must not overtake them', async ({ state }) => {
    await sender(state).start();
    await sender(state).record(aRequest(), [
      [3, 1],
      [1, 1],
      [2, 1],
    ]);
    expect([...(await state.sends.idsOf(RUN, 1))]).toEqual([3n, 1n, 2n]);
    expect([...(await state.sends.idsOf(RUN, 2))]).toEqual([]);
  });
});

describe('a run that is forgotten', () => {
  const matches = async (state: State, id: number, content: number): Promise<boolean> =>
    (await state.known.load(SCOPE, 'companies')).matches(printsOf([id, content]), 0);

  test('is gone with its requests and its spooled input; its jobs stay known, and other runs', async ({
    state,
    folder,
  }) => {
    await sender(state).start();
    writeFileSync(join(state.spools.folder(RUN), 'input'), 'company_id\n1\n');
    await sender(state).record(acknowledged(aJob('job-1')), [[1, 10]]);
    const other = sender(state, { run: 'other' });
    await other.start();
    await other.record(aRequest());
    state.spools.folder('other');
    await state.runs.forget(RUN);
    expect((await state.runs.all()).map(({ run }) => run)).toEqual(['other']);
    expect(await state.requests.of(RUN)).toEqual([]);
    expect(await state.requests.of('other')).toHaveLength(1);
    expect(['other', RUN].map((run) => existsSync(join(folder, 'spool', run)))).toEqual([true, false]);
    expect(await state.jobs.all()).toMatchObject([{ job_id: 'job-1', run: RUN, rows: 3, status: 'queued' }]);
  });

  test('set the fingerprints of what it completed, and those stay; so do those that it cleared', async ({
    state,
  }) => {
    await sender(state).completes([
      [1, 10],
      [2, 10],
    ]);
    const later = sender(state, { run: 'later' });
    await later.start();
    await later.record(aRequest(), [[1, 11]]);
    await state.runs.forget(RUN);
    await state.runs.forget('later');
    expect([await matches(state, 1, 10), await matches(state, 2, 10)]).toEqual([false, true]);
  });

  test('has nothing to do with the next one, to which its row ids are given', async ({ state }) => {
    await sender(state).start();
    await sender(state).record(acknowledged(aJob('job-1')), [[1, 10]]);
    await state.runs.forget(RUN);
    const next = sender(state, { run: 'next' });
    await next.start();
    const unknown = aRequest({ state: 'unknown', reason: 'reset' });
    await next.record(unknown, [[2, 20]]);
    await next.ends('job-1');
    expect(await state.requests.of('next')).toEqual([unknown]);
    expect(await matches(state, 2, 20)).toBe(false);
  });

  test('does not take back what it completed when its row ids are given to the next one', async ({
    state,
  }) => {
    await sender(state, { run: 'first' }).completes([[1, 10]]);
    await sender(state, { run: 'second' }).completes([[1, 20]]);
    await state.runs.forget('second');
    const third = sender(state, { run: 'third' });
    await third.start();
    await third.record(aRequest(), [[2, 1]]);
    expect([await matches(state, 1, 20), await matches(state, 1, 10)]).toEqual([true, false]);
  });
});
