/** CONTRIBUTING speaks of files that are there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './consumer.js';

const TEXT = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');

test('every file and folder that it names exists', () => {
  const named = [...TEXT.matchAll(/`((?:src|test|scripts|bin)\/[\w./-]+)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('every command that it names is a script', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
  const named = [...TEXT.matchAll(/`npm run ([\w:]+)/g)].map(([, name]) => name!);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});
