/** Workbooks whose XML says something that is easily misread, and some that would take long or much memory. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_RULES } from '../../../src/engine/options/mapping-rules.js';
import { scratch } from '../../support/cli.js';
import { type Cell, workbook } from '../../support/workbook.js';
import { zip } from '../../support/zip.js';
import { FIXTURES, file, type ReadOptions, read } from './reading.js';

const reading = (name: string, options: ReadOptions = {}) =>
  read(`${name}.xlsx`, { cwd: `${FIXTURES}workbooks`, ...options });
const valuesOf = async (name: string): Promise<unknown[]> =>
  (await reading(name)).items.map((item) => (item as { metadata: { value: unknown } }).metadata.value);

describe('elements count by namespace and place', () => {
  it.each([
    ['1904-with-extension', '1904-01-02'],
    ['value-beside-inline-text', '1.'],
    ['extension-in-a-cell', 5],
    ['markup-for-two-versions', 'old'],
  ])('%s', async (name, value) => {
    expect(await valuesOf(name)).toEqual([value]);
  });

  it('whatever their prefix is, and also those of the strict format', async () => {
    const strict = 'http://purl.oclc.org/ooxml/spreadsheetml/main';
    const rows: Cell[][] = [
      ['company_id', 'value'],
      ['c1', { xml: 'x</t><o:t xmlns:o="urn:other">y</o:t><t>' }],
    ];
    const sheet = (text: string): string =>
      text
        .replace(/<worksheet xmlns="[^"]*"/, `<s:worksheet xmlns:s="${strict}"`)
        .replace(/<(\/?)(worksheet|sheetData|row|c|is|t)\b/g, '<$1s:$2');
    const { items } = await read(file('a.xlsx', workbook(rows, { sheet })));
    expect(items).toEqual([{ company_id: 'c1', metadata: { value: 'x' } }]);
  });
});

it('line ends in the text of a workbook are line feeds, but for those that it escapes', async () => {
  const { items, input } = await reading('line-ends');
  expect(input.columns).toEqual(['company_id', 'a\nb']);
  expect(items).toEqual([{ company_id: 'c\n1', metadata: { 'a\nb': 'd\ne\r\nf\ng' } }]);
});

it('a tag that is not well-formed is an error: its cell would be taken for another', async () => {
  const sheet = (text: string): string => text.replace('r="B2"', 'r=B2');
  const path = file(
    'a.xlsx',
    workbook(
      [
        ['company_id', 'value'],
        ['c1', 1],
      ],
      { sheet },
    ),
  );
  await expect(read(path)).rejects.toThrow('attribute');
});

describe('days that do not exist', () => {
  const NONE = ['60', '0', '-1', '2958466'];

  it('reject their rows, like other dates that do not exist', async () => {
    const { items, reasons, rejected } = await reading('days-that-do-not-exist');
    expect(items).toEqual([
      { company_id: 'c1', metadata: { value: '1900-01-01' } },
      { company_id: 'c2', metadata: { value: '1900-02-28' } },
      { company_id: 'c4', metadata: { value: '1900-03-01' } },
      { company_id: 'c7', metadata: { value: '9999-12-31' } },
    ]);
    const why = NONE.map((day) => `value: "${day}" has the format of a date, but there is no such day`);
    expect(reasons.map((reason) => reason.replace(/^\d+: /, ''))).toEqual(why);
    expect(rejected.map(({ line, reason, original }) => [line, reason, original])).toEqual(
      [4, 6, 7, 9].map((line, at) => [line, why[at], { cells: [`c${line - 1}`, NONE[at]] }]),
    );
  });

  it('but not where their column is left out', async () => {
    const rules = { ...NO_RULES, exclude: ['value'] };
    expect((await reading('days-that-do-not-exist', { rules })).items).toHaveLength(8);
  });
});

it('two cells with one reference reject their row; one that is empty does not count', async () => {
  const { items, reasons, rejected } = await reading('cell-twice');
  expect(items).toEqual([{ company_id: 'c2', metadata: { value: 'only' } }]);
  expect(reasons).toEqual(['2: has two cells B2']);
  expect(rejected).toMatchObject([{ line: 2, reason: 'has two cells B2' }]);
});

describe('numbers before a text that looks like one', () => {
  it('count for the types that the column could have', async () => {
    const { items, scan } = await reading('text-after-numbers');
    expect(items.map((item) => (item as { metadata: unknown }).metadata)).toEqual(
      ['1', '2', '3'].map((value) => ({ value })),
    );
    expect(scan.columns[1]).toMatchObject({ type: 'string', reason: 'row 4: "3"', suggested: ['integer'] });
  });

  it('also where the other texts are in later batches', async () => {
    const padding = 'x'.repeat(1000);
    const rows: Cell[][] = [
      ['company_id', 'value', 'padding'],
      ['c1', '1', padding],
    ];
    for (let n = 2; n < 200; n++) rows.push([`c${n}`, n, padding]);
    for (let n = 200; n < 400; n++) rows.push([`c${n}`, '2024-03-31', padding]);
    const { scan } = await read(file('a.xlsx', workbook(rows)));
    expect(scan.columns[1]).toMatchObject({ column: 'value', type: 'string' });
    expect(scan.columns[1]).not.toHaveProperty('suggested');
  });
});

it('a number with a currency that is not quoted in its format is no date', async () => {
  expect(await valuesOf('currency-without-quotes')).toEqual([1234.5]);
});

it('half of a surrogate pair stays the escape that it is', async () => {
  const { items } = await reading('half-a-surrogate-pair');
  expect(items).toEqual(['a_xD800_', 'a_xD801_', 'a😀'].map((company_id) => ({ company_id })));
});

it('a part whose checksum is another one is an error', async () => {
  const bytes = Buffer.from(workbook([['company_id'], ['c1']]));
  // The checksum of the sheet in the directory at the end.
  const entry = bytes.lastIndexOf('PK\x01\x02', bytes.lastIndexOf('xl/sheet.xml'), 'latin1');
  bytes[entry + 16]! ^= 1;
  await expect(read(file('a.xlsx', bytes))).rejects.toThrow(
    'the workbook is damaged: its checksum does not match',
  );
});

it('two parts of one name are an error', async () => {
  const two = zip(['xl/workbook.xml', 'xl/Workbook.xml'].map((name) => ({ name })));
  await expect(read(file('a.xlsx', two))).rejects.toThrow(
    'a.xlsx: the workbook is damaged: it has two parts xl/Workbook.xml',
  );
});

describe('what costs much', () => {
  const HEADER = ['company_id', 'value'];
  const LONG = 10_000_000;
  const errorOf = (xml: string): Promise<string> => {
    const rows = [HEADER, ['c1', 'HERE']];
    const sheet = (text: string): string => text.replace('<t>HERE</t>', () => xml);
    return read(file('a.xlsx', workbook(rows, { sheet }))).then(
      () => 'none',
      (error: Error) => error.message,
    );
  };

  it.each([
    ['a text', `<t>${'a'.repeat(LONG)}</t>`, 'a.xlsx:2: a cell is longer than 1 MiB'],
    ['a text with brackets', `<t>${'a>'.repeat(LONG / 2)}</t>`, 'a.xlsx:2: a cell is longer than 1 MiB'],
  ])('%s of 10 MB is an error', async (_, xml, message) => {
    expect((await errorOf(xml)).replace(/^.*\/(?=a\.xlsx)/, '')).toBe(message);
  });

  it.each([
    ['an attribute', `<t a="${'a'.repeat(LONG)}">b</t>`],
    ['a comment with tags', `<t>b<!--${'<a>'.repeat(LONG / 3)}--></t>`],
  ])('%s of 10 MB is left out', async (_, xml) => {
    expect(await errorOf(xml)).toBe('none');
  });

  it('a shared text that is too long is an error, even if it were short enough once it is decoded', async () => {
    const shared = [`${'_x000D_'.repeat(300_000)}END`];
    const sheet = (xml: string): string =>
      xml.replace('t="inlineStr"><is><t>HERE</t></is>', 't="s"><v>0</v>');
    const book = workbook([HEADER, ['c1', 'HERE']], { sheet, shared });
    await expect(read(file('a.xlsx', book))).rejects.toThrow('a.xlsx:2: a cell is longer than 1 MiB');
  });

  it('a tag may have brackets in its attributes, wherever the text is cut', async () => {
    const rows: Cell[][] = [HEADER];
    for (let n = 0; n < 4000; n++) rows.push([`c${n}`, 'HERE']);
    const sheet = (text: string): string =>
      text.replaceAll('<c ', '<c xml:lang="en" ').replaceAll('<t>HERE</t>', '<t a="&gt;>\'/>">there</t>');
    const { items } = await read(file('a.xlsx', workbook(rows, { sheet })));
    expect(items).toHaveLength(4000);
    expect(items.at(-1)).toEqual({ company_id: 'c3999', metadata: { value: 'there' } });
  });

  it('cells far to the right reject their rows, without the empty ones before them', async () => {
    const sheet = (text: string): string => text.replace('r="C2"', 'r="XFD2"');
    const path = join(scratch(), 'a.xlsx');
    writeFileSync(path, workbook([HEADER, ['c1', 1, 2], ['c2', 2]], { sheet }));
    const { items, rejected } = await read(path);
    expect(items).toEqual([{ company_id: 'c2', metadata: { value: 2 } }]);
    expect(rejected).toMatchObject([
      { line: 2, reason: 'has 16384 cells, the header has 2', original: { cells: ['c1', '1', '2'] } },
    ]);
  });

  it('a header with a name far to the right is an error that says where', async () => {
    const sheet = (text: string): string => text.replace('r="C1"', 'r="XFD1"');
    const path = file(
      'a.xlsx',
      workbook(
        [
          [...HEADER, 'x'],
          ['c1', 1],
        ],
        { sheet },
      ),
    );
    await expect(read(path)).rejects.toMatchObject({
      message: expect.stringMatching(/a\.xlsx:1: the header has names for 3 of its 16384 columns$/),
      hint: 'delete what is in XFD1, or name the columns before it',
    });
  });
});
