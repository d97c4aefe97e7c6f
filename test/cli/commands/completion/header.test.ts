import { expect, it } from 'vitest';
import { headerOf } from '../../../../src/cli/commands/completion/header.js';

it.each<[string, string | Buffer, string[]]>([
  ['commas', 'company_id,name,size\n1,A,2\n', ['company_id', 'name', 'size']],
  ['semicolons and a byte order mark', '\uFEFFcompany_id;name\r\n1;A,B\r\n', ['company_id', 'name']],
  ['tabs', 'company_id\tfirst name\n', ['company_id', 'first name']],
  [
    'quotes, with delimiter and line break inside',
    '"company_id","name, full","no\nte",x\n1,2,3,4',
    ['company_id', 'name, full', 'no\nte', 'x'],
  ],
  ['one column', 'company_id\n1', ['company_id']],
  ['JSON Lines', '{"company_id":"1","name":"A"}\n{"company_id":"2"}\n', ['company_id', 'name']],
  ['a JSON array', '[\n  {"company_id": "1", "name": "A"}]', ['company_id', 'name']],
  ["the service's own body", '{"companies":[{"company_id":"1","name":"A"}]}', ['company_id', 'name']],
  ['JSON that goes on beyond the beginning', '[{"company_id": "1", "na', []],
  ['gzip', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]), []],
  ['UTF-16', Buffer.from('\uFEFFcompany_id,name', 'utf16le'), []],
  ['nothing', '', []],
])('%s', (_, beginning, columns) => {
  expect(headerOf(Buffer.from(beginning))).toEqual(columns);
});
