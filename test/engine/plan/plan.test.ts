import { expect, it } from 'vitest';
import { scanAll } from '../../../src/engine/plan/plan.js';
import { file, HERE, KEY, open } from '../read/reading.js';

/** For each of two inputs with so many rows: of how many rows it keeps the hashes. */
async function kept(rows: number, more: { looks?: true } = {}): Promise<number[]> {
  const opened = await open(file('a.csv', `company_id\n${'1\n'.repeat(rows)}`));
  const signal = new AbortController().signal;
  const deps = { hashKey: KEY, itemLimitBytes: 1_000, pool: HERE, signal, reject: () => {}, ...more };
  const scan = scanAll([opened, opened], deps);
  let next = await scan.next();
  while (!next.done) next = await scan.next();
  return next.value.inputs.map(({ scan: { ids } }) => ids.reduce((sum, { length }) => sum + length, 0));
}

it('keeps the hashes of two million rows, however many inputs there are, and none to only look', async () => {
  const [first, second] = await kept(1_100_000);
  expect(first).toBe(1_100_000);
  expect(second).toBeGreaterThan(0);
  expect(second).toBeLessThanOrEqual(2 ** 21 - 1_100_000);
  expect(await kept(10)).toEqual([10, 10]);
  expect(await kept(10, { looks: true })).toEqual([0, 0]);
}, 60_000);
