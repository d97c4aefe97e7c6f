/** A run that is to be continued, between the look at it and the lock. */
import { describe, expect } from 'vitest';
import { stillUnfinished } from '../../../src/engine/run/earlier.js';
import { aRun, RUN, test } from '../state/support/state.js';

describe('stillUnfinished', () => {
  test('gives the run as it is now', async ({ state }) => {
    await state.startRun(aRun());
    const [seen] = await state.knownRuns();
    await state.setRejectsFile(RUN, 0, 'companies.rejects.csv');
    expect((await stillUnfinished(seen!, state)).inputs[0]?.rejects_file).toBe('companies.rejects.csv');
  });

  test('refuses one that another process finished or removed', async ({ state }) => {
    await state.startRun(aRun());
    const [seen] = await state.knownRuns();
    await state.endRun(RUN, { status: 'completed', finished: true, endedBy: null, summary: null });
    await expect(stillUnfinished(seen!, state)).rejects.toThrow(
      `run ${RUN} has finished (completed) in the meantime`,
    );
    await state.forgetRun(RUN);
    await expect(stillUnfinished(seen!, state)).rejects.toThrow(`run ${RUN} was forgotten in the meantime`);
  });
});
