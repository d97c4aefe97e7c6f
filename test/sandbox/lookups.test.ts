/** Where embeds and checklists come from: given, the data folder's file, the example. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readLookups, type SandboxOptions } from '../../src/sandbox/index.js';
import { scratch } from '../support/cli.js';
import { test } from '../support/sandbox.js';
import { get, LOOKUPS } from './http.js';

const OURS = [{ display_name: 'Ours', key: 'ours', data_type: 'checklist' }];
const GIVEN = [{ id: 1, title: 'Given', type: 'card' as const }];

const withFile = (): string => {
  const dataDir = scratch();
  writeFileSync(join(dataDir, 'sandbox-lookups.json'), JSON.stringify({ checklists: OURS }));
  return dataDir;
};

test.for([
  ['nowhere.json', 'no such file'],
  ['.', 'this is a folder, not a file'],
])('a file that cannot be read is named, with the reason: %s', ([name, reason]) => {
  const file = join(scratch(), name!);
  expect(() => readLookups(file)).toThrow(`the lookup lists cannot be read: ${reason}`);
});

test.for<[what: string, options: () => SandboxOptions, embeds: string, checklists: string]>([
  ['nothing said', () => ({}), 'Welcome to the new dashboard', 'Getting started'],
  ['a file with one list', () => ({ dataDir: withFile() }), 'Welcome to the new dashboard', 'Ours'],
  ['one list given', () => ({ lookups: { embeds: GIVEN } }), 'Given', 'Getting started'],
  [
    'one list given beside a file',
    () => ({ dataDir: withFile(), lookups: { embeds: GIVEN } }),
    'Given',
    'Getting started',
  ],
  [
    'a file read and given',
    () => ({ lookups: readLookups(join(withFile(), 'sandbox-lookups.json')) }),
    'Welcome to the new dashboard',
    'Ours',
  ],
])('%s', async ([, options, embeds, checklists], { start }) => {
  const sandbox = await start(options());
  const first = async (list: string): Promise<unknown> =>
    ((await get(sandbox, `${sandbox.lookupUrl}${LOOKUPS}${list}`)).json() as unknown[])[0];
  expect(await first('embeds')).toMatchObject({ title: embeds });
  expect(await first('checklists')).toMatchObject({ display_name: checklists });
});
