/** Workbooks whose XML says something that is easily misread, and some that would take long or much memory. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../support/cli.js';
import { type Cell, workbook } from '../../support/workbook.js';
import { zip } from '../../support/zip.js';
import { file, read, readText } from './reading.js';

it('elements count by namespace, whatever their prefix is, and also those of the strict format', async () => {
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

it('numbers before a text that looks like one count for its type, also where the other texts are in later batches', async () => {
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

it('a part whose checksum is another one is an error', async () => {
  const bytes = Buffer.from(workbook([['company_id'], ['c1']]));
  // The checksum of the sheet in the directory at the end.
  const entry = bytes.lastIndexOf('PK\x01\x02', bytes.lastIndexOf('xl/worksheets/sheet1.xml'), 'latin1');
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

  it('the shared texts of the first rows may be the last ones', async () => {
    const shared = [...Array.from({ length: 70_000 }, (_, n) => `text ${n}`), 'value'];
    const sheet = (xml: string): string =>
      xml.replace('t="inlineStr"><is><t>value</t></is>', 't="s"><v>70000</v>');
    const { items } = await read(file('a.xlsx', workbook([HEADER, ['c1', 'x']], { sheet, shared })));
    expect(items).toEqual([{ company_id: 'c1', metadata: { value: 'x' } }]);
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

it('rows above the header may be more than those that are looked at', async () => {
  const titles = Array.from({ length: 300 }, (_, row) => [`title ${row}`]);
  const { items } = await readText('a.xlsx', workbook([...titles, ['company_id'], ['c1']]), {
    skipLines: 300,
  });
  expect(items).toEqual([{ company_id: 'c1' }]);
});

it.each([['Müller'], [`${'x'.repeat(200_000)}é`]])(
  'text that is not UTF-8 is an error, not other characters',
  async (name) => {
    const rows = [
      ['company_id', 'name'],
      ['c1', name],
    ];
    expect((await readText('a.xlsx', workbook(rows))).items).toEqual([
      { company_id: 'c1', metadata: { name } },
    ]);
    await expect(readText('a.xlsx', workbook(rows, { encoding: 'latin1' }))).rejects.toThrow(
      'the workbook is damaged: it contains text that is not valid UTF-8',
    );
  },
);
