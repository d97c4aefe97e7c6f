/** Conversions of whole inputs: the items that arrive, found patterns, and what the plan suggests. */
import { describe, expect, it } from 'vitest';
import type { ProfilesError } from '../../../../src/engine/errors.js';
import { type MappingRules, NO_RULES } from '../../../../src/engine/read/index.js';
import { readText } from '../reading.js';

const types = (...some: MappingRules['types']): { rules: MappingRules } => ({
  rules: { ...NO_RULES, types: some },
});

describe('conversions', () => {
  const WANTED = types(
    ['price', 'money'],
    ['on', 'boolean:Ja/Nein'],
    ['at', 'datetime:dd.MM.yyyy HH:mm@Europe/Berlin'],
  );
  const ITEMS = [
    { company_id: 'c1', metadata: { price: -12.5, on: true, at: '2024-07-01T08:00:00+02:00' } },
    { company_id: 'c2', metadata: { on: false } },
  ];
  const REASONS = [
    '4: price: "12 apples" is not of type money',
    '5: at: "31.03.2024 02:30" is not of type datetime:dd.MM.yyyy HH:mm@Europe/Berlin: the clocks there skip that time',
  ];

  it('of a CSV', async () => {
    const { items, reasons, rejected, scan } = await readText(
      'a.csv',
      'company_id,price,on,at\nc1,($12.50),ja,01.07.2024 08:00\nc2,,NEIN,\nc3,12 apples,,\nc4,,,31.03.2024 02:30\n',
      WANTED,
    );
    expect(items).toEqual(ITEMS);
    expect(reasons).toEqual(REASONS);
    expect(rejected.map(({ cause }) => cause)).toEqual([
      { column: 'price', type: 'money', code: 'form' },
      { column: 'at', type: 'datetime:dd.MM.yyyy HH:mm@Europe/Berlin', code: 'zone' },
    ]);
    expect(scan.columns.map(({ type, conversion }) => [type, conversion])).toEqual([
      ['string', undefined],
      ['number', 'money'],
      ['boolean', 'boolean:Ja/Nein'],
      ['string', 'datetime:dd.MM.yyyy HH:mm@Europe/Berlin'],
    ]);
    expect(scan.bytes).toBe(items.reduce<number>((sum, item) => sum + JSON.stringify(item).length, 0));
  });

  it('of text in JSON, flat or in metadata; values with a type of their own are sent as they are', async () => {
    const { items, reasons, scan } = await readText(
      'a.ndjson',
      [
        '{"company_id":"c1","price":"($12.50)","on":"ja","at":"01.07.2024 08:00"}',
        '{"company_id":"c2","metadata":{"price":"","on":false}}',
        '{"company_id":"c2","price":7,"on":null}',
        '{"company_id":"c3","price":"12 apples"}',
        '{"company_id":"c4","at":"31.03.2024 02:30"}',
        '{"company_id":"c4","at":20240331}',
      ].join('\n'),
      WANTED,
    );
    expect(items).toEqual([...ITEMS, { company_id: 'c2', metadata: { price: 7, on: null } }]);
    expect(reasons).toEqual([
      ...REASONS,
      '6: at: 20240331 is not of type datetime:dd.MM.yyyy HH:mm@Europe/Berlin',
    ]);
    expect(scan.columns.find(({ column }) => column === 'price')).toMatchObject({
      type: 'number',
      conversion: 'money',
    });
  });

  const PRICES = ['1', '$2', '(3.00 USD)', '€4', '5 EUR', '6 pears', '7 £', '8'];
  const RULES = types(['price', 'money']);
  const WARNED = {
    message: 'price: line 3 "$2" and line 5 "€4" are in different currencies, and only the numbers are sent',
    problem: { code: 'mixed_currencies', column: 'price' },
  };

  it.each([
    ['a CSV', 'a.csv', `company_id,price\n${PRICES.map((price, n) => `c${n},${price}\n`).join('')}`],
    [
      'JSON',
      'a.ndjson',
      ['', ...PRICES].map((price, n) => `${JSON.stringify({ company_id: `c${n}`, price })}\n`).join(''),
    ],
  ])('amounts in different currencies are a warning: %s', async (_, name, text) => {
    const { scan, rejected } = await readText(name, text, RULES);
    expect(scan.warnings).toEqual([WARNED]);
    expect(rejected.length).toBe(1);
  });

  it('also where they are in different batches', async () => {
    const many = Array.from({ length: 20_000 }, () => '$2');
    const text = `company_id,price\n${['1', ...many, '€4'].map((price, n) => `c${n},${price}\n`).join('')}`;
    const { scan } = await readText('a.csv', text, RULES);
    expect(scan.warnings[0]?.message).toMatch(/line 3 "\$2" and line 20003 "€4"/);
  });

  it.each([
    ['none', ['1', '(2)', '']],
    ['one, by sign and by code', ['1', '$2', '3 USD', 'US$ 4', '-$5']],
    ['a value that is not money', ['$1', '2 pears']],
  ])('amounts in %s are no warning', async (_, prices) => {
    const text = `company_id,price\n${prices.map((price, n) => `c${n},${price}\n`).join('')}`;
    expect((await readText('a.csv', text, RULES)).scan.warnings).toEqual([]);
  });

  it('epoch time of JSON may be a number', async () => {
    const { items } = await readText(
      'a.ndjson',
      '{"company_id":"c1","at":1711879200}\n{"company_id":"c2","at":"0"}\n',
      types(['at', 'datetime:epoch']),
    );
    expect(items).toMatchObject([
      { metadata: { at: '2024-03-31T10:00:00Z' } },
      { metadata: { at: '1970-01-01T00:00:00Z' } },
    ]);
  });

  it.each([
    ['a.csv', 'user_id,company_id\nÅ@B.se,C1\nå@b.se,c1\n'],
    ['a.ndjson', '{"user_id":"Å@B.se","company_id":"C1"}\n{"user_id":"å@b.se","company_id":"c1"}\n'],
  ])('lower case of identifiers, in %s', async (name, text) => {
    const { items } = await readText(name, text, types(['user_id', 'lower'], ['company_id', 'lower']));
    expect(items).toEqual([
      { user_id: 'å@b.se', company_id: 'c1' },
      { user_id: 'å@b.se', company_id: 'c1' },
    ]);
  });

  it('no other conversion of an identifier', async () => {
    await expect(readText('a.csv', 'company_id,n\nc1,2\n', types(['company_id', 'money']))).rejects.toThrow(
      /always text/,
    );
  });

  it('a constant is converted as a cell is', async () => {
    const rules = {
      ...NO_RULES,
      set: [['at', '31.03.2024']] as const,
      types: [['at', 'date:dd.MM.yyyy']] as const,
    };
    const { items } = await readText('a.csv', 'company_id,n\nc1,2\n', { rules });
    expect(items).toMatchObject([{ metadata: { at: '2024-03-31' } }]);
  });

  it('a zone that is none', async () => {
    await expect(
      readText('a.csv', 'company_id,at\nc1,x\n', types(['at', 'datetime:iso@Berlin'])),
    ).rejects.toMatchObject({
      problem: { code: 'unknown_zone', column: 'at', zone: 'Berlin' },
    });
  });
});

const dates = (...cells: string[]): string =>
  `company_id,at\n${cells.map((cell, n) => `c${n},"${cell}"\n`).join('')}`;

describe('dates without a pattern', () => {
  it.each<[type: MappingRules['types'][0][1], cells: string[], sent: string[], found: string]>([
    ['date', ['2024-03-31', ''], ['2024-03-31'], 'date:iso'],
    ['date', ['03/04/2024', '12/31/2024'], ['2024-03-04', '2024-12-31'], 'date:M/d/yyyy'],
    [
      'date',
      ['03/04/2024', '31/12/2024', '1/2/2024'],
      ['2024-04-03', '2024-12-31', '2024-02-01'],
      'date:d/M/yyyy',
    ],
    ['date', ['05/05/2024'], ['2024-05-05'], 'date:M/d/yyyy'],
    ['date', ['1. 2. 2024', '31. 12. 2024'], ['2024-02-01', '2024-12-31'], 'date:d. M. yyyy'],
    ['date', ['31-Mar-24'], ['2024-03-31'], 'date:d-MMM-yy'],
    ['date', ['March 31, 2024'], ['2024-03-31'], 'date:MMMM d, yyyy'],
    ['date', ['May 1, 2024', 'Jun 1, 2024'], ['2024-05-01', '2024-06-01'], 'date:MMM d, yyyy'],
    ['date', ['Sun, 31 Mar 2024'], ['2024-03-31'], 'date:EEE, d MMM yyyy'],
    [
      'datetime@UTC',
      ['2024-03-31 10:00', '2024-03-31'],
      ['2024-03-31T10:00:00Z', '2024-03-31T00:00:00Z'],
      'datetime:iso@UTC',
    ],
    ['datetime', ['2024-03-31T10:00:00.5+02:00'], ['2024-03-31T10:00:00.5+02:00'], 'datetime:iso'],
    [
      'datetime@Asia/Tokyo',
      ['12/31/2024, 1:05:09 PM'],
      ['2024-12-31T13:05:09+09:00'],
      'datetime:M/d/yyyy, h:mm:ss a@Asia/Tokyo',
    ],
    ['datetime', ['31/12/2024 23:05 -0500'], ['2024-12-31T23:05:00-05:00'], 'datetime:d/M/yyyy H:mm ZZ'],
  ])('%s of %j', async (type, cells, sent, found) => {
    const { items, scan } = await readText('a.csv', dates(...cells), types(['at', type]));
    expect(items.flatMap((item) => (item as { metadata?: { at: string } }).metadata?.at ?? [])).toEqual(sent);
    expect(scan.columns[1]!.conversion).toBe(found);
  });

  it('found in JSON too', async () => {
    const { items } = await readText(
      'a.ndjson',
      '{"company_id":"a"}\n{"company_id":"b","metadata":{"at":"31/12/2024"}}\n',
      types(['at', 'date']),
    );
    expect(items[1]).toEqual({ company_id: 'b', metadata: { at: '2024-12-31' } });
  });

  it('null markers and white space are no values', async () => {
    const rules = { ...types(['at', 'date']).rules, nulls: ['\\N'], trim: true };
    const { items } = await readText('a.csv', dates('\\N', ' 12/31/2024 ', '01/02/2024'), { rules });
    expect(items.map((item) => (item as { metadata?: { at: string } }).metadata?.at)).toEqual([
      undefined,
      '2024-12-31',
      '2024-01-02',
    ]);
  });

  it('a run that is continued keeps the pattern that it found', async () => {
    const first = await readText('a.csv', dates('12/31/2024'), types(['at', 'date']));
    expect(first.scan.schema.types).toEqual(['string', 'date:M/d/yyyy']);
    const again = await readText('a.csv', dates('03/04/2024', '05/06/2024'), {
      ...types(['at', 'date']),
      decidedTypes: first.scan.schema.types,
    });
    expect(again.items[0]).toMatchObject({ metadata: { at: '2024-03-04' } });
  });

  it('as many rows are looked at as it takes', async () => {
    const cells = Array.from({ length: 20_000 }, () => '01/02/2024');
    const { items } = await readText('a.csv', dates(...cells, '13/02/2024'), types(['at', 'date']));
    expect(items[0]).toEqual({ company_id: 'c0', metadata: { at: '2024-02-01' } });
  });

  it.each<
    [what: string, type: MappingRules['types'][0][1], cells: string[], problem: object, message: RegExp]
  >([
    [
      'two patterns fit',
      'date',
      ['05/05/2024', '03/04/2024'],
      {
        code: 'two_patterns',
        readings: [
          { type: 'date:M/d/yyyy', reading: '2024-03-04' },
          { type: 'date:d/M/yyyy', reading: '2024-04-03' },
        ],
      },
      /a\.csv:3: at: "03\/04\/2024" may be 2024-03-04 or 2024-04-03/,
    ],
    [
      'the third of the patterns that fit reads another day',
      'date',
      ['05/05/06'],
      {
        code: 'two_patterns',
        readings: [
          { type: 'date:M/d/yy', reading: '2006-05-05' },
          { type: 'date:yy/M/d', reading: '2005-05-06' },
        ],
      },
      /a\.csv:2: at: "05\/05\/06" may be 2006-05-05 or 2005-05-06/,
    ],
    [
      'one of three patterns drops out, and two are left that differ',
      'date',
      ['05/05/06', '13/05/13'],
      {
        code: 'two_patterns',
        readings: [
          { type: 'date:d/M/yy', reading: '2006-05-05' },
          { type: 'date:yy/M/d', reading: '2005-05-06' },
        ],
      },
      /a\.csv:2: at: "05\/05\/06" may be/,
    ],
    [
      'another pattern comes late',
      'date',
      ['12/31/2024', '31/12/2024'],
      { code: 'stray_date', type: 'date:M/d/yyyy' },
      /a\.csv:3: at: "31\/12\/2024" does not fit/,
    ],
    ['no day', 'date', ['30/02/2024'], { code: 'no_pattern' }, /a\.csv:2: at: "30\/02\/2024" is not a date/],
    [
      'a date with a time',
      'date',
      ['2024-03-31 10:00'],
      { code: 'no_pattern', timed: 'yyyy-MM-dd HH:mm' },
      /not a date/,
    ],
    [
      'no zone',
      'datetime',
      ['12/31/2024 10:00'],
      { code: 'zone_missing', type: 'datetime:M/d/yyyy H:mm' },
      /does not say in which zone/,
    ],
    [
      'no zone, two patterns',
      'datetime',
      ['01/02/2024 10:00'],
      { code: 'zone_missing', type: 'datetime' },
      /zone/,
    ],
  ])('%s', async (_, type, cells, problem, message) => {
    const failure = await readText('a.csv', dates(...cells), types(['at', type])).catch(
      (error: ProfilesError) => error,
    );
    expect(failure).toMatchObject({ problem, message: expect.stringMatching(message) });
  });

  it('another pattern that comes after those that were looked at', async () => {
    const cells = Array.from({ length: 20_000 }, () => '12/31/2024');
    await expect(
      readText('a.csv', dates(...cells, '31/12/2024'), types(['at', 'date'])),
    ).rejects.toMatchObject({
      message: expect.stringContaining('a.csv:20002: at: "31/12/2024" does not fit date:M/d/yyyy'),
      problem: { code: 'stray_date' },
    });
  });
});

describe('the type of a column, and why', () => {
  const CASES: [type: string, reason: string, cells: string[]][] = [
    ['integer', 'all 3 values are integers', ['1', '-20', '0']],
    ['integer', 'all 2 values are integers', ['', '7', '', '8']],
    ['integer', 'the one value is an integer', ['7']],
    ['integer', 'all 2 values are integers', ['9007199254740991', '-9007199254740991']],
    ['string', 'line 3: "9007199254740992"', ['1', '9007199254740992']],
    ['string', 'line 2: "-9007199254740992"', ['-9007199254740992']],
    ['string', 'line 2: "9007199254740993"', ['9007199254740993']],
    ['string', 'line 3: "02139"', ['10001', '02139']],
    ['string', 'line 2: "007"', ['007', '8', '009']],
    ['string', 'line 3: "00"', ['0', '00']],
    ['string', 'line 2: "+49"', ['+49']],
    ['string', 'line 3: "1e5"', ['1', '1e5']],
    ['string', 'line 2: "-0"', ['-0']],
    ['string', 'line 2: "0x1f"', ['0x1f']],
    ['string', 'line 2: "1,000"', ['1,000']],
    ['string', 'line 2: " 1"', [' 1']],
    ['string', 'line 2: "-"', ['-']],
    ['string', 'line 2: "1."', ['1.']],
    ['string', 'line 2: ".5"', ['.5']],
    ['string', 'line 2: "1.2.3"', ['1.2.3']],
    ['string', 'line 2: "NaN"', ['NaN']],
    ['string', 'line 2: "Infinity"', ['Infinity']],
    ['string', 'line 2: "٣"', ['٣']],
    ['string', 'line 5: "n/a"', ['1', '2', '3', 'n/a', '5']],
    ['string', 'no values', []],
    ['string', 'no values', ['', '']],
    ['number', 'all 2 values are numbers', ['1.5', '2']],
    ['number', 'all 2 values are numbers', ['-0.5', '0.25']],
    ['number', 'all 3 values are numbers', ['1.9', '1.1', '12.3']],
    ['number', 'all 2 values are numbers', ['1.90', '1.10']],
    ['number', 'the one value is a number', ['0.0000001']],
    ['number', 'the one value is a number', ['123456789012.345']],
    ['string', 'line 3: "1.10"', ['1.9', '1.10']],
    ['string', 'line 2: "1.10"', ['1.10', '1.9']],
    ['string', 'line 3: "2.0"', ['1', '2.0']],
    ['string', 'line 2: "0.12345678901234567"', ['0.12345678901234567']],
    ['string', 'line 2: "-0.0"', ['-0.0', '1.5']],
    ['string', 'line 2: "01.5"', ['01.5']],
  ];

  it('is decided over all cells', async () => {
    const quoted = (cells: readonly string[]): string => cells.map((cell) => `"${cell}"`).join(',');
    const rows = [0, 1, 2, 3, 4].map((row) =>
      quoted([`c${row}`, ...CASES.map(([, , cells]) => cells[row] ?? '')]),
    );
    const header = quoted(['company_id', ...CASES.map((_, n) => `k${n}`)]);
    const { scan } = await readText('a.csv', `${[header, ...rows].join('\n')}\n`);
    const found = scan.columns.slice(1).map(({ type, reason }) => [type, reason]);
    expect(found).toEqual(CASES.map(([type, reason]) => [type, reason]));
  });

  it('a number that drops a zero is warned of', async () => {
    const { scan } = await readText('a.csv', 'company_id,n\nc1,1.95\nc2,1.10\n');
    expect(scan.warnings).toMatchObject([
      {
        message: 'n: trailing zeros are dropped: line 3: "1.10" becomes 1.1',
        problem: { code: 'digits_lost' },
      },
    ]);
  });
});

describe('suggestions', () => {
  it.each<[cells: string[], suggested: string[] | undefined]>([
    [['$1,234.00', '(5)'], ['money']],
    [['5 €', '1.234,50 €'], ['money:1.234,56']],
    [['213', '17,871', '1,234,567'], ['number:1,234.56']],
    [['1.5', '1,234.5'], ['number:1,234.56']],
    [
      ['17,871', '213'],
      ['number:1,234.56', 'number:1.234,56'],
    ],
    [['1.234,5', '12'], ['number:1.234,56']],
    [['0,500', '1,250'], ['number:1.234,56']],
    [['0.500 €', '1.5 €'], ['money']],
    [['0,500 €', '2 €'], ['money:1.234,56']],
    [['1 234,50', '5'], ['number:1 234,56']],
    [['555 123 456'], undefined],
    [['12.5%'], ['percent']],
    [['12.5%', '02.5%'], undefined],
    [['31.12.2024 10:00', '31.13.2024 10:00'], undefined],
    [['12,5 %'], ['percent:1.234,56']],
    [['Yes', 'no'], ['boolean']],
    [['true', 'false'], ['boolean']],
    [['Ja', 'nein'], ['boolean:ja/nein']],
    [['ja', 'nee'], ['boolean:ja/nee']],
    [['no', 'sí'], ['boolean:sí/no']],
    [['no', 'no'], ['boolean']],
    [['WAHR', 'FALSCH'], ['boolean:wahr/falsch']],
    [['Yes', 'perhaps'], undefined],
    [['03/31/2024', '12/31/2024'], ['date:M/d/yyyy']],
    [['12/31/2024', '3/1/2024'], ['date:M/d/yyyy']],
    [['03/04/2024'], ['date:M/d/yyyy', 'date:d/M/yyyy']],
    [
      ['05/05/2024', '03/04/2024'],
      ['date:M/d/yyyy', 'date:d/M/yyyy'],
    ],
    [
      ['01/01/24', '03/02/98', '05/04/99'],
      ['date:M/d/yy', 'date:d/M/yy'],
    ],
    [
      ['01/01/24', '01/02/24', '01/03/24', '01/04/24'],
      ['date:M/d/yy', 'date:d/M/yy', 'date:yy/M/d'],
    ],
    [['01/01/24', '01/02/24', '13/02/98'], ['date:d/M/yy']],
    [['31.12.2024 10:00'], ['datetime:d.M.yyyy H:mm@<zone>']],
    [['2024-12-31 10:00'], ['datetime:iso@<zone>']],
    [['2024-12-31 10:00:00+00'], ['datetime:iso']],
    [['2024-12-31'], undefined],
    [['2024-12-31T10:00:00Z'], undefined],
    [['02139', '10001'], undefined],
    [['+4930123', '+4930124'], undefined],
    [['$5', ''], ['money']],
    [['12', '13'], undefined],
    [['x', '$5'], undefined],
  ])('%j: %j', async (cells, suggested) => {
    const { scan } = await readText('a.csv', dates(...cells));
    expect(scan.columns[1]!.suggested).toEqual(suggested);
    const looks = [{ problem: { code: 'looks_typed', path: expect.stringMatching(/a\.csv$/) } }];
    expect(scan.warnings).toMatchObject(suggested ? looks : []);
  });

  it('text that looks like something else is one warning, unless its type is pinned', async () => {
    const text =
      'company_id,Umsatz,Gegründet,aktiv,Name\nc1,"1.234,56",31.12.2024,Yes,Ada\nc2,"5,00",01.02.2024,No,5\n';
    const { scan } = await readText('a.csv', text);
    expect(scan.warnings).toEqual([
      {
        message: '3 text columns look like numbers, dates, or booleans: Umsatz, Gegründet, aktiv',
        problem: { code: 'looks_typed', path: expect.stringMatching(/a\.csv$/) },
      },
    ]);
    const pins = types(['Umsatz', 'string'], ['Gegründet', 'date:dd.MM.yyyy'], ['aktiv', 'string']);
    const pinned = await readText('a.csv', text, pins);
    expect(pinned.scan.warnings).toEqual([]);
  });

  it('a number with a point is doubted where another column has points for thousands', async () => {
    const text = (umsatz: string, staff: string) =>
      `company_id;Umsatz;Staff\nc1;${umsatz};417\nc2;5,00;${staff}\n`;
    const codes = async (given: string, rules?: ReturnType<typeof types>) =>
      (await readText('a.csv', given, rules)).scan.warnings.map(({ problem }) => problem?.code);
    const { scan } = await readText('a.csv', text('1.234,56', '1.188'));
    expect(scan.warnings).toContainEqual({
      message: 'Staff: line 3 "1.188" is sent as 1.188, but other columns have a point for thousands',
      problem: { code: 'point_for_thousands', column: 'Staff', type: 'number:1.234,56' },
    });
    expect(await codes(text('1.234,56', '1.18'))).toEqual(['looks_typed']);
    expect(await codes(text('x', '1.188'))).toEqual([]);
    expect(await codes(text('1.234,56', '1.188'), types(['Staff', 'number']))).toEqual(['looks_typed']);
    expect(await codes(text('1.234,56', '1.188'), types(['Umsatz', 'money:1.234,56']))).toEqual([
      'point_for_thousands',
    ]);
  });

  it('a marker is shown with how often it stands', async () => {
    const { scan } = await readText('a.csv', dates('1', '2', 'NA', '4', '-', ...times(20_000, '5'), 'NA'));
    expect(scan.warnings[0]!.message).toBe(
      'at: only "NA" (2 cells), "-" (1 cell) keep it from being integers',
    );
  });

  it('a value of set says that it loses a zero', async () => {
    const set: [string, string][] = [
      ['version', '1.10'],
      ['size', '1.5'],
      ['code', '010'],
    ];
    const { scan } = await readText('a.csv', 'company_id\nc1\n', { rules: { ...NO_RULES, set } });
    expect(scan.warnings).toEqual([
      {
        message: 'version: the zero at the end is dropped: "1.10" becomes 1.1',
        problem: { code: 'digits_lost', column: 'version' },
      },
    ]);
    const { rules } = types(['version', 'string']);
    const asText = await readText('a.csv', 'company_id\nc1\n', { rules: { ...rules, set } });
    expect(asText.scan.warnings).toEqual([]);
  });

  it('what a column is in one part of a file, it must be in the others', async () => {
    const many = Array.from({ length: 20_000 }, () => '12/11/2024');
    for (const [last, suggested] of [
      ['01/31/2024', ['date:M/d/yyyy']],
      ['x', undefined],
    ] as const) {
      const { scan } = await readText('a.csv', dates(...many, last));
      expect(scan.columns[1]!.suggested).toEqual(suggested);
    }
    const numbers = Array.from({ length: 20_000 }, (_, n) => String(n));
    const { scan } = await readText('a.csv', dates(...numbers, '1,234,567'));
    expect(scan.columns[1]!.suggested).toEqual(['number:1,234.56']);
    expect((await readText('a.csv', dates(...numbers, '12.5%'))).scan.columns[1]!.suggested).toBeUndefined();
  });

  it('values that are far apart are held against each other', async () => {
    const gap = Array.from({ length: 20_000 }, () => '');
    for (const [cells, suggested] of [
      [['12/31/2024', ...gap, '1/2/2024', ...gap, '3/1/2024'], ['date:M/d/yyyy']],
      [['12/31/2024', ...gap, '1/2/2024', ...gap, '31/1/2024'], undefined],
      [['x', ...gap, '3/1/2024', ...gap, '3/2/2024'], undefined],
      [['12', ...gap, '1,234.50', ...gap, '12'], ['number:1,234.56']],
    ] as const) {
      const { scan } = await readText('a.csv', dates(...cells));
      expect(scan.columns[1]!.suggested).toEqual(suggested);
    }
  });

  it('one column tells how the numbers of another are written', async () => {
    const { scan } = await readText('a.csv', 'company_id,a,b\nc1,"17,871","$1,234.50"\n');
    expect(scan.columns.map(({ suggested }) => suggested)).toEqual([
      undefined,
      ['number:1,234.56'],
      ['money'],
    ]);
  });

  it.each<[cells: string[], markers: string[], type: string]>([
    [['35', '-', '12'], ['-'], 'integer'],
    [['-', '35'], ['-'], 'integer'],
    [['35', '1.5', 'n/a'], ['n/a'], 'number'],
    [['$5', 'NULL', '-'], ['NULL', '-'], 'money'],
    [['\\N', '12/31/2024'], ['\\N'], 'date:M/d/yyyy'],
    [['yes', 'N/A'], ['N/A'], 'boolean'],
    [['k.A.', 'ja', 'nein'], ['k.A.'], 'boolean:ja/nein'],
    [['12', 'k. A.'], ['k. A.'], 'integer'],
  ])('%j: but for %j it would be %s', async (cells, markers, type) => {
    const { scan } = await readText('a.csv', dates(...cells));
    expect(scan.warnings).toMatchObject([{ problem: { code: 'null_markers', column: 'at', markers, type } }]);
    expect(scan.columns[1]!.suggested).toBeUndefined();
  });

  const times = (count: number, text: string): string[] => Array.from({ length: count }, () => text);

  it.each([150, 20_000])(
    'types that only the cell after %d others tells apart are both offered',
    async (count) => {
      const { scan } = await readText('a.csv', dates(...times(count, '01/01/2024'), '02/01/2024'));
      expect(scan.columns[1]!.suggested).toEqual(['date:M/d/yyyy', 'date:d/M/yyyy']);
    },
  );

  it.each<[what: string, cells: string[], type: string | null, rows?: number, line?: number]>([
    ['the last', [...times(30, '$5.00'), 'a lot'], 'money', 1, 32],
    ['the first', ['a lot', ...times(30, '$5.00')], 'money', 1, 2],
    ['one of twenty', [...times(19, '5%'), '5'.repeat(70)], 'percent', 1, 21],
    ['one of nineteen', [...times(18, '5%'), 'x'], null],
    ['day and month the other way', [...times(40, '12/31/2024'), '31/12/2024'], 'date:M/d/yyyy', 1, 42],
    ['before it is known which way', ['31/12/2024', ...times(40, '12/31/2024')], 'date:M/d/yyyy', 1, 2],
    ['the first three', [...times(3, 'x'), ...times(900, 'Yes')], 'boolean', 3, 2],
    ['the first hundred', [...times(100, 'x'), ...times(9_000, 'Yes')], null],
    ['the first two', [...times(2, 'x'), ...times(900, 'Yes')], 'boolean', 2, 2],
    ['twenty in a long column', ['Yes', ...times(20, 'x'), ...times(900, 'Yes')], 'boolean', 20, 3],
    ['one more', ['Yes', ...times(21, 'x'), ...times(900, 'Yes')], null],
    ['codes, of which most are digits', [...times(40, '94103'), 'K1A 0B6'], null],
    ['a code before them', ['K1A 0B6', ...times(40, '94103')], null],
    ['beside a null marker', ['-', ...times(20, '$5'), 'x'], 'money', 1, 23],
    ['either way', [...times(20, '03/04/2024'), 'x'], null],
    ['far from one another', ['x', ...times(9_000, '12/31/2024'), 'y'], 'date:M/d/yyyy', 2, 2],
  ])('a few values do not fit: %s', async (_, cells, type, rows, line) => {
    const { scan } = await readText('a.csv', dates(...cells));
    expect(scan.columns[1]!.suggested).toBeUndefined();
    if (type === null) return expect(scan.warnings).toEqual([]);
    const markers = cells.includes('-') ? ['-'] : [];
    const problem = { code: 'stray_values', column: 'at', markers, type, rows };
    expect(scan.warnings).toMatchObject([
      { message: expect.stringContaining(`; line ${line} "${cells[line! - 2]!.slice(0, 60)}`), problem },
    ]);
  });
});
