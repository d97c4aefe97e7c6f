import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { RequestRecord } from '../../../src/engine/state/requests.js';
import { aSummary } from '../../support/runs.js';
import { acknowledged, aJob, aRequest, aRun, printsOf, RUN, SCOPE, test } from './support/state.js';

describe('runs', () => {
  test('come back as they were stored, after the state was closed', async ({ state, reopen }) => {
    const run = aRun({
      options: { rules: { map: [['__proto__', 'plan']] }, limits: null },
      inputs: [
        {
          path: '-',
          location: '/spool/input',
          kind: 'companies',
          digest: 'a',
          rejects_file: null,
          types: [],
          rows: { read: 0, filtered: 0, rejected: 0 },
        },
        {
          path: 'u 2.csv',
          location: '/data/u 2.csv',
          kind: 'users',
          digest: 'b',
          rejects_file: 'r.csv',
          types: ['string', 'integer'],
          rows: { read: 0, filtered: 0, rejected: 0 },
        },
        {
          path: 'u.csv',
          location: '/data/u.csv',
          kind: 'users',
          digest: 'c',
          rejects_file: null,
          types: [],
          rows: { read: 0, filtered: 0, rejected: 0 },
        },
      ],
    });
    await state.runs.start(run);
    await state.close();
    expect(await (await reopen()).runs.all()).toEqual([
      {
        ...run,
        kinds: ['companies', 'users'],
        paths: ['-', 'u 2.csv', 'u.csv'],
        ended_at: null,
        ended_by: null,
        hasOpenJobs: false,
        summary: null,
      },
    ]);
  });

  test('are listed newest first; of one moment, the last stored', async ({ state }) => {
    await state.runs.start(aRun({ run: 'b', started_at: '2026-01-15T12:00:00.000Z' }));
    await state.runs.start(aRun({ run: 'c', started_at: '2026-01-15T11:00:00.000Z' }));
    await state.runs.start(aRun({ run: 'a', started_at: '2026-01-15T12:00:00.000Z' }));
    expect((await state.runs.all()).map(({ run }) => run)).toEqual(['a', 'b', 'c']);
  });

  test('are found by their name', async ({ state }) => {
    for (const run of ['a', 'b', 'c']) await state.runs.start(aRun({ run }));
    expect((await state.runs.all({ run: 'b' })).map(({ run }) => run)).toEqual(['b']);
    expect(await state.runs.all({ run: 'none' })).toEqual([]);
  });

  test('an end is kept with its summary; going on takes the end back, not the summary', async ({
    state,
    clock,
  }) => {
    const summary = aSummary({ status: 'interrupted' });
    await state.runs.start(aRun());
    clock.pass(5_000);
    await state.runs.end(RUN, { status: 'interrupted', finished: false, endedBy: 'interrupted', summary });
    expect((await state.runs.all())[0]).toMatchObject({
      status: 'interrupted',
      finished: false,
      ended_by: 'interrupted',
      ended_at: clock.text(),
      summary,
    });
    await state.runs.reopen(RUN);
    expect((await state.runs.all())[0]).toMatchObject({ status: 'running', ended_at: null, summary });
  });

  test('a summary is kept without the words that quote its rows', async ({ state }) => {
    const summary = aSummary({
      rejected: [{ file: 'c.csv', line: 2, reason: 'seats: "confidential" is not of type integer' }],
      warnings: ['price: trailing zeros are dropped: line 3: "1.10" becomes 1.1'],
    });
    await state.runs.start(aRun());
    await state.runs.end(RUN, { status: 'partial', finished: true, endedBy: null, summary });
    expect((await state.runs.all())[0]!.summary).toEqual({
      ...summary,
      rejected: [{ file: 'c.csv', line: 2, reason: '' }],
      warnings: [],
    });
  });

  test('an end without a summary keeps the one before', async ({ state }) => {
    const summary = aSummary({ status: 'stopped' });
    await state.runs.start(aRun());
    await state.runs.end(RUN, { status: 'stopped', finished: false, endedBy: 'network', summary });
    await state.runs.end(RUN, { status: 'superseded', finished: true, endedBy: null, summary: null });
    expect((await state.runs.all())[0]).toMatchObject({ status: 'superseded', finished: true, summary });
  });

  test('one that a refused token ended may go on with another token, however often it stops', async ({
    state,
  }) => {
    const endedBy = async (code: string): Promise<string | null> => {
      await state.runs.reopen(RUN);
      await state.runs.end(RUN, { status: 'stopped', finished: false, endedBy: code, summary: null });
      return (await state.runs.all())[0]!.ended_by;
    };
    await state.runs.start(aRun());
    expect(await endedBy('network')).toBe('network');
    expect(await endedBy('unauthorised')).toBe('unauthorised');
    expect(await endedBy('network')).toBe('unauthorised');
  });

  test('a rejects file is kept with its input', async ({ state }) => {
    const [input] = aRun().inputs;
    await state.runs.start(aRun({ inputs: [input!, { ...input!, path: 'b.csv' }] }));
    await state.runs.setRejectsFile(RUN, 1, 'b.rejects.csv');
    expect((await state.runs.all())[0]!.inputs.map(({ rejects_file }) => rejects_file)).toEqual([
      null,
      'b.rejects.csv',
    ]);
  });
});

describe('requests', () => {
  const full: RequestRecord = {
    seq: 1,
    parent: 3,
    input: 0,
    first_row: 10,
    end_row: 20,
    first_line: 12,
    last_line: 25,
    more: [],
    rows: 7,
    merged: 2,
    unchanged: 1,
    left_out: 3,
    left_out_by: 'another run',
    overtaken: 2,
    doubtful: 1,
    bytes: 1_234,
    digest: 'c'.repeat(64),
    state: 'unknown',
    reason: 'connection reset',
    failure: '422 invalid_item',
    retries: 3,
    possibleDuplicate: 'reply timeout',
    job_id: null,
    job: null,
  };

  test('come back as they were recorded, in their order', async ({ state, reopen }) => {
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', aRequest({ seq: 2 }), null);
    await state.requests.record(RUN, SCOPE, 'companies', full, null);
    await state.close();
    expect(await (await reopen()).requests.of(RUN)).toEqual([full, aRequest({ seq: 2 })]);
    expect(await (await reopen()).requests.of('another run')).toEqual([]);
  });

  test('recorded again, they come back as they are now, whatever changed', async ({ state }) => {
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', full, null);
    const now: RequestRecord = {
      ...full,
      rows: 5,
      merged: 1,
      unchanged: 4,
      bytes: 900,
      digest: 'e'.repeat(64),
      state: 'acknowledged',
      reason: null,
      retries: 4,
      possibleDuplicate: 'connection reset',
      job_id: 'job-1',
      job: aJob('job-1', { total_rows: 5, region_of_birth: 'a field the spec does not name' }),
    };
    await state.requests.record(RUN, SCOPE, 'companies', now, null);
    expect(await state.requests.of(RUN)).toEqual([now]);
  });

  test('have their job as it was last seen, by whatever command', async ({ state, reopen }) => {
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-1')), null);
    await (await reopen()).jobs.update(SCOPE, aJob('job-1', { status: 'processing', completed_rows: 1 }));
    expect((await state.requests.of(RUN))[0]).toMatchObject({
      state: 'acknowledged',
      job: { job_id: 'job-1', status: 'processing', completed_rows: 1 },
    });
  });

  test('a job of the same name at another service is another job', async ({ state }) => {
    const other = { ...SCOPE, region: 'default' };
    await state.runs.start(aRun());
    await state.runs.start(aRun({ run: 'other', scope: other }));
    await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-1')), null);
    await state.requests.record('other', other, 'companies', acknowledged(aJob('job-1')), printsOf([1, 10]));
    await state.jobs.update(other, aJob('job-1', { status: 'failed' }));
    expect((await state.requests.of(RUN))[0]).toMatchObject({
      state: 'acknowledged',
      job: { status: 'queued' },
    });
    expect((await state.requests.of('other'))[0]).toMatchObject({
      state: 'settled',
      job: { status: 'failed' },
    });
  });

  test('of a run that is not there are refused', async ({ state }) => {
    await expect(state.requests.record('none', SCOPE, 'companies', aRequest(), null)).rejects.toThrow(
      /cannot record .*FOREIGN KEY/i,
    );
  });

  test('are on disk when their recording resolves, and not before', async ({ state, disk }) => {
    await state.runs.start(aRun());
    const onDisk = (): unknown[] => disk.prepare('SELECT seq, state FROM requests ORDER BY seq').all();
    const recorded = state.requests.record(RUN, SCOPE, 'companies', aRequest(), printsOf([1, 10]));
    expect(onDisk()).toEqual([]);
    await recorded;
    expect(onDisk()).toEqual([{ seq: 1, state: 'intent' }]);
    await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-1')), null);
    expect(onDisk()).toEqual([{ seq: 1, state: 'acknowledged' }]);
    expect(disk.prepare('SELECT job_id FROM jobs').all()).toEqual([{ job_id: 'job-1' }]);
  });

  test('that wait when the state is closed are recorded', async ({ state, reopen }) => {
    await state.runs.start(aRun());
    const recorded = state.requests.record(RUN, SCOPE, 'companies', aRequest(), null);
    await state.close();
    await recorded;
    expect(await (await reopen()).requests.of(RUN)).toHaveLength(1);
  });

  test('their ids come back in their order, to hold what must not overtake them', async ({ state }) => {
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', aRequest(), printsOf([3, 1], [1, 1], [2, 1]));
    expect([...(await state.sends.idsOf(RUN, 1))]).toEqual([3n, 1n, 2n]);
    expect([...(await state.sends.idsOf(RUN, 2))]).toEqual([]);
  });
});

describe('a run that is forgotten', () => {
  test('is gone with its requests and its spooled input; its jobs stay known', async ({ state, folder }) => {
    await state.runs.start(aRun());
    writeFileSync(join(state.spools.folder(RUN), 'input'), 'company_id\n1\n');
    await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-1')), printsOf([1, 10]));
    await state.runs.forget(RUN);
    expect(await state.runs.all()).toEqual([]);
    expect(await state.requests.of(RUN)).toEqual([]);
    expect(existsSync(join(folder, 'spool', RUN))).toBe(false);
    expect(await state.jobs.all()).toMatchObject([{ job_id: 'job-1', run: RUN, rows: 3, status: 'queued' }]);
  });

  test('leaves other runs alone', async ({ state, folder }) => {
    await state.runs.start(aRun());
    await state.runs.start(aRun({ run: 'other' }));
    state.spools.folder('other');
    await state.requests.record('other', SCOPE, 'companies', aRequest(), null);
    await state.runs.forget(RUN);
    expect((await state.runs.all()).map(({ run }) => run)).toEqual(['other']);
    expect(await state.requests.of('other')).toHaveLength(1);
    expect(existsSync(join(folder, 'spool', 'other'))).toBe(true);
  });

  test('set the fingerprints of what it completed, and those stay', async ({ state }) => {
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-1')), printsOf([1, 10]));
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    await state.runs.forget(RUN);
    expect((await state.known.load(SCOPE, 'companies')).matches(printsOf([1, 10]), 0)).toBe(true);
  });

  test('cleared the fingerprints of what it sent, and those stay cleared', async ({ state }) => {
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-1')), printsOf([1, 10]));
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    await state.runs.start(aRun({ run: 'later' }));
    await state.requests.record('later', SCOPE, 'companies', aRequest(), printsOf([1, 11]));
    await state.runs.forget('later');
    expect((await state.known.load(SCOPE, 'companies')).matches(printsOf([1, 10]), 0)).toBe(false);
  });

  test('has nothing to do with the next one, to which its row ids are given', async ({ state }) => {
    await state.runs.start(aRun());
    await state.requests.record(RUN, SCOPE, 'companies', acknowledged(aJob('job-1')), printsOf([1, 10]));
    await state.runs.forget(RUN);
    await state.runs.start(aRun({ run: 'next' }));
    const unknown = aRequest({ state: 'unknown', reason: 'reset' });
    await state.requests.record('next', SCOPE, 'companies', unknown, printsOf([2, 20]));
    await state.jobs.update(SCOPE, aJob('job-1', { status: 'completed' }));
    expect(await state.requests.of('next')).toEqual([unknown]);
    expect((await state.known.load(SCOPE, 'companies')).matches(printsOf([2, 20]), 0)).toBe(false);
  });

  test('does not take back what it completed when its row ids are given to the next one', async ({
    state,
  }) => {
    const send = async (run: string, content: number): Promise<void> => {
      await state.runs.start(aRun({ run }));
      await state.requests.record(run, SCOPE, 'companies', acknowledged(aJob(run)), printsOf([1, content]));
      await state.jobs.update(SCOPE, aJob(run, { status: 'completed' }));
    };
    await send('first', 10);
    await send('second', 20);
    await state.runs.forget('second');
    await state.runs.start(aRun({ run: 'third' }));
    await state.requests.record('third', SCOPE, 'companies', aRequest(), printsOf([2, 1]));
    const index = await state.known.load(SCOPE, 'companies');
    expect(index.matches(printsOf([1, 20]), 0)).toBe(true);
    expect(index.matches(printsOf([1, 10]), 0)).toBe(false);
  });
});
