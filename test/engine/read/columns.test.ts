import { expect, it } from 'vitest';
import { columnsOf } from '../../../src/engine/read/index.js';
import { file } from './reading.js';

it.each<[string, string, string[]]>([
  ['commas', 'name,size\n1,A,2\n', ['name', 'size']],
  ['semicolons and a byte order mark', '\uFEFFcompany_id;name\r\n1;A,B\r\n', ['company_id', 'name']],
  [
    'quotes, with delimiter and line break inside',
    '"name, full","no\nte",x\n2,3,4',
    ['name, full', 'no\nte', 'x'],
  ],
  ['a JSON array', '[\n  {"name": "A", "size": 1}]', ['name', 'size']],
  ['an empty array', '[]', []],
])('%s', async (_, content, columns) => {
  const location = file('input', content);
  expect(await columnsOf({ path: 'input', location })).toEqual(columns);
});

it('a file without content is an error', async () => {
  await expect(columnsOf({ path: 'input', location: file('input', '') })).rejects.toThrow(
    'the file is empty',
  );
});
