/** Small files with very many columns, keys, or levels: each is a clear error, before it takes many times its size. */
import { describe, expect, it } from 'vitest';
import { MOST_COLUMNS, MOST_LEVELS } from '../../../src/engine/read/wording.js';
import { workbook } from '../../support/workbook.js';
import { file, open, read, readText } from './reading.js';

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `k${n}`);
const header = (columns: number): string => ['company_id', ...names(columns - 1)].join(',');
const members = (count: number): string =>
  names(count)
    .map((name) => `"${name}":1`)
    .join(',');
const item = (keys: number): string => `{"company_id":"a",${members(keys - 1)}}`;

describe('columns of a CSV', () => {
  it('as many as a spreadsheet holds are read', async () => {
    const input = await open(file('wide.csv', `${header(MOST_COLUMNS)}\n`));
    expect(input.columns).toHaveLength(MOST_COLUMNS);
  });

  it.each([
    ['plain', {}],
    ['another dialect', { comment: '#' }],
  ])('%s: one more is an error', async (_, dialect) => {
    const path = file('wider.csv', `${header(MOST_COLUMNS + 1)}\na\n`);
    await expect(open(path, dialect)).rejects.toThrow(`${path}:1: has more than 16,384 columns`);
  });
});

describe('cells of a row', () => {
  const wide = (cell: string): string => `b,${Array(100_000).fill(cell).join(',')}`;

  it.each([
    ['plain', {}, wide('')],
    ['plain, with text', {}, wide('x')],
    ['another dialect', { comment: '#' }, wide('')],
    ['a delimiter of two characters', { delimiter: '::' }, wide('x').replaceAll(',', '::')],
  ])('%s: more than a spreadsheet has columns reject it', async (_, options, row) => {
    const between = 'delimiter' in options ? '::' : ',';
    const text = [`company_id${between}name`, `a${between}A`, row, `c${between}C`, ''].join('\n');
    const { items, rejected, reasons } = await readText('row.csv', text, options);
    expect(items).toEqual([
      { company_id: 'a', metadata: { name: 'A' } },
      { company_id: 'c', metadata: { name: 'C' } },
    ]);
    expect(reasons).toEqual(['3: has more than 16,384 cells']);
    const { original } = rejected[0]!;
    const cells = 'cells' in original ? original.cells : [];
    expect(cells.length).toBeLessThan(MOST_COLUMNS + 2);
    expect(cells.join(between)).toBe(row);
  });
});

describe('cells of a sheet', () => {
  const wide = (rows: number): string => {
    const header = ['company_id', ...names(MOST_COLUMNS - 1)].map((name) => `<c t="str"><v>${name}</v></c>`);
    const row = `<row><c r="A"><v>1</v></c></row>`;
    const data = `<sheetData><row>${header.join('')}</row>${row.repeat(rows)}</sheetData>`;
    const sheet = (text: string): string => text.replace(/<sheetData>.*<\/sheetData>/s, data);
    return file('sparse.xlsx', workbook([['company_id']], { sheet }));
  };

  it('as many as a spreadsheet has are read, in rows that are almost empty', async () => {
    const { items } = await read(wide(20));
    expect(items).toHaveLength(20);
  });
});

describe('keys of a JSON item', () => {
  it.each([
    ['beside each other', item(MOST_COLUMNS)],
    ['in metadata', `{"company_id":"a","metadata":{${members(MOST_COLUMNS - 2)}}}`],
  ])('%s: as many as a spreadsheet has columns are read', async (_, text) => {
    const { items } = await readText('keys.ndjson', `${text}\n`);
    expect(items).toHaveLength(1);
  });

  it.each([
    ['beside each other', item(MOST_COLUMNS + 1)],
    ['in metadata', `{"company_id":"b","metadata":{${members(MOST_COLUMNS)}}}`],
    ['in a list', `{"company_id":"b","list":[{${members(MOST_COLUMNS + 1)}}]}`],
  ])('%s: more reject the row', async (_, text) => {
    const both = `{"company_id":"a"}\n${text}\n`;
    const { items, reasons } = await readText('more.ndjson', both);
    expect(items).toEqual([{ company_id: 'a' }]);
    expect(reasons).toEqual(['2: has more than 16,384 keys']);
  });

  it('more reject the row also if it is no JSON', async () => {
    const broken = item(MOST_COLUMNS + 1).replace(/}$/, ',}');
    const { items, reasons } = await readText('more.ndjson', `{"company_id":"a"}\n${broken}\n`);
    expect([items, reasons]).toEqual([[{ company_id: 'a' }], ['2: has more than 16,384 keys']]);
  });

  it('more reject the row also if it is the only one', async () => {
    const { reasons } = await readText('only.ndjson', `${item(MOST_COLUMNS + 1)}\n`);
    expect(reasons).toEqual(['1: has more than 16,384 keys']);
  });

  it('text that is not JSON is named as such, whatever it holds', async () => {
    const broken = `{"company_id":"a","text":"${'x'.repeat(500)}\n`;
    await expect(readText('broken.ndjson', broken)).rejects.toThrow('the line is not valid JSON');
  });
});

describe('levels of a value', () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

  it('64 are read, and more reject the row', async () => {
    const text = ['a', 'b', 'c'].map((id, n) => `{"company_id":"${id}","x":${nested(MOST_LEVELS + n)}}\n`);
    const { items, reasons } = await readText('deep.ndjson', text.join(''));
    expect(items).toHaveLength(1);
    expect(reasons).toEqual(['2: x has more than 64 levels', '3: x has more than 64 levels']);
  });

  it('a million reject it too', async () => {
    const { reasons } = await readText(
      'deeper.ndjson',
      `{"company_id":"a"}\n{"company_id":"b","metadata":{"y":${nested(1_000_000)}}}\n`,
    );
    expect(reasons).toEqual(['2: y has more than 64 levels']);
  });

  it('more reject a row also if rows are selected by a text of it that is not JSON', async () => {
    const text = `{"company_id":"a","x":"y"}\n{"company_id":"b","x":"\\q","y":${nested(MOST_LEVELS + 3)}}\n`;
    const { reasons } = await readText('deeper.ndjson', text, { where: [['x', '!=', 'z']] });
    expect(reasons).toEqual(['2: has more than 64 levels']);
  });
});
