/** What begins at the offset of a record, below the header, has the same records as the whole file from there on. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NO_RULES } from '../../../src/engine/options/mapping-rules.js';
import { NUMBERS } from '../../../src/engine/options.js';
import { CsvRow } from '../../../src/engine/read/csv/rows.js';
import { openInput } from '../../../src/engine/read/open.js';
import { lineOffsets, readRecords, startsAnywhere } from '../../../src/engine/read/records.js';
import type { OpenedInput } from '../../../src/engine/read/types.js';
import { scratch } from '../../support/cli.js';
import { times } from '../../support/times.js';

const folder = scratch();
const open = (text: string | Buffer, name = 'a.csv'): Promise<OpenedInput> => {
  writeFileSync(join(folder, name), text);
  return openInput({
    path: name,
    location: name,
    cwd: folder,
    maxCellBytes: NUMBERS.maxCellBytes.default,
    rules: NO_RULES,
  });
};

/** Records with their numbers and lines. */
async function recordsOf(input: OpenedInput): Promise<[row: number, line: number, text: string][]> {
  const found: [number, number, string][] = [];
  const row = new CsvRow();
  for await (const batch of readRecords(input)) {
    row.begin(batch);
    for (const [at, line] of batch.lines.entries()) {
      found.push([batch.first + at, line, JSON.stringify(row.original(at))]);
    }
  }
  return found;
}

/** The same of the header and what begins at an offset, with numbers and lines as in the whole file. */
async function recordsAt(offset: number, row: number, line: number): ReturnType<typeof recordsOf> {
  const whole = readFileSync(join(folder, 'a.csv'));
  const header = whole.subarray(0, whole.indexOf('\n') + 1);
  const cut = await open(Buffer.concat([header, whole.subarray(offset)]), 'cut.csv');
  return (await recordsOf(cut)).map(([at, on, text]) => [row + at, line + on - 2, text]);
}

async function check(text: string): Promise<void> {
  const input = await open(text);
  expect(startsAnywhere(input)).toBe(true);
  const whole = await recordsOf(input);
  const offsets = await lineOffsets(
    input,
    whole.map(([, line]) => line),
  );
  expect(offsets).toHaveLength(whole.length);
  for (const [at, [row, line]] of whole.entries()) {
    expect(await recordsAt(offsets[at]!, row, line)).toEqual(whole.slice(at));
  }
}

const cell = fc.constantFrom('x', '', '"a""b"', '"two\nlines"', '"cr\rlf\r\n"', 'ü');
/** Text after a closing quote makes all of its line one broken record. */
const last = fc.oneof(cell, fc.constant('"a"b'));
const end = fc.constantFrom('\n', '\r\n', '\r', '\n\n', '\r\n\r\n');
const rows = fc.array(fc.tuple(cell, last, end), { maxLength: 8 });

test('any line ends, quotes, empty lines, with and without BOM', async () => {
  await fc.assert(
    fc.asyncProperty(rows, fc.boolean(), async (lines, bom) => {
      const text = lines.map(([a, b, close], n) => `c${n},${a},${b}${close}`).join('');
      await check(`${bom ? '\ufeff' : ''}company_id,a,b\r\n${text}`);
    }),
    { numRuns: times(30) },
  );
});

/** Bytes of a file that are read together. */
const BLOCK = 256 * 1024;

test('line ends on both sides of a block', async () => {
  for (const shift of [-2, -1, 0, 1]) {
    const head = 'company_id,a\r\n';
    const filler = `f,${'x'.repeat(900)}\r\n`;
    const many = filler.repeat(Math.floor((BLOCK - head.length) / filler.length) - 1);
    const last = BLOCK + shift - head.length - many.length - 'l,\r\n'.length;
    const text = `${head}${many}l,${'y'.repeat(Math.floor(last / 2))}\r\n`;
    const rest = BLOCK + shift - Buffer.byteLength(text) - 'm,\r\n'.length;
    const input = await open(`${text}m,${'z'.repeat(rest)}\r\nn,1\r\n`);
    const whole = await recordsOf(input);
    const lines = whole.slice(-2).map(([, line]) => line);
    const offsets = await lineOffsets(input, lines);
    const [row, line] = whole.at(-1)!;
    expect(await recordsAt(offsets[1]!, row, line)).toEqual(whole.slice(-1));
  }
});

test('not of other dialects, encodings and formats', async () => {
  const some = {
    'a.ndjson': '{"company_id":"1"}\n',
    'a.json': '[{"company_id":"1"}]',
    'b.csv': Buffer.from('\ufeffcompany_id,a\n1,2\n', 'utf16le'),
  };
  for (const [name, text] of Object.entries(some))
    expect([name, startsAnywhere(await open(text, name))]).toEqual([name, false]);
});
