import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { collectGarbage } from '../../src/engine/collect-garbage.js';

const SIZE = 64 * 1024 * 1024;

const held = (): number => process.memoryUsage().arrayBuffers;

it('memory that was shared is given back once nothing refers to it', async () => {
  const before = held();
  let shared: SharedArrayBuffer | null = new SharedArrayBuffer(SIZE);
  expect(held()).toBeGreaterThanOrEqual(before + shared.byteLength);
  shared = null;
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage(SIZE);
  await expect.poll(held).toBeLessThan(before + SIZE);
});

it('programs find no function for it', () => {
  collectGarbage(SIZE);
  expect(runInNewContext('typeof gc')).toBe('undefined');
});
