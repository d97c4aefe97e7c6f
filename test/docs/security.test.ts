/** SECURITY.md names the tests of its promises. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

test('the tests that SECURITY.md names are there', () => {
  const text = readFileSync(resolve(ROOT, 'SECURITY.md'), 'utf8');
  const lists = [...text.matchAll(/\[([a-z/-]+(?:, [a-z/-]+)*)\](?!\()/g)];
  const named = lists.flatMap(([, list]) => list!.split(', '));
  expect(named.length).toBeGreaterThan(20);
  const isThere = (name: string): boolean =>
    ['.test.ts', '.md'].some((end) => existsSync(resolve(ROOT, `test/${name}${end}`)));
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});
