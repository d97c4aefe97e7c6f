/** Reading and writing of the config file where no command gets. */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfig, writeConfig } from '../../../src/cli/settings/file.js';
import { scratch } from '../../support/cli.js';

it('modes are ignored on Windows', async () => {
  const path = join(scratch(), 'config.json');
  writeFileSync(path, '{"token":"token-of-the-top-0000"}');
  chmodSync(path, 0o644);
  expect((await readConfig(path, { platform: 'win32' })).content.token).toBe('token-of-the-top-0000');
});

it('a failure to write leaves no other file', async () => {
  const folder = scratch();
  const path = join(folder, 'config.json');
  mkdirSync(path);
  await expect(writeConfig(path, {})).rejects.toThrow(/config\.json: cannot be written: this is a folder/);
  expect(readdirSync(folder)).toEqual(['config.json']);
});
