/** A run that is to be continued, between the look at it and the lock. */
import { describe, expect } from 'vitest';
import { stillUnfinished } from '../../../src/engine/run/earlier.js';
import { aRun, RUN, test } from '../state/support/state.js';

describe('stillUnfinished', () => {
  test('gives the run as it is now', ({ state }) => {
    state.startRun(aRun());
    const [seen] = state.knownRuns();
    state.setRejectsFile(RUN, 0, 'companies.rejects.csv');
    expect(stillUnfinished(seen!, state).inputs[0]?.rejects_file).toBe('companies.rejects.csv');
  });

  test('refuses one that another process finished or removed', ({ state }) => {
    state.startRun(aRun());
    const [seen] = state.knownRuns();
    state.endRun(RUN, { status: 'completed', finished: true, endedBy: null, summary: null });
    expect(() => stillUnfinished(seen!, state)).toThrow(
      `run ${RUN} has finished (completed) in the meantime`,
    );
    state.forgetRun(RUN);
    expect(() => stillUnfinished(seen!, state)).toThrow(`run ${RUN} was forgotten in the meantime`);
  });
});
