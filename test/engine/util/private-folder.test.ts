import { existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ensureFolder } from '../../../src/engine/util/private-folder.js';
import { scratch } from '../../support/cli.js';

const mode = (path: string): number => statSync(path).mode & 0o777;

test('makes a folder and those above it, all private, and changes none that is there', () => {
  const top = scratch();
  const before = mode(top);
  ensureFolder(join(top, 'a', 'b', 'c'));
  ensureFolder(join(top, 'a', 'b'));
  for (const path of ['a', 'a/b', 'a/b/c']) expect(mode(join(top, path))).toBe(0o700);
  expect(mode(top)).toBe(before);
});

test.skipIf(!existsSync('/proc/self'))('ends where the parent takes no folder', () => {
  expect(() => ensureFolder('/proc/profiles/a')).toThrow(expect.objectContaining({ code: 'ENOENT' }));
});

test.each([
  ['file', 'EEXIST'],
  ['file/a', 'ENOTDIR'],
])('a file is in the way: %s', (path, code) => {
  const top = scratch();
  writeFileSync(join(top, 'file'), '');
  expect(() => ensureFolder(join(top, path))).toThrow(expect.objectContaining({ code }));
});

test.skipIf(process.platform === 'win32').each(['link', 'link/a'])(
  'a link to nothing is in the way: %s',
  (path) => {
    const top = scratch();
    symlinkSync(join(top, 'nothing'), join(top, 'link'));
    expect(() => ensureFolder(join(top, path))).toThrow('is a link that leads to no folder');
  },
);
