import { expect, it } from 'vitest';
import { scaleOf } from '../../src/sandbox/page/client/scale.js';

it('is linear where jobs follow each other', () => {
  const scale = scaleOf([
    { from: 100, until: 200 },
    { from: 200, until: 300 },
  ]);
  expect(scale.gaps).toEqual([]);
  expect([50, 100, 150, 300, 900].map(scale.at)).toEqual([0, 0, 0.25, 1, 1]);
});

it('leaves out pauses without a job', () => {
  const scale = scaleOf([
    { from: 90_000_000, until: 90_000_100 },
    { from: 0, until: 100 },
  ]);
  expect(scale.gaps).toHaveLength(1);
  expect(scale.at(100)).toBeCloseTo(0.49);
  expect(scale.at(45_000_000)).toBeCloseTo(0.49); // before the gap
  expect(scale.at(90_000_000)).toBeCloseTo(0.51);
  expect(scale.at(90_000_100)).toBeCloseTo(1);
});

it('keeps pauses that are short compared with the jobs', () => {
  const scale = scaleOf([
    { from: 0, until: 100 },
    { from: 110, until: 210 },
  ]);
  expect(scale.gaps).toEqual([]);
  expect(scale.at(105)).toBeCloseTo(0.5);
});

it.each<[spans: { from: number; until: number }[]]>([[[]], [[{ from: 5, until: 5 }]]])(
  'holds for %j',
  (spans) => {
    expect(scaleOf(spans).at(5)).toBe(0);
  },
);

it('has room for many gaps', () => {
  const scale = scaleOf(Array.from({ length: 50 }, (_, i) => ({ from: i * 1_000, until: i * 1_000 + 1 })));
  expect(scale.at(49_001)).toBeCloseTo(1);
  expect(scale.at(0)).toBe(0);
});
