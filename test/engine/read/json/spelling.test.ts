/** However an item is written, the same bytes are sent: otherwise, `--changed-only` would send it again. */
import { expect, it } from 'vitest';
import { file, read } from '../reading.js';

const sent = async (item: string): Promise<string[]> =>
  (await read(file('companies.ndjson', `${item}\n`))).texts;

it.each([
  ['1.5', '1.50'],
  ['0.000001', '1e-6'],
  ['1e-7', '0.0000001'],
  ['0', '-0'],
  ['100', '1e2'],
  ['"é"', '"\\u00e9"'],
  ['"a/b"', '"a\\/b"'],
  ['"x: {y} [z] 1.50"', '"x: {y} [\\u007a] 1.50"'],
  ['{"1":1,"2":2}', '{"2":2,"1":1}'],
  ['[1,2]', '[1, 2]'],
  ['null', ' null'],
])('%s and %s', async (one, other) => {
  const items = [
    `{"company_id":"c1","k":${one}}`,
    `{"company_id":"c1","k":${other}}`,
    `{ "k": ${one}, "company_id": "c1" }`,
  ];
  const texts = await Promise.all(items.map(sent));
  expect(texts).toEqual(items.map(() => [`{"company_id":"c1","metadata":{"k":${one}}}`]));
});
