import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { columnsOf } from '../../../src/engine/read/index.js';
import { file } from './reading.js';

it.each<[string, string | Buffer, string[]]>([
  ['commas', 'name,size\n1,A,2\n', ['name', 'size']],
  ['semicolons and a byte order mark', '\uFEFFcompany_id;name\r\n1;A,B\r\n', ['company_id', 'name']],
  ['tabs', 'company_id\tfirst name\n', ['company_id', 'first name']],
  [
    'quotes, with delimiter and line break inside',
    '"name, full","no\nte",x\n2,3,4',
    ['name, full', 'no\nte', 'x'],
  ],
  ['one column', 'company_id\n1', ['company_id']],
  ['JSON Lines', '{"company_id":"1","name":"A"}\n{"company_id":"2"}\n', ['company_id', 'name']],
  ['a JSON array', '[\n  {"name": "A", "size": 1}]', ['name', 'size']],
  ["the service's own body", '{"companies":[{"company_id":"1","name":"A"}]}', ['company_id', 'name']],
  ['an empty array', '[]', []],
  ['gzip', gzipSync('company_id,name\n'), ['company_id', 'name']],
  ['UTF-16', Buffer.from('\uFEFFcompany_id,name', 'utf16le'), ['company_id', 'name']],
])('%s', async (_, content, columns) => {
  const location = file('input', content);
  expect(await columnsOf({ path: 'input', location })).toEqual(columns);
});

it('a file without content is an error', async () => {
  await expect(columnsOf({ path: 'input', location: file('input', '') })).rejects.toThrow(
    'the file is empty',
  );
});
