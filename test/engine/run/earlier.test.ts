/** A run that is to be continued, between the look at it and the lock. */
import { describe, expect } from 'vitest';
import { mayContinue, stillOpen } from '../../../src/engine/run/door.js';
import { isContinuing } from '../../../src/engine/run/start.js';
import type { StoredRun } from '../../../src/engine/state/runs.js';
import { aRun, RUN, SCOPE, test } from '../state/support/state.js';

describe('an unfinished run', () => {
  test('gives the run as it is now', async ({ state }) => {
    await state.runs.start(aRun());
    const [seen] = await state.runs.all();
    await state.runs.end(RUN, { status: 'stopped', finished: false, endedBy: null, summary: null });
    expect((await stillOpen(seen!, isContinuing, state)).status).toBe('stopped');
  });

  test('refuses one that another process finished or removed', async ({ state }) => {
    await state.runs.start(aRun());
    const [seen] = await state.runs.all();
    await state.runs.end(RUN, { status: 'completed', finished: true, endedBy: null, summary: null });
    await expect(stillOpen(seen!, isContinuing, state)).rejects.toThrow(
      `run ${RUN} has finished (completed) in the meantime`,
    );
    await state.runs.forget(RUN);
    await expect(stillOpen(seen!, isContinuing, state)).rejects.toThrow(
      `run ${RUN} was forgotten in the meantime`,
    );
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

test('a run of an account without a name may continue under another token only if its own was refused', async ({
  state,
}) => {
  const other = { ...SCOPE, account: 'another token' };
  await state.runs.start(aRun({ named_account: null }));
  const may = async (account: string | null) => mayContinue((await state.runs.all())[0]!, other, account);
  await state.runs.end(RUN, { status: 'stopped', finished: false, endedBy: null, summary: null });
  expect(await may(null)).toBe(false);
  await state.runs.end(RUN, { status: 'stopped', finished: false, endedBy: 'unauthorised', summary: null });
  expect(await may(null)).toBe(true);
  expect(await may('staging')).toBe(false);
});
