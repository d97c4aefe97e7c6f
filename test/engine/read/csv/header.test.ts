/** How long a header may be, read from real files. */
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { plainDialect } from '../../../../src/engine/read/csv/dialect.js';
import { firstCells } from '../../../../src/engine/read/csv/rows.js';
import { file, open, read } from '../reading.js';

const KIB = 1024;
/** The limit on a header. */
const MOST = 1024 * KIB;

/** A header of at least so many bytes, and the names in it. */
function header(bytes: number, delimiter = ','): { text: string; names: string[] } {
  const names = ['company_id'];
  for (let length = names[0]!.length; length < bytes; length += 400) {
    names.push(`attribute ${names.length} `.padEnd(399, 'x'));
  }
  return { text: names.join(delimiter), names };
}

describe('a header of more than 256 KiB', () => {
  test.each([
    ['with commas', ',', '\n', (text: string) => text],
    ['with semicolons and CR LF', ';', '\r\n', (text: string) => text],
    ['in UTF-16', ',', '\n', (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')],
    ['in gzip', ',', '\n', (text: string) => gzipSync(text)],
  ])('is read to its end: %s', async (_, delimiter, end, packed) => {
    const { text, names } = header(300 * KIB, delimiter);
    const row = names.map((_, number) => `v${number}`).join(delimiter);
    const { input, items } = await read(file('wide.csv', packed(`${text}${end}${row}${end}`)));
    expect(input.columns).toEqual(names);
    expect(input.delimiter).toBe(delimiter);
    const metadata = Object.fromEntries(names.slice(1).map((name, number) => [name, `v${number + 1}`]));
    expect(items).toEqual([{ company_id: 'v0', metadata }]);
  });

  test('is read where it is all there is', async () => {
    const { text, names } = header(300 * KIB);
    expect((await open(file('wide.csv', text))).columns).toEqual(names);
  });

  test('is found behind as many empty lines', async () => {
    const { items } = await read(file('late.csv', `${'\n'.repeat(300 * KIB)}company_id,a\nc-1,1\n`));
    expect(items).toEqual([{ company_id: 'c-1', metadata: { a: 1 } }]);
  });
});

describe('a header that does not end within 1 MiB', () => {
  test('is refused with its line and the limit', async () => {
    const path = file('endless.csv', '');
    const { text } = header(MOST);
    writeFileSync(path, `\r\n\n${text},and more\nc-1\n`);
    await expect(open(path)).rejects.toMatchObject({
      message: `${path}:3: the header does not end within the first 1 MiB`,
      hint: 'check the line ends and the quotes; a header may not be longer',
      exit: 2,
    });
  });

  test('one of just less is read', async () => {
    const { text, names } = header(MOST - 2 * KIB);
    expect((await open(file('wide.csv', `${text}\nc-1\n`))).columns).toHaveLength(names.length);
  });
});

describe('a quote that opens in the header', () => {
  test('and is never closed', async () => {
    await expect(open(file('open.csv', 'company_id,"name\nc-1,a\n'))).rejects.toThrow(
      'open.csv:1: the quote that opens on this line is never closed',
    );
  });

  test('and is closed behind the first 4 KiB, with quotes of another kind', async () => {
    const name = `notes${'\non several lines'.repeat(400)}`;
    const { input, items } = await read(file('other.csv', `company_id;'${name}'\nc-1;x\n`), {
      quote: "'",
      delimiter: ';',
    });
    expect(input.columns).toEqual(['company_id', name]);
    expect(items).toHaveLength(1);
  });

  test('and is closed behind the first 256 KiB', async () => {
    const name = `na\nme ${'x'.repeat(300 * KIB)}`;
    expect((await open(file('quoted.csv', `company_id,"${name}"\nc-1,a\n`))).columns).toEqual([
      'company_id',
      name,
    ]);
  });
});

describe('of JSON, what tells the columns may lie as far behind', () => {
  const long = { filler: 'x'.repeat(300 * KIB), company_id: 'c-1', late: 1 };
  const item = { company_id: 'c-1', metadata: { filler: long.filler, late: 1 } };
  test.each([
    ['an item in an array', 'a.json', JSON.stringify([long])],
    ['an item in a body', 'a.json', JSON.stringify({ companies: [long] })],
    ['an item on a line', 'a.ndjson', JSON.stringify(long)],
    ['an array behind white space', 'a.json', `${' \n'.repeat(5 * KIB)}${JSON.stringify([long])}`],
    ['a line behind white space', 'a', `${'\n'.repeat(100 * KIB)}${JSON.stringify(long)}`],
  ])('%s', async (_, name, text) => {
    const { input, items } = await read(file(name, text));
    expect(input.idColumn).toBe('company_id');
    expect(items).toEqual([item]);
  });
});

test('rows of a sample that is all there is are read to their end', () => {
  const text = Buffer.from('a,b\n1,2');
  const cells = firstCells({ text, whole: true }, plainDialect(','), [text.length]);
  expect(cells).toEqual([
    ['a', 'b'],
    ['1', '2'],
  ]);
});
