import { describe, expect, it } from 'vitest';
import type { When } from '../../src/sandbox/fault-spec.js';
import { chance, createFaultPlan, strikes } from '../../src/sandbox/faults.js';
import type { SimulatedOutcome } from '../../src/sandbox/timeline.js';

const firstTwelve = Array.from({ length: 12 }, (_, i) => i + 1);
const noFailures = (): number => 0;

describe('when', () => {
  it.each<[When, number[]]>([
    [{ type: 'nth', n: 3 }, [3]],
    [{ type: 'every', n: 5 }, [5, 10]],
    [{ type: 'every', n: 1 }, firstTwelve],
    [{ type: 'first', n: 2 }, [1, 2]],
    [{ type: 'p', n: 0 }, []],
    [{ type: 'p', n: 1 }, firstTwelve],
  ])('%j of the first twelve: %j', (when, struck) => {
    expect(firstTwelve.filter((n) => strikes(when, n, 1, 'x'))).toEqual(struck);
  });

  it('by probability: as often as given, the same for the same seed, different for another', () => {
    const run = (seed: number): number[] =>
      Array.from({ length: 10_000 }, (_, i) => i).filter((n) =>
        strikes({ type: 'p', n: 0.1 }, n, seed, '429:p=0.1'),
      );
    expect(run(1).length).toBeGreaterThan(900);
    expect(run(1).length).toBeLessThan(1_100);
    expect(run(1)).toEqual(run(1));
    expect(run(1)).not.toEqual(run(2));
  });
});

it('random numbers are spread evenly, and do not depend on the one before', () => {
  const tenths = new Array<number>(10).fill(0);
  const pairs = new Array<number>(4).fill(0);
  for (let n = 0; n < 20_000; n++) {
    const [a, b] = [chance(7, 'spec', n), chance(7, 'spec', n + 1)];
    tenths[Math.floor(a * 10)]!++;
    pairs[(a < 0.5 ? 0 : 2) + (b < 0.5 ? 0 : 1)]!++;
  }
  for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(200);
  for (const count of pairs) expect(Math.abs(count - 5_000)).toBeLessThan(350);
});

describe('a plan', () => {
  const planned = (...specs: string[]) => {
    const plan = createFaultPlan(1, noFailures);
    for (const spec of specs) plan.add(spec);
    return plan;
  };

  it('counts each fault by the requests that it watches', () => {
    const plan = planned('500:nth=2', '404:nth=1,on=job', '503:nth=4,on=any');
    const seen = (['submit', 'job', 'submit', 'lookup', 'submit', 'identify'] as const).map(
      (operation) => plan.strike(operation)?.spec,
    );
    expect(seen).toEqual([
      undefined,
      '404:nth=1,on=job',
      '500:nth=2',
      '503:nth=4,on=any',
      undefined,
      undefined,
    ]);
  });

  it('applies the first of several faults; the others count the request, too', () => {
    const plan = planned('500:nth=1', '503:first=2');
    expect([plan.strike('submit')?.spec, plan.strike('submit')?.spec]).toEqual(['500:nth=1', '503:first=2']);
  });

  it('keeps faults of jobs apart from those of answers', () => {
    const plan = planned('fail-job:nth=2', 'hang:nth=1');
    expect(plan.strike('submit')?.kind).toBe('hang');
    expect([plan.outcome(5), plan.outcome(5), plan.outcome(5)].map((outcome) => outcome.type)).toEqual([
      'completed',
      'failed',
      'completed',
    ]);
  });

  it.each<[string, SimulatedOutcome]>([
    ['fail-job:nth=1', { type: 'failed' }],
    ['stuck-job:nth=1', { type: 'stuck', status: 'processing' }],
    ['stuck-job:nth=1,status=paused', { type: 'stuck', status: 'paused' }],
    ['unknown-status:nth=1', { type: 'detour', status: 'reindexing' }],
    ['short-job:nth=1,rows=2', { type: 'short', rows: 2 }],
    ['short-job:nth=1,rows=99', { type: 'short', rows: 5 }],
  ])('%s decides a job', (spec, outcome) => {
    expect(planned(spec).outcome(5)).toEqual(outcome);
  });

  it('starts again, is listed and cleared', () => {
    const plan = planned('500:nth=1');
    expect(plan.list()).toEqual(['500:nth=1']);
    plan.strike('submit');
    expect(plan.strike('submit')).toBeUndefined();
    plan.restart();
    expect(plan.strike('submit')?.spec).toBe('500:nth=1');
    plan.clear();
    plan.restart();
    expect([plan.list(), plan.strike('submit')]).toEqual([[], undefined]);
  });

  it('starts again with the jobs that fail at a rate', () => {
    const plan = createFaultPlan(3, () => 0.5);
    const outcomes = (): SimulatedOutcome[] => Array.from({ length: 20 }, () => plan.outcome(1));
    const before = outcomes();
    plan.restart();
    expect(outcomes()).toEqual(before);
  });

  it('fails jobs at a rate, and never without one', () => {
    const rate = (share: number): number => {
      const plan = createFaultPlan(3, () => share);
      return Array.from({ length: 2_000 }, () => plan.outcome(1)).filter(
        (outcome) => outcome.type === 'failed',
      ).length;
    };
    expect(rate(0)).toBe(0);
    expect(rate(1)).toBe(2_000);
    expect(Math.abs(rate(0.1) - 200)).toBeLessThan(50);
  });
});
