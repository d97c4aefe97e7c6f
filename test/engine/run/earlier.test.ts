/** A run that is to be continued, between the look at it and the lock. */
import { describe, expect } from 'vitest';
import { stillOpen, stillUnfinished, unfinished } from '../../../src/engine/run/door.js';
import type { StoredRun } from '../../../src/engine/state/runs.js';
import { aRun, RUN, SCOPE, test } from '../state/support/state.js';

describe('stillUnfinished', () => {
  test('gives the run as it is now', async ({ state }) => {
    await state.runs.start(aRun());
    const [seen] = await state.runs.all();
    await state.runs.setRejectsFile(RUN, 0, 'companies.rejects.csv');
    expect((await stillUnfinished(seen!, state)).inputs[0]?.rejects_file).toBe('companies.rejects.csv');
  });

  test('refuses one that another process finished or removed', async ({ state }) => {
    await state.runs.start(aRun());
    const [seen] = await state.runs.all();
    await state.runs.end(RUN, { status: 'completed', finished: true, endedBy: null, summary: null });
    await expect(stillUnfinished(seen!, state)).rejects.toThrow(
      `run ${RUN} has finished (completed) in the meantime`,
    );
    await state.runs.forget(RUN);
    await expect(stillUnfinished(seen!, state)).rejects.toThrow(`run ${RUN} was forgotten in the meantime`);
  });
});

test('what is to be sent again is not a run that another process continues', async ({ state }) => {
  await state.runs.start(aRun());
  await state.runs.end(RUN, { status: 'failed', finished: true, endedBy: null, summary: null });
  const [seen] = await state.runs.all();
  const isOver = ({ finished }: StoredRun): boolean => finished;
  expect((await stillOpen(seen!, isOver, state)).run).toBe(RUN);
  await state.runs.reopen(RUN);
  await expect(stillOpen(seen!, isOver, state)).rejects.toThrow(`run ${RUN} is unfinished (running)`);
});

describe('unfinished', () => {
  const { identity } = aRun();
  const other = { ...SCOPE, account: 'another token' };

  test('finds a run of an account without a name under another token only if its own was refused', async ({
    state,
  }) => {
    await state.runs.start(aRun({ named_account: null }));
    const find = async (account: string | null) =>
      (await unfinished(identity, other, account, state, false))?.run;
    await state.runs.end(RUN, { status: 'stopped', finished: false, endedBy: null, summary: null });
    expect(await find(null)).toBeUndefined();
    await state.runs.end(RUN, { status: 'stopped', finished: false, endedBy: 'unauthorised', summary: null });
    expect(await find(null)).toBe(RUN);
    expect(await find('staging')).toBeUndefined();
  });

  test('leaves a run of a saved plan to that plan', async ({ state }) => {
    const plan = { run: RUN, digest: 'd'.repeat(64), created_at: '2026-01-15T12:00:00.000Z' };
    await state.runs.start(aRun({ options: { plan } }));
    expect(await unfinished(identity, SCOPE, 'production', state, false)).toBeUndefined();
  });
});
