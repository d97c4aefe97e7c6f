import { describe, expect, it } from 'vitest';
import {
  appliedRows,
  jobAt,
  jobDuration,
  jobEnd,
  type SimulatedOutcome,
} from '../../src/sandbox/timeline.js';

const ACCEPTED = 1_000_000;
const plan = (outcome: SimulatedOutcome, rows = 100, durationMs = 1_000) => ({
  acceptedAt: ACCEPTED,
  durationMs,
  rows,
  outcome,
});

describe('duration', () => {
  it.each([
    [5_000, 2_000, 2_500],
    [1, 2_000, 300],
    [600, 2_000, 300],
    [601, 2_000, 301],
    [1_000_000, 50_000, 20_000],
  ])('%i rows at %i a second take %i ms', (rows, rate, ms) => {
    expect(jobDuration(rows, rate)).toBe(ms);
  });
});

describe('state at a share of the time', () => {
  const cases: [string, SimulatedOutcome, [ms: number, status: string, completed: number][]][] = [
    [
      'a job that completes',
      { type: 'completed' },
      [
        [-5_000, 'queued', 0],
        [0, 'queued', 0],
        [99, 'queued', 0],
        [100, 'validating', 0],
        [199, 'validating', 0],
        [200, 'processing', 0],
        [550, 'processing', 50],
        [899, 'processing', 99],
        [900, 'pending_refresh', 100],
        [999, 'pending_refresh', 100],
        [1_000, 'completed', 100],
        [9_000, 'completed', 100],
      ],
    ],
    [
      'a job that fails does so when processing is over, with nothing done',
      { type: 'failed' },
      [
        [150, 'validating', 0],
        [550, 'processing', 50],
        [899, 'processing', 99],
        [900, 'failed', 0],
      ],
    ],
    [
      'stuck in processing',
      { type: 'stuck', status: 'processing' },
      [
        [150, 'validating', 0],
        [300, 'processing', 14],
        [5_000, 'processing', 50],
      ],
    ],
    [
      'stuck in pending_refresh',
      { type: 'stuck', status: 'pending_refresh' },
      [
        [550, 'processing', 50],
        [5_000, 'pending_refresh', 100],
      ],
    ],
    ['stuck in queued', { type: 'stuck', status: 'queued' }, [[5_000, 'queued', 0]]],
    [
      'stuck in a state of its own, where processing would be',
      { type: 'stuck', status: 'paused' },
      [
        [150, 'validating', 0],
        [5_000, 'paused', 50],
      ],
    ],
    [
      'an unknown status in place of processing',
      { type: 'detour', status: 'reindexing' },
      [
        [150, 'validating', 0],
        [550, 'reindexing', 50],
        [950, 'pending_refresh', 100],
        [1_000, 'completed', 100],
      ],
    ],
    [
      'short of its last rows',
      { type: 'short', rows: 3 },
      [
        [950, 'pending_refresh', 97],
        [1_000, 'completed', 97],
      ],
    ],
  ];
  it.each(cases)('%s', (_, outcome, moments) => {
    const seen = moments.map(([ms]) => {
      const { status, completedRows } = jobAt(plan(outcome), ACCEPTED + ms);
      return [ms, status, completedRows];
    });
    expect(seen).toEqual(moments);
  });

  it('stops counting time and names the end when it ends', () => {
    expect(jobAt(plan({ type: 'completed' }), ACCEPTED + 400)).toMatchObject({
      elapsedMs: 400,
      endedAt: null,
    });
    expect(jobAt(plan({ type: 'completed' }), ACCEPTED + 7_000)).toMatchObject({
      elapsedMs: 1_000,
      endedAt: ACCEPTED + 1_000,
    });
  });

  it('has taken no time if the clock was set back', () => {
    expect(jobAt(plan({ type: 'completed' }), ACCEPTED - 5_000)).toMatchObject({
      elapsedMs: 0,
      endedAt: null,
    });
  });
});

it.each<[SimulatedOutcome, number | null, number]>([
  [{ type: 'completed' }, ACCEPTED + 1_000, 100],
  [{ type: 'detour', status: 'x' }, ACCEPTED + 1_000, 100],
  [{ type: 'failed' }, ACCEPTED + 900, 0],
  [{ type: 'stuck', status: 'queued' }, null, 0],
  [{ type: 'short', rows: 1 }, ACCEPTED + 1_000, 99],
  [{ type: 'short', rows: 500 }, ACCEPTED + 1_000, 0],
])('%j ends at %s and applies %i rows', (outcome, end, rows) => {
  expect([jobEnd(plan(outcome)), appliedRows(plan(outcome))]).toEqual([end, rows]);
});
