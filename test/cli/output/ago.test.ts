import { expect, it } from 'vitest';
import { ago, agoBriefly } from '../../../src/cli/output/records.js';

const HOUR = 3_600_000;

it.each([
  [4_200, '4.2s ago', '4s ago'],
  [127 * 60_000, '2h 07m ago', '2h ago'],
  [73 * HOUR, '3 days ago', '3d ago'],
  [-127 * 60_000, '2h 07m ahead of this clock', '2h 07m ahead of this clock'],
  [-73 * HOUR, '3 days ahead of this clock', '3 days ahead of this clock'],
])('%i ms: %s, or %s', (ms, whole, brief) => {
  expect([ago(ms), agoBriefly(ms)]).toEqual([whole, brief]);
});
