/** Workbooks and Parquet files that other programs wrote, held against values written by hand. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProfilesError } from '../../../src/engine/errors.js';
import { type MappingRules, NO_RULES } from '../../../src/engine/options/mapping-rules.js';
import {
  buildItems,
  columnsOf,
  type ItemBatch,
  type OpenedInput,
  Pool,
  readRows,
} from '../../../src/engine/read/index.js';
import { readRecords } from '../../../src/engine/read/records.js';
import { scratch } from '../../support/cli.js';
import { FIXTURES, file, HERE, KEY, open, type ReadOptions, read } from './reading.js';

const FOLDER = `${FIXTURES}columnar`;
const reading = (name: string, options: ReadOptions = {}) => read(name, { cwd: FOLDER, ...options });
const warningsOf = async (name: string, options: ReadOptions = {}): Promise<string[]> =>
  (await reading(name, options)).scan.warnings.map(({ message }) => message);
const errorOf = (promise: Promise<unknown>): Promise<ProfilesError> =>
  promise.then(
    () => expect.unreachable('it was read'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ProfilesError);
      return error as ProfilesError;
    },
  );

const PEOPLE = [
  {
    user_id: '0012',
    metadata: {
      name: 'Åsa "A", Ö',
      age: 41,
      score: 1.25,
      joined: '2024-03-31',
      seen: '2024-03-31T12:30:00',
      at: '08:05:00',
      active: true,
      zip: '02139',
      double: 82,
      broken: '#DIV/0!',
      merged: 'both',
    },
  },
  {
    user_id: 'u2',
    metadata: {
      name: 'two\nlines',
      age: 42,
      score: -0.5,
      joined: '1999-12-31',
      seen: '2024-12-31T23:59:59',
      at: '23:59:59',
      active: false,
      zip: '10115',
      double: 84,
      broken: 'fine',
    },
  },
  { user_id: 'u4', metadata: { score: 1e-7, double: 0 } },
];

describe('workbooks', () => {
  it('LibreOffice: types, dates, values of formulas, merged cells, an empty row', async () => {
    const { items, lines, input } = await reading('people.xlsx');
    expect(items).toEqual(PEOPLE);
    expect(lines).toEqual([2, 3, 5]);
    expect(input).toMatchObject({ format: 'xlsx', kind: 'users', delimiter: null });
  });

  it('warns of other sheets, of numbers that may have been texts, and of errors in cells', async () => {
    expect(await warningsOf('people.xlsx')).toEqual([
      '1 text column looks like dates: seen',
      'only the sheet "People" is read; the workbook also has "Companies 2024"',
      'age, double: the workbook has numbers there, so leading zeros, if there were any, are gone; format such a column as text in the workbook to keep them',
      'broken: row 2: the cell contains the error #DIV/0!, which is sent as text',
    ]);
  });

  it('openpyxl: a formula without its value is empty, and a warning', async () => {
    const { items, scan } = await reading('people-uncomputed.xlsx');
    expect(items).toMatchObject([{ user_id: '0012', metadata: { merged: 'both' } }, {}, {}]);
    expect(JSON.stringify(items)).not.toContain('double');
    expect(scan.warnings.map(({ message }) => message)).toContain(
      'double: row 2: the workbook contains a formula without its value, which counts as empty; open it in a spreadsheet program and save it again',
    );
  });

  it.each(['Companies 2024', 'companies 2024', '2'])('the sheet %j, by name and by number', async (sheet) => {
    const { items, scan, input } = await reading('people.xlsx', { sheet });
    // One text among the numbers makes a column text, and numbers are identifiers as they are shown.
    expect(items).toEqual([
      { company_id: '17', metadata: { rank: 1, mixed: '12' } },
      { company_id: '18', metadata: { rank: 2, mixed: '12' } },
    ]);
    expect(input.sheet).toEqual({ name: 'Companies 2024', others: [] });
    expect(scan.columns.find(({ column }) => column === 'mixed')?.reason).toBe('row 2: "12"');
    expect(scan.warnings.map(({ message }) => message)).toEqual([
      '1 text column looks like numbers: mixed',
      expect.stringMatching(/^company_id, rank: /),
    ]);
  });

  it('a sheet that is not there is an error that lists those that are', async () => {
    const error = await errorOf(open('people.xlsx', { cwd: FOLDER, sheet: '2024' }));
    expect(error.message).toBe('people.xlsx has no sheet "2024"');
    expect(error.hint).toBe('its sheets are People, Companies 2024, Notes');
    expect(error.exit).toBe(2);
  });

  it('a sheet without identifiers is an error that names the next sheet', async () => {
    const error = await errorOf(reading('people.xlsx', { kind: 'companies' }));
    const otherwise = { kind: 'companies' };
    expect(error.problem).toMatchObject({ code: 'rows_in_sheet', sheet: 'Companies 2024', otherwise });
    const { problem } = await errorOf(reading('people.xlsx', { kind: 'companies', sheet: '1' }));
    expect(problem?.code).toBe('no_identifier');
  });

  it('an empty sheet is an error', async () => {
    const error = await errorOf(open('people.xlsx', { cwd: FOLDER, sheet: 'Notes' }));
    expect(error.message).toBe('people.xlsx: the sheet "Notes" is empty');
  });

  it('XlsxWriter: days from 1904, fractions of a second, hours beyond a day, rich text', async () => {
    const { items } = await reading('from-1904.xlsx');
    expect(items).toEqual([
      {
        company_id: 'c1',
        metadata: {
          day: '1904-01-02',
          moment: '2026-02-28T06:07:08.090',
          lasting: '36:00:00',
          share: 0.125,
          amount: 1234.5,
          rich: 'plain bold & plain',
          big: '12345678901234570000',
        },
      },
    ]);
  });

  it('pandas: a missing value leaves a column of whole numbers what it is', async () => {
    const { items } = await reading('pandas.xlsx');
    expect(items).toEqual([
      { company_id: 'c1', metadata: { seats: 5, since: '2020-01-01T00:00:00', ok: true } },
      { company_id: 'c2', metadata: { ok: false } },
      { company_id: 'c3', metadata: { seats: 7, since: '2020-01-03T04:05:06', ok: true } },
    ]);
  });

  it('rejected rows have their row number and their cells', async () => {
    const { rejected, reasons } = await reading('people.xlsx', {
      rules: { ...NO_RULES, types: [['zip', 'integer']] },
    });
    expect(reasons).toEqual(['2: zip: "02139" is not of type integer']);
    expect(rejected[0]).toMatchObject({
      line: 2,
      row: 0,
      original: { cells: expect.arrayContaining(['0012', '02139', 'true']) },
    });
  });

  it('rows are found again by their numbers', async () => {
    const input = await open('people.xlsx', { cwd: FOLDER });
    const found = [];
    for await (const { line, original } of readRows(input, [2])) found.push([line, original]);
    expect(found).toMatchObject([[5, { cells: expect.arrayContaining(['u4']) }]]);
  });

  it.each([
    ['cut-off.xlsx', /^cut-off.xlsx: the workbook is damaged: /],
    ['sheet-cut-off.xlsx', /^sheet-cut-off.xlsx: the workbook is damaged: /],
    [
      'sheet-missing.xlsx',
      /^sheet-missing.xlsx: the workbook is damaged: its part xl\/worksheets\/sheet1.xml is missing/,
    ],
    ['bomb.xlsx', /^bomb.xlsx: the workbook's part xl\/worksheets\/sheet1.xml is suspiciously large/],
    ['old.xls', /^old.xls: is a workbook of Excel 97-2003 \(.xls\)/],
  ])('%s is an error', async (name, message) => {
    const error = await errorOf(reading(name));
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(/save (?:it )?as (?:\.xlsx or )?CSV UTF-8/);
    expect(error.exit).toBe(2);
  });

  it('a workbook with a password is an error that says what to do', async () => {
    const error = await errorOf(read(file('locked.xlsx', Buffer.from('d0cf11e0a1b11ae1', 'hex'))));
    expect(error.message).toMatch(/, one with a password, or another old Office file$/);
    expect(error.hint).toBe('remove the password, if it has one, and save as .xlsx or CSV UTF-8');
  });

  it('a zip archive that is no workbook is left to others', async () => {
    const error = await errorOf(read(file('some.zip', Buffer.from('504b030400000000', 'hex'))));
    expect(error.message).toMatch(/is a zip archive/);
  });

  it('columns are told without kind and identifier', async () => {
    const source = { path: 'people.xlsx', location: join(FOLDER, 'people.xlsx') };
    expect((await columnsOf(source)).slice(0, 3)).toEqual(['user_id', 'name', 'age']);
  });
});

/** The 3,000 rows of each compression. */
const MANY = Array.from({ length: 3000 }, (_, i) => ({
  company_id: `c${i}`,
  metadata: {
    tier: `${i % 7} of seven`,
    number: i,
    part: i / 4,
    ...(i % 3 > 0 && { name: `name ${i}` }),
    pair: [i, i + 1],
  },
}));

describe('Parquet', () => {
  it.each(['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4', 'delta'])('%s', async (name) => {
    const { items, lines, scan } = await reading(`${name}.parquet`);
    expect(items).toEqual(MANY);
    expect(lines).toEqual(MANY.map((_, i) => i + 1));
    expect(scan.columns.map(({ column, type, empty }) => [column, type, empty])).toEqual([
      ['company_id', 'string', 0],
      ['tier', 'string', 0],
      ['number', 'integer', 0],
      ['part', 'number', 0],
      ['name', 'string', 1000],
      ['pair', 'object', 0],
    ]);
  });

  it('every type, exactly; a column of integers beyond 2^53 is text throughout', async () => {
    const { texts } = await reading('types.parquet');
    expect(texts).toEqual([
      `{"user_id":"u1","company_id":"7","metadata":{${[
        '"name":"Åsa \\"A\\""',
        '"i32":41',
        '"i8":-3',
        '"u32":4294967295',
        '"safe":9007199254740991',
        '"wide":"9007199254740993"',
        '"u64":"18446744073709551615"',
        '"money":1234.5',
        '"long_money":"12345678901234567.8900"',
        '"f32":0.1',
        '"f64":0.1',
        '"yes":true',
        '"day":"2024-02-29"',
        '"at":"23:59:59.500"',
        '"local":"2024-03-31T12:30:00.123456"',
        '"moment":"2024-03-31T12:30:00Z"',
        '"nanos":"2024-03-31T12:30:00.123456789"',
        '"uuid":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"',
        '"list":["a",null,"c"]',
        '"struct":{"city":"Lyon","zip":"069"}',
        '"map":{"k":1}',
        '"nested":[{"a":[1,2]},{"a":[]}]',
        '"json":{"n":12.5}',
        '"bytes":"qgE="',
      ].join(',')}}}`,
      '{"user_id":"u2","metadata":{"wide":"1","u64":"1"}}',
    ]);
  });

  it.each<[what: string, some: Partial<MappingRules>]>([
    ['no rules', {}],
    ['nulls that are sent', { empty: 'null' }],
    ['columns that are left out', { exclude: ['part', 'flag'] }],
    ['other keys', { map: [['name', 'title']], set: [['plan', 'pro']] }],
    ['two columns of one key', { map: [['name', 'whole']] }],
    ['text', { infer: false }],
    ['nothing but identifiers', { include: ['user_id'] }],
  ])('values that are copied are those that are read as JSON: %s', async (_, some) => {
    const rules = { ...NO_RULES, ...some };
    const copied = await reading('flat.parquet', { rules });
    // A rule about texts, which no value meets, has each row read.
    const parsed = await reading('flat.parquet', { rules: { ...rules, nulls: ['met by none'] } });
    expect(copied.texts).toEqual(parsed.texts);
    expect(copied.reasons).toEqual(parsed.reasons);
    expect(copied.scan).toEqual({ ...parsed.scan, digest: copied.scan.digest });
    expect(copied.reasons).toContain('3: user_id is missing');
  });

  it('values that are copied are those of the file', async () => {
    const { items, scan } = await reading('flat.parquet');
    expect(items.slice(0, 2)).toEqual([
      {
        user_id: '7',
        company_id: 'c1',
        metadata: Object.fromEntries([
          ['name', 'Åsa'],
          ...Object.entries({ whole: 1, part: 0.5, flag: true, money: 1.5, day: '2024-03-31' }),
          ['__proto__', 'p'],
        ]),
      },
      expect.objectContaining({ user_id: '8', metadata: expect.objectContaining({ name: 'two\nlines' }) }),
    ]);
    expect(scan.columns.find(({ column }) => column === 'part')).toMatchObject({ type: 'mixed', empty: 2 });
  });

  it('identifiers that became floating-point numbers are warned of: two of them are one', async () => {
    const { scan, items } = await reading('float-ids.parquet');
    expect(items.map((item) => (item as { company_id?: string }).company_id)).toEqual([
      '1234567890123456800',
      undefined,
      '1234567890123456800',
    ]);
    expect(scan.warnings.map(({ message }) => message)).toEqual([
      'company_id: the file has floating-point numbers there, such as 1234567890123456800, which are rounded: several identifiers may have become one; export the column as integers or text',
    ]);
  });

  it('nulls become what empty cells become', async () => {
    const { items } = await reading('snappy.parquet', { rules: { ...NO_RULES, empty: 'null' } });
    expect(items[0]).toMatchObject({ metadata: { name: null } });
  });

  it('a column that is pinned to text is text', async () => {
    const { items, reasons } = await reading('snappy.parquet', {
      rules: {
        ...NO_RULES,
        types: [
          ['number', 'string'],
          ['part', 'integer'],
        ],
      },
    });
    expect(reasons[0]).toBe('2: part: 0.25 is not of type integer');
    expect(items[0]).toMatchObject({ metadata: { number: '0' } });
  });

  it('rows are found again by their numbers, as JSON', async () => {
    const input = await open('zstd.parquet', { cwd: FOLDER });
    const found = [];
    for await (const { line, original } of readRows(input, [0, 2999])) found.push([line, original]);
    expect(found).toEqual([
      [1, { item: '{"company_id":"c0","tier":"0 of seven","number":0,"part":0,"pair":[0,1]}' }],
      [
        3000,
        {
          item: '{"company_id":"c2999","tier":"3 of seven","number":2999,"part":749.75,"name":"name 2999","pair":[2999,3000]}',
        },
      ],
    ]);
  });

  it.each(['no-rows', 'one-empty-group'])('%s is a warning', async (name) => {
    expect(await warningsOf(`${name}.parquet`)).toEqual(['no rows']);
  });

  it.each(['nulls-lz4', 'nulls-lz4-v2'])('%s: pages without values', async (name) => {
    const { items } = await reading(`${name}.parquet`);
    expect(items).toEqual([{ company_id: 'c0' }, { company_id: 'c1' }]);
  });

  it('maps and structures keep members whatever their names are', async () => {
    const { texts } = await reading('special-keys.parquet');
    expect(texts).toEqual([
      `{"company_id":"c0","metadata":{${[
        '"map":{"__proto__":"x","b":"y","toString":"z"}',
        '"struct":{"__proto__":"z","a.b":1,"a":{"b":2}}',
        '"maps":[{"__proto__":"x"},null,{}]',
      ].join(',')}}}`,
      '{"company_id":"c1","metadata":{"struct":{"__proto__":null,"a.b":null,"a":null},"maps":[]}}',
    ]);
  });

  it('years that RFC 3339 does not have reject their row, at any depth, unless they are left out or text', async () => {
    const { items, reasons, scan } = await reading('years.parquet');
    expect(reasons).toEqual([
      '2: day: "+010000-01-01" has a year of more than four digits',
      '3: moment: "0000-12-31T23:59:59.500" is before the year one',
    ]);
    const moment = '9999-12-31T23:59:59.999999';
    expect(items).toEqual([
      {
        company_id: 'c0',
        metadata: { day: '0001-01-01', moment, days: ['0001-01-01'], struct: { moment }, n: 0 },
      },
      {
        company_id: 'c3',
        metadata: { day: '2024-02-29', days: ['2024-02-29'], struct: { moment: null }, n: 3 },
      },
    ]);
    expect(scan.rows).toMatchObject({ read: 4, rejected: 2 });

    const nested = { ...NO_RULES, exclude: ['day', 'moment'] };
    expect((await reading('years.parquet', { rules: nested })).reasons).toEqual([
      '2: days: "+010000-01-01" has a year of more than four digits',
      '3: struct: "0000-12-31T23:59:59.500" is before the year one',
    ]);
    const only = { ...NO_RULES, include: ['day'], types: [['day', 'string']] } satisfies MappingRules;
    const { items: texts } = await reading('years.parquet', { rules: only });
    expect(texts[1]).toEqual({ company_id: 'c1', metadata: { day: '+010000-01-01' } });
  });

  it('a rejected row is the same one when rows are selected, and is shown as it is', async () => {
    const rules = { where: [['n', '=', '1']], limit: 1 } as const;
    const { reasons, input } = await reading('years.parquet', rules);
    expect(reasons).toEqual(['2: day: "+010000-01-01" has a year of more than four digits']);
    for await (const { original } of readRows(input, [1])) {
      expect(original).toEqual({
        item: '{"company_id":"c1","day":"+010000-01-01","days":"+010000-01-01","struct":{"moment":null},"n":1}',
      });
    }
  });

  it('JSON in a list loses nothing, and bytes are not taken for text', async () => {
    const { items, reasons } = await reading('json-and-bytes.parquet');
    expect(reasons).toEqual([
      '2: list: 9007199254740993 cannot be represented exactly as a number; write it in quotes',
    ]);
    expect(items).toEqual([
      { company_id: 'c1', metadata: { list: [{ n: 9007199254740992 }, [0.5]], bytes: 'text' } },
      { company_id: 'c3', metadata: { bytes: 'AQI=' } },
    ]);
  });

  it('lists without an element between are lists, empty ones too; a group without members is nothing', async () => {
    const { items, input } = await reading('old-lists.parquet');
    expect(items).toEqual([
      { company_id: 'c0', metadata: { tags: [7, 8], old: [1], mixed: { n: 1 } } },
      { company_id: 'c1', metadata: { tags: [], old: [], mixed: { n: null } } },
      { company_id: 'c2', metadata: { tags: [9] } },
    ]);
    expect(input.columns).toEqual(['company_id', 'tags', 'old', 'mixed']);
  });

  it.each([
    ['variant-decimals', ['9876543210.123456789', 12.5]],
    ['variant-bytes', ['CgsMDQ==', 'YWI=']],
    ['variant-pages', Array.from({ length: 40 }, (_, n) => 'x'.repeat(30) + (n + 10))],
  ])('%s', async (name, values) => {
    const { items } = await reading(`${name}.parquet`);
    expect(items).toEqual(values.map((v, n) => ({ company_id: `c${n}`, metadata: { v } })));
  });

  it('row groups without rows are skipped', async () => {
    const { items, lines } = await reading('empty-groups.parquet');
    const metadata = (n: number) => ({ n, tags: ['a'] });
    expect(items).toEqual([0, 1, 2].map((n) => ({ company_id: `c${n}`, metadata: metadata(n) })));
    expect(lines).toEqual([1, 2, 3]);
  });

  it.each(['steps', 'steps-indexed'])('%s: rows that are decoded in several steps', async (name) => {
    const { items, lines } = await reading(`${name}.parquet`);
    const expected = Array.from({ length: 70_001 }, (_, n) => ({
      company_id: `c${n}`,
      metadata: { n, ...(n % 5 > 0 && { tier: `tier ${n % 7}` }), tags: n % 3 > 0 ? [] : [n % 9] },
    }));
    expect(lines.length).toBe(expected.length);
    expect(JSON.stringify(items) === JSON.stringify(expected)).toBe(true);
  });

  it('structures in pages that count too few nulls are an error with the command that writes them again', async () => {
    const error = await errorOf(reading('structures-v2.parquet'));
    expect(error.message).toBe('structures-v2.parquet: the lists of the column list cannot be read');
    expect(error.hint).toBe(
      `write the file again: duckdb -c "COPY (FROM 'structures-v2.parquet') TO 'rewritten.parquet' (ROW_GROUP_SIZE 100000)"`,
    );
  });

  it.each([
    ['cut-off.parquet', 'cut-off.parquet: the Parquet file is cut off: its end is missing'],
    ['hollow.parquet', /^hollow.parquet: the Parquet file is damaged: /],
    ['not-utf-8.parquet', 'not-utf-8.parquet:1: a text is not valid UTF-8'],
    ['key-twice.parquet', 'key-twice.parquet:2: a map has the key "a" twice'],
  ])('%s is an error', async (name, message) => {
    const error = await errorOf(reading(name));
    if (typeof message === 'string') expect(error.message).toBe(message);
    else expect(error.message).toMatch(message);
    expect(error.exit).toBe(2);
  });

  it('a text whose end is cut off is not one, even where the length of the next one would complete it', async () => {
    const bytes = readFileSync(join(FOLDER, 'uncompressed.parquet'));
    const start = bytes.indexOf('name 1') - 4;
    let end = start;
    for (let text = 0; text < 40; text++) end += 4 + bytes.readUInt32LE(end);
    const lengths = [2, 0xa9, ...new Array(37).fill(0)];
    lengths.push(end - start - lengths.reduce((sum, length) => sum + length, 40 * 4));
    let at = start;
    for (const length of lengths) {
      bytes.writeUInt32LE(length, at);
      bytes.fill('y', at + 4, at + 4 + length);
      at += 4 + length;
    }
    expect(at).toBe(end);
    bytes[start + 5] = 0xc3; // with the 0xa9 after it, an é
    const path = join(scratch(), 'cut-character.parquet');
    writeFileSync(path, bytes);
    const error = await errorOf(read(path));
    expect(error.message).toMatch(/cut-character\.parquet:2: a text is not valid UTF-8$/);
  });

  it('a file cut off anywhere, or with a byte that is another, is read or an error, and never hangs', async () => {
    const whole = readFileSync(join(FOLDER, 'types.parquet'));
    const path = join(scratch(), 'changed.parquet');
    for (let at = 0; at < whole.length; at += 37) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 1 << (at % 8);
      writeFileSync(path, changed);
      await read(path).catch((error: unknown) => expect(error).toBeInstanceOf(ProfilesError));
      writeFileSync(path, whole.subarray(0, at));
      await read(path).catch((error: unknown) => expect(error).toBeInstanceOf(ProfilesError));
    }
  });
});

it.each(['people.xlsx', 'types.parquet'])(
  '%s: another file of that name is refused when it is read again',
  async (name) => {
    const path = join(scratch(), name);
    copyFileSync(join(FOLDER, name), path);
    const { input, scan } = await read(path);
    const changed = readFileSync(path);
    changed[changed.length >> 1]! ^= 1;
    writeFileSync(path, changed);
    const again = async (): Promise<void> => {
      const pass = { hashKey: KEY, pool: HERE, planned: scan.marks };
      for await (const _ of buildItems(input, scan.schema, pass)) expect.unreachable('an item was made');
    };
    expect((await errorOf(again())).message).toMatch(/changed while it was being imported/);
  },
);

describe('threads', () => {
  const threads = (count = 2): Pool => {
    const workerUrl = new URL('../../../dist/worker.cjs', import.meta.url);
    const pool = new Pool({ threads: count, leastBytes: 0, workerUrl });
    onTestFinished(() => pool.close());
    return pool;
  };
  const building = (input: OpenedInput) => {
    const schema = { types: [], itemLimitBytes: 1 << 22 };
    return { pass: 'build' as const, input, schema, hashKey: KEY };
  };
  const itemsOf = (batch: ItemBatch): string => Buffer.from(batch.items).toString();

  it.each(['people.xlsx', 'snappy.parquet'])('read %s as this one does', async (name) => {
    const pool = threads();
    const { input, scan, texts } = await reading(name);
    let found = '';
    for await (const batch of buildItems(input, scan.schema, { hashKey: KEY, pool })) {
      found += itemsOf(batch);
    }
    expect(found).toBe(texts.map((item) => `${item},`).join(''));
  });

  it('give what comes before a damaged row group, and then its error', async () => {
    const path = join(scratch(), 'damaged.parquet');
    const bytes = readFileSync(join(FOLDER, 'snappy.parquet'));
    bytes.fill(0xff, 48_000, 49_000); // of the second row group
    writeFileSync(path, bytes);
    const input = await open(path);
    const outcomeOf = async (pool: Pool): Promise<[number, string]> => {
      let rows = 0;
      const reads = (async () => {
        for await (const batch of pool.run(building(input), readRecords(input))) rows += batch.read;
      })();
      const { message } = await errorOf(reads);
      return [rows, message];
    };
    const here = await outcomeOf(HERE);
    expect(here[1]).toMatch(/damaged\.parquet: the Parquet file is damaged: /);
    expect(here[0]).toBeGreaterThan(0);
    expect(await outcomeOf(threads())).toEqual(here);
  });

  it('refuse a file that is another one than was opened', async () => {
    const path = join(scratch(), 'snappy.parquet');
    copyFileSync(join(FOLDER, 'snappy.parquet'), path);
    const input = await open(path);
    copyFileSync(join(FOLDER, 'zstd.parquet'), path);
    for (const pool of [HERE, threads()]) {
      const reads = (async () => {
        for await (const _ of pool.run(building(input), readRecords(input)))
          expect.unreachable('it was read');
      })();
      expect((await errorOf(reads)).message).toMatch(/changed while it was being imported/);
    }
  });
});
