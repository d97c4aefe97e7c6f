import { expect, it } from 'vitest';
import { textFormat } from '../../../src/engine/read/formats.js';

it.each([
  ['white space before the first character', 'input', ' \t\r\n[{"company_id":"1"}]', 'json'],
  ['control characters before it', 'input', '\0\u0001[{"company_id":"1"}]', 'json'],
  ['a record separator is a character of its own', 'input', '\n\u001e[{"company_id":"1"}]', 'csv'],
  ['the name of a packed file', 'a.jsonl.gz', 'x', 'ndjson'],
  ['an extension only counts as a whole', 'a.x-jsonl', 'x', 'csv'],
] as const)('%s', (_, path, text, format) => {
  expect(textFormat({ path, format: undefined }, Buffer.from(text))).toBe(format);
});
