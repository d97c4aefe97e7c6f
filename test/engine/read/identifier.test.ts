/** What an identifier may be, in CSV and in JSON: each case is rejected, warned of, or taken as it is written. */
import { describe, expect, it } from 'vitest';
import { type MappingRules, NO_RULES } from '../../../src/engine/read/index.js';
import { type Reading, type ReadOptions, readText } from './reading.js';

const cell = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const rules = (some: Partial<MappingRules>): ReadOptions => ({ rules: { ...NO_RULES, ...some } });

/** Items of these identifiers, as CSV and as JSON: both must come out alike. */
async function companies(ids: readonly string[], options: ReadOptions = {}): Promise<Reading[]> {
  return [
    await readText('a.csv', `company_id,n\n${ids.map((id, n) => `${cell(id)},${n}\n`).join('')}`, options),
    await readText('a.json', JSON.stringify(ids.map((company_id, n) => ({ company_id, n }))), options),
  ];
}

const sent = ({ items }: Reading): unknown[] =>
  items.map((item) => (item as { company_id: string }).company_id);

describe('what stands for no value', () => {
  const MARKERS = ['NULL', 'null', 'Null', '\\N', '\\n', 'N/A', 'n/a', '#N/A', '#REF!', '#ref!', 'NaN', 'nan']
    .concat(['None', 'NONE', 'undefined', 'Undefined', '#VALUE!', '#DIV/0!', '#NAME?', '#NULL!', '#NUM!'])
    .concat(['<NA>', '(null)', '<null>', 'k.A.']);

  it.each(MARKERS)('%s rejects the row', async (marker) => {
    for (const reading of await companies(['c1', marker, 'c2'])) {
      expect(sent(reading)).toEqual(['c1', 'c2']);
      expect(reading.reasons).toHaveLength(1);
      expect(reading.reasons[0]).toContain(`company_id is "${marker}", which stands for a missing value`);
    }
  });

  it.each(['NULLs', 'nul', 'nonesuch', 'n', 'N', 'NA', '\\', '#', '#1', 'undefine', 'nan1', 'u-1', '0', '-'])(
    '%s is an identifier',
    async (id) => {
      for (const reading of await companies([id])) {
        expect([sent(reading), reading.reasons]).toEqual([[id], []]);
      }
    },
  );

  it('is let pass where it is allowed, as written', async () => {
    for (const reading of await companies(['NULL', 'null', 'None'], rules({ allowIds: ['NULL', 'None'] }))) {
      expect(sent(reading)).toEqual(['NULL', 'None']);
      expect(reading.reasons).toHaveLength(1);
    }
  });

  it('is empty where it is said to be, which rejects the row as well', async () => {
    for (const reading of await companies(['c1', 'NULL'], rules({ nulls: ['NULL'] }))) {
      expect(sent(reading)).toEqual(['c1']);
      expect(reading.reasons[0]).toMatch(/company_id is empty$/);
    }
  });
});

describe('white space', () => {
  it.each([' ', '   ', '\t', '\u00a0', '\u200b', '\ufeff \u2060'])(
    'alone rejects the row: %j',
    async (id) => {
      for (const reading of await companies(['c1', id])) {
        expect(sent(reading)).toEqual(['c1']);
        expect(reading.reasons[0]).toMatch(/company_id is only white space$/);
      }
    },
  );

  it('around identifiers is one warning, with the flag that helps', async () => {
    for (const reading of await companies(['c1', ' c2', 'c3\t', 'c 4', 'c5'])) {
      expect(sent(reading)).toEqual(['c1', ' c2', 'c3\t', 'c 4', 'c5']);
      expect(reading.scan.warnings).toEqual([
        {
          message: expect.stringMatching(
            /^(line 3|item 2) \(and 1 more\): company_id: " c2" has white space or invisible characters around it$/,
          ),
          problem: { code: 'odd_identifiers', column: 'company_id', white: true, inside: false },
        },
      ]);
    }
    for (const reading of await companies(['c1', ' c2', 'c3\t', '\u200bc5\ufeff'], rules({ trim: true }))) {
      expect([sent(reading), reading.scan.warnings]).toEqual([['c1', 'c2', 'c3', 'c5'], []]);
    }
  });

  it('around some and inside others is one warning, with the first of each', async () => {
    const around = (text: string): string => `"${text}" has white space or invisible characters around it`;
    const inside = (text: string): string => `"${text}" has invisible characters in it`;
    const warnings = async (ids: readonly string[]): Promise<unknown[]> => {
      const [{ scan }] = (await companies(ids)) as [Reading];
      return scan.warnings;
    };
    const problem = { code: 'odd_identifiers', column: 'company_id', white: true, inside: true };
    expect(await warnings([' c1 ', 'c2', 'c\u200b3'])).toEqual([
      { message: `line 2: company_id: ${around(' c1 ')}, and line 4: ${inside('c\\u200b3')}`, problem },
    ]);
    expect(await warnings(['c\u200b1', 'c2 ', ' c\u200b3 ', 'c4\t'])).toEqual([
      {
        message: `line 2 (and 1 more): company_id: ${inside('c\\u200b1')}, and line 3 (and 1 more): ${around('c2 ')}`,
        problem,
      },
    ]);
    expect(await warnings(['c\u200b1'])).toEqual([
      {
        message: `line 2: company_id: ${inside('c\\u200b1')}`,
        problem: { ...problem, white: false },
      },
    ]);
  });

  it.each([
    ['c\u200b1', '"c\\u200b1"'],
    ['c\u00a01', '"c\\u00a01"'],
    ['c\u0007', '"c\\x07"'],
    ['\u202ec1', '"\\u202ec1"'],
  ])('invisible characters are a warning that shows them: %j', async (id, shown) => {
    for (const reading of await companies(['c0', id])) {
      expect(sent(reading)).toEqual(['c0', id]);
      expect(reading.scan.warnings.map(({ message }) => message)).toEqual([expect.stringContaining(shown)]);
    }
  });

  it.each(['Größe', '日本', 'a b', 'é', "O'Neil & Co."])('%s is nothing odd', async (id) => {
    for (const reading of await companies([id])) {
      expect([sent(reading), reading.scan.warnings, reading.reasons]).toEqual([[id], [], []]);
    }
  });
});

describe('what a program made of an identifier', () => {
  const DECIMAL =
    'looks like a whole number that a program wrote with a decimal; export its column as whole numbers or text';
  const MARKED =
    'begins with an apostrophe, which marks text for spreadsheets; remove it from the column if it is not part of the identifiers';
  const ROUNDED = 'looks rounded by a spreadsheet; format its column as text and export it again';
  const altered = ({ scan }: Reading): string[] =>
    scan.warnings.map(({ message }) => message).filter((message) => message.includes('the identifier'));

  it.each([
    ['12.0', DECIMAL],
    ['12,0', DECIMAL],
    ["'6123456789012", MARKED],
    ['1E+05', ROUNDED],
  ])('%s is sent as it is, with a warning', async (id, words) => {
    for (const reading of await companies(['c1', id, id])) {
      expect(sent(reading)).toEqual(['c1', id, id]);
      expect(altered(reading)).toEqual([
        expect.stringMatching(/^(?:line 3|item 2) \(and 1 more\): the identifier /),
      ]);
      expect(altered(reading)[0]).toContain(`: the identifier "${id}" ${words}`);
    }
  });

  it('so is the company of a user, as pandas writes it if a user has none', async () => {
    for (const reading of [
      await readText('a.csv', 'user_id,company_id\nu1,12.0\nu2,\nu3,13.0\n'),
      await readText(
        'a.ndjson',
        '{"user_id":"u1","company_id":"12.0"}\n{"user_id":"u3","company_id":"13.0"}\n',
      ),
    ]) {
      expect(altered(reading)).toEqual([
        expect.stringMatching(/^line [12] \(and 1 more\): the identifier "12\.0" looks like a whole number/),
      ]);
    }
  });

  it.each(['10', '1.20', 'v1.0', '1.2.0', "o'neil", "'quoted'", '.0', "'"])('%s is fine', async (id) => {
    for (const reading of await companies([id])) expect(altered(reading)).toEqual([]);
  });
});

describe("a user's company", () => {
  const users = async (companies: readonly string[], options: ReadOptions = {}): Promise<Reading[]> => {
    const rows = companies.map((company_id, n) => ({ user_id: `u${n}`, company_id }));
    const lines = rows.map((row) => `${row.user_id},${cell(row.company_id)}\n`);
    return [
      await readText('a.csv', `user_id,company_id\n${lines.join('')}`, options),
      await readText('a.json', JSON.stringify(rows), options),
    ];
  };

  it('is held to the same, and left out where it is empty', async () => {
    for (const { items, reasons, scan } of await users(['c1', '', 'NULL', ' ', 'c2 '])) {
      expect(items).toEqual([
        { user_id: 'u0', company_id: 'c1' },
        { user_id: 'u1' },
        { user_id: 'u4', company_id: 'c2 ' },
      ]);
      expect(reasons).toEqual([
        expect.stringMatching(/company_id is "NULL", which stands for a missing value$/),
        expect.stringMatching(/company_id is only white space$/),
      ]);
      expect(scan.warnings).toHaveLength(1);
      expect(scan.warnings[0]!.problem).toEqual({
        code: 'odd_identifiers',
        column: 'company_id',
        white: true,
        inside: false,
      });
    }
  });

  it('that is said to be empty is left out', async () => {
    for (const { items, reasons } of await users(
      ['NULL', ' ', 'c1 '],
      rules({ nulls: ['NULL'], trim: true }),
    )) {
      expect(items).toEqual([{ user_id: 'u0' }, { user_id: 'u1' }, { user_id: 'u2', company_id: 'c1' }]);
      expect(reasons).toEqual([]);
    }
  });
});

describe('whole numbers of JSON', () => {
  const DIGITS = ['0', '7', '-5', '42', '9007199254740993', '123456789012345678901234567890', '-0'];

  it('are the digits as written, however many', async () => {
    const spaced = DIGITS.map((id) => `{"x":{"company_id":1.5},"company_id" : ${id} ,"n":1}`);
    const tight = DIGITS.map((id) => `{"n":1,"company_id":${id}}`);
    for (const lines of [spaced, tight]) {
      const { items, reasons, texts, scan } = await readText('a.ndjson', `${lines.join('\n')}\n`);
      expect(reasons).toEqual([]);
      expect(items.map((item) => (item as { company_id: string }).company_id)).toEqual(DIGITS);
      expect(scan.bytes).toBe(Buffer.byteLength(texts.join('')));
    }
  });

  it("also of a user's company", async () => {
    const { items } = await readText(
      'a.json',
      '[{"user_id":9007199254740993,"company_id":9007199254740995},{"user_id":1,"company_id":2}]',
    );
    expect(items).toEqual([
      { user_id: '9007199254740993', company_id: '9007199254740995' },
      { user_id: '1', company_id: '2' },
    ]);
  });

  const decimals = (number: string): string =>
    `is the number ${number}, which has decimals; write it in quotes: "${number}"`;
  const exponent = (number: string): string =>
    `is the number ${number}, which has an exponent; write all its digits in quotes`;
  it.each([
    ['1.0', decimals('1.0')],
    ['-1.50', decimals('-1.50')],
    ['1e3', exponent('1e3')],
    ['1.5E+2', exponent('1.5E+2')],
    ['true', 'is a boolean, not a text'],
    ['null', 'is null, not a text'],
    ['{}', 'is an object, not a text'],
    ['[1]', 'is an array, not a text'],
  ])('%s is none, and the reason has it as written', async (id, reason) => {
    const lines = [`{"company_id": ${id} }`, `{"x":1.5,"company_id":${id}}`, '{"company_id":"c"}'];
    const { items, reasons } = await readText('a.ndjson', `${lines.join('\n')}\n`);
    expect(items).toEqual([{ company_id: 'c' }]);
    expect(reasons).toEqual([`1: company_id ${reason}`, `2: company_id ${reason}`]);
  });

  it('elsewhere are held exactly, or reject the row', async () => {
    const { items, reasons } = await readText(
      'a.ndjson',
      '{"company_id":9007199254740993,"n":9007199254740993}\n{"company_id":9007199254740993,"n":5}\n',
    );
    expect(items).toEqual([{ company_id: '9007199254740993', metadata: { n: 5 } }]);
    expect(reasons).toEqual([
      expect.stringMatching(/^1: .*9007199254740993 cannot be represented exactly as a number/),
    ]);
  });
});

describe('--null and --trim', () => {
  it('of a CSV: cells are empty, also for the types; rejected rows stay as they were', async () => {
    const { items, scan, rejected } = await readText(
      'a.csv',
      'company_id,n,b\nc1, 5 ,x\nc2,\\N,n/a\nc3,,  y z  \n NULL ,7,\n',
      rules({ nulls: ['\\N', 'n/a'], trim: true }),
    );
    expect(items).toEqual([
      { company_id: 'c1', metadata: { n: 5, b: 'x' } },
      { company_id: 'c2' },
      { company_id: 'c3', metadata: { b: 'y z' } },
    ]);
    expect(scan.columns.map(({ column, type, empty }) => [column, type, empty])).toEqual([
      ['company_id', 'string', 0],
      ['n', 'integer', 2],
      ['b', 'string', 2],
    ]);
    expect(rejected.map(({ original }) => original)).toEqual([{ cells: [' NULL ', '7', ''] }]);
  });

  it.each([
    ['omit', {}],
    ['null', { a: null, b: null, c: null }],
    ['string', { a: '', b: '', c: '' }],
  ] as const)('of JSON: a text that becomes empty is as an empty cell: %s', async (empty, metadata) => {
    const { items } = await readText(
      'a.json',
      '[{"company_id":" c1 ","a":"n/a","b":"  ","metadata":{"c":"n/a"}},{"company_id":"c2","a":" x ","b":"","c":5}]',
      rules({ nulls: ['n/a'], trim: true, empty }),
    );
    expect(items).toEqual([
      { company_id: 'c1', ...(empty !== 'omit' && { metadata }) },
      { company_id: 'c2', metadata: { a: 'x', b: '', c: 5 } },
    ]);
  });
});
