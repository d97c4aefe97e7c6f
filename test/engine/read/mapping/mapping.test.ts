/** What becomes of columns: kind, identifier, keys, types and empty cells, by flags. As long as the rules have cases. */
import { describe, expect, it } from 'vitest';
import { ProfilesError } from '../../../../src/engine/errors.js';
import { type MappingRules, mergeRules, NO_RULES } from '../../../../src/engine/read/index.js';
import { workbook } from '../../../support/workbook.js';
import { writeCsv } from '../csv-writer.js';
import { file, open, type ReadOptions, read, readText } from '../reading.js';

const rules = (some: Partial<MappingRules>): { rules: MappingRules } => ({ rules: { ...NO_RULES, ...some } });

const CSV = 'company_id,name,seats,city\nc1,Åsa,5,\nc2,Bo,,Lyon\n';
const JSON_LINES =
  '{"company_id":"c1","name":"Åsa","seats":5}\n{"company_id":"c2","metadata":{"name":"Bo","city":null}}\n';

describe('rules', () => {
  it.each<[what: string, some: Partial<MappingRules>, c1: object | undefined, c2: object | undefined]>([
    ['none', {}, { name: 'Åsa', seats: 5 }, { name: 'Bo', city: 'Lyon' }],
    ['--map', { map: [['name', 'title']] }, { title: 'Åsa', seats: 5 }, { title: 'Bo', city: 'Lyon' }],
    [
      '--map swaps',
      {
        map: [
          ['name', 'city'],
          ['city', 'name'],
        ],
      },
      { city: 'Åsa', seats: 5 },
      { city: 'Bo', name: 'Lyon' },
    ],
    ['--include', { include: ['seats'] }, { seats: 5 }, undefined],
    ['--include with the identifier', { include: ['company_id', 'name'] }, { name: 'Åsa' }, { name: 'Bo' }],
    ['--exclude', { exclude: ['seats', 'name'] }, undefined, { city: 'Lyon' }],
    [
      '--set',
      {
        set: [
          ['plan', 'pro'],
          ['n', '7'],
        ],
      },
      { name: 'Åsa', seats: 5, plan: 'pro', n: 7 },
      { name: 'Bo', city: 'Lyon', plan: 'pro', n: 7 },
    ],
    ['--set over a column', { set: [['name', 'X']] }, { seats: 5, name: 'X' }, { city: 'Lyon', name: 'X' }],
    [
      '--set with a type',
      { set: [['n', '7']], types: [['n', 'string']] },
      { name: 'Åsa', seats: 5, n: '7' },
      { name: 'Bo', city: 'Lyon', n: '7' },
    ],
    [
      '--set of text alone',
      {
        set: [
          ['zip', '02139'],
          ['empty', ''],
        ],
      },
      { name: 'Åsa', seats: 5, zip: '02139', empty: '' },
      { name: 'Bo', city: 'Lyon', zip: '02139', empty: '' },
    ],
    ['--type', { types: [['seats', 'string']] }, { name: 'Åsa', seats: '5' }, { name: 'Bo', city: 'Lyon' }],
    ["--type '*=string'", { infer: false }, { name: 'Åsa', seats: '5' }, { name: 'Bo', city: 'Lyon' }],
    [
      "--type '*=string', one inferred",
      { infer: false, types: [['seats', 'auto']] },
      { name: 'Åsa', seats: 5 },
      { name: 'Bo', city: 'Lyon' },
    ],
    [
      "--type '*=string' and --set",
      { infer: false, set: [['n', '7']] },
      { name: 'Åsa', seats: '5', n: '7' },
      { name: 'Bo', city: 'Lyon', n: '7' },
    ],
    [
      '--empty null',
      { empty: 'null' },
      { name: 'Åsa', seats: 5, city: null },
      { name: 'Bo', seats: null, city: 'Lyon' },
    ],
    [
      '--empty string',
      { empty: 'string' },
      { name: 'Åsa', seats: 5, city: '' },
      { name: 'Bo', seats: '', city: 'Lyon' },
    ],
  ])('%s', async (_, some, c1, c2) => {
    const { items, scan, texts } = await readText('a.csv', CSV, rules(some));
    const expected = [['c1', c1] as const, ['c2', c2] as const].map(([company_id, metadata]) =>
      metadata ? { company_id, metadata } : { company_id },
    );
    expect(items).toEqual(expected);
    expect(scan.bytes).toBe(Buffer.byteLength(texts.join('')));
    expect(scan.sample).toEqual(expected[0]);
  });

  it.each<[what: string, some: Partial<MappingRules>, c1: object | undefined, c2: object | undefined]>([
    ['none', {}, { name: 'Åsa', seats: 5 }, { name: 'Bo', city: null }],
    [
      '--map, flat and nested',
      { map: [['name', 'title']] },
      { title: 'Åsa', seats: 5 },
      { title: 'Bo', city: null },
    ],
    ['--include', { include: ['seats'] }, { seats: 5 }, undefined],
    ['--exclude', { exclude: ['city', 'seats'] }, { name: 'Åsa' }, { name: 'Bo' }],
    ['--set over a field', { set: [['name', 'X']] }, { seats: 5, name: 'X' }, { city: null, name: 'X' }],
    ['--empty is of cells alone', { empty: 'string' }, { name: 'Åsa', seats: 5 }, { name: 'Bo', city: null }],
  ])('of JSON items: %s', async (_, some, c1, c2) => {
    const { items } = await readText('a.ndjson', JSON_LINES, rules(some));
    const expected = [['c1', c1] as const, ['c2', c2] as const].map(([company_id, metadata]) =>
      metadata ? { company_id, metadata } : { company_id },
    );
    expect(items).toEqual(expected);
  });

  it('keeps columns of the prototype apart from the object', async () => {
    const { texts } = await readText('a.csv', 'company_id,a\nc1,5\n', {
      ...rules({ map: [['a', '__proto__']], set: [['constructor', 'x']] }),
    });
    expect(texts).toEqual(['{"company_id":"c1","metadata":{"__proto__":5,"constructor":"x"}}']);
  });

  it('a pinned type rejects the rows whose cell does not fit', async () => {
    const { items, reasons, scan } = await readText(
      'a.csv',
      'company_id,n,b\nc1,5,TRUE\nc2,x,false\nc3,,maybe\nc4,,\n',
      rules({
        types: [
          ['n', 'integer'],
          ['b', 'boolean'],
        ],
      }),
    );
    expect(items).toEqual([{ company_id: 'c1', metadata: { n: 5, b: true } }, { company_id: 'c4' }]);
    expect(reasons).toEqual([
      '3: n: "x" is not of type integer: "x" is in the way',
      '4: b: "maybe" is not of type boolean',
    ]);
    expect(scan.columns.map(({ type, reason }) => [type, reason])).toEqual([
      ['string', 'the identifier'],
      ['integer', 'pinned'],
      ['boolean', 'pinned'],
    ]);
  });

  it('two JSON fields of one key reject the row that has both', async () => {
    const { items, reasons } = await readText(
      'a.ndjson',
      '{"company_id":"a","n":1,"m":2}\n{"company_id":"b","n":1}\n{"company_id":"c","metadata":{"m":2}}\n',
      rules({ map: [['m', 'n']] }),
    );
    expect(reasons).toEqual(['1: two fields both map to the key "n"']);
    expect(items).toEqual([
      { company_id: 'b', metadata: { n: 1 } },
      { company_id: 'c', metadata: { n: 2 } },
    ]);
  });

  it('a pinned type of a JSON field checks it', async () => {
    const { reasons } = await readText(
      'a.ndjson',
      '{"company_id":"a","n":1}\n{"company_id":"b","n":1.5}\n{"company_id":"c","n":"1,5"}\n{"company_id":"d","n":null}\n',
      rules({ types: [['n', 'integer']] }),
    );
    expect(reasons).toEqual([
      '2: n: 1.5 is not of type integer',
      '3: n: "1,5" is not of type integer: "," is in the way',
    ]);
  });
});

describe('flags that do not fit the input', () => {
  const CASES: [what: string, options: ReadOptions, message: RegExp, hint: RegExp][] = [
    [
      '--map',
      rules({ map: [['nmae', 'x']] }),
      /^map: .*a\.csv has no column "nmae"$/,
      /^did you mean "name"\?$/,
    ],
    [
      '--include',
      rules({ include: ['zzz'] }),
      /^include: .* no column "zzz"$/,
      /^its columns are company_id, name, seats, city$/,
    ],
    ['--exclude', rules({ exclude: ['Seats '] }), /^exclude: .* no column "Seats "$/, /"seats"/],
    ['--type', rules({ types: [['sets', 'integer']] }), /^types: .* no column "sets"$/, /"seats"/],
    ['--id', { id: 'compny_id' }, /^id: .* no column "compny_id"$/, /"company_id"/],
    [
      '--company-id',
      { kind: 'users', id: 'name', companyId: 'compny_id' },
      /^company_id: .* no column/,
      /"company_id"/,
    ],
    [
      'two columns of one key',
      rules({ map: [['city', 'name']] }),
      /^columns "name" and "city" both map to the key "name"$/,
      /exclude one of them/,
    ],
    [
      '--map onto the identifier',
      rules({ map: [['name', 'company_id']] }),
      /^map: "company_id" is the identifier/,
      /name the identifier's column/,
    ],
    [
      '--set of the identifier',
      rules({ set: [['company_id', 'x']] }),
      /^set: "company_id" is the identifier/,
      /name the identifier's column/,
    ],
    [
      '--map of the identifier',
      rules({ map: [['company_id', 'x']] }),
      /^map: company_id: it is the identifier/,
      /name another identifier/,
    ],
    [
      '--exclude of the identifier',
      rules({ exclude: ['company_id'] }),
      /^exclude: company_id: it is the identifier/,
      /name another identifier/,
    ],
    [
      '--type of the identifier',
      rules({ types: [['company_id', 'integer']] }),
      /^types: company_id: an identifier is always text/,
      /name another identifier/,
    ],
    ['--delimiter', { delimiter: 'a\nb' }, /^delimiter: "a\\nb" cannot separate cells$/, /tab/],
    ['--delimiter of a quote', { delimiter: '"' }, /^delimiter: "\\"" contains the quote$/, /tab/],
  ];
  it.each(CASES)('%s', async (_, options, message, hint) => {
    const error: unknown = await open(file('a.csv', CSV), options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProfilesError);
    const { exit, ...told } = error as ProfilesError;
    expect([(error as ProfilesError).message, told.hint, exit]).toEqual([
      expect.stringMatching(message),
      expect.stringMatching(hint),
      2,
    ]);
  });

  it('a field that no JSON item has is told once all are read', async () => {
    await expect(readText('a.ndjson', JSON_LINES, rules({ exclude: ['ctiy'] }))).rejects.toMatchObject({
      message: expect.stringMatching(/^exclude: .*a\.ndjson has no column "ctiy"$/),
      hint: 'did you mean "city"?',
    });
    await expect(readText('a.ndjson', JSON_LINES, rules({ exclude: ['city'] }))).resolves.toBeDefined();
  });

  it('--set of a value that its --type does not take', async () => {
    // Already when it is opened: a thread could not tell it as the user's mistake.
    await expect(
      open(file('a.csv', CSV), rules({ set: [['n', 'x']], types: [['n', 'integer']] })),
    ).rejects.toMatchObject({
      message: 'n: the value "x" is not of type integer',
      hint: 'change the value, or leave the type out',
    });
  });
});

describe('kind and identifier', () => {
  it.each<[what: string, header: string, options: ReadOptions, expected: object]>([
    ['company_id', 'company_id,a', {}, { kind: 'companies', idColumn: 'company_id', companyIdColumn: null }],
    ['user_id', 'a,user_id', {}, { kind: 'users', idColumn: 'user_id', companyIdColumn: null }],
    ['both', 'company_id,user_id', {}, { kind: 'users', idColumn: 'user_id', companyIdColumn: 'company_id' }],
    [
      '--kind over columns',
      'company_id,user_id',
      { kind: 'companies' },
      { kind: 'companies', idColumn: 'company_id', companyIdColumn: null },
    ],
    [
      '--id',
      'Symbol,company_id',
      { id: 'Symbol' },
      { kind: 'companies', idColumn: 'Symbol', companyIdColumn: null },
    ],
    [
      '--company-id',
      'user_id,Account',
      { companyId: 'Account' },
      { kind: 'users', idColumn: 'user_id', companyIdColumn: 'Account' },
    ],
    [
      'one column for both',
      'company_id',
      { kind: 'users', id: 'company_id' },
      { kind: 'users', idColumn: 'company_id', companyIdColumn: null },
    ],
  ])('%s', async (_, header, options, expected) => {
    expect(await open(file('a.csv', `${header}\n`), options)).toMatchObject(expected);
    const item = Object.fromEntries(header.split(',').map((column) => [column, 'x']));
    expect(await open(file('a.json', JSON.stringify([item])), options)).toMatchObject(expected);
  });

  it("a user's empty company is left out; the identifier is not", async () => {
    const { items } = await readText(
      'a.csv',
      'user_id,company_id,n\nu1,c1,1\nu2,,2\n',
      rules({ empty: 'null' }),
    );
    expect(items).toEqual([
      { user_id: 'u1', company_id: 'c1', metadata: { n: 1 } },
      { user_id: 'u2', metadata: { n: 2 } },
    ]);
  });

  it("a company's user_id is metadata, and inside metadata company_id is a key like others", async () => {
    const { texts } = await readText('a.csv', 'company_id,user_id\nc1,u1\n', { kind: 'companies' });
    expect(texts).toEqual(['{"company_id":"c1","metadata":{"user_id":"u1"}}']);
    const nested = '[{"company_id":"c1","metadata":{"company_id":5,"metadata":{"a":1}}}]';
    expect((await readText('a.json', nested)).texts).toEqual([
      '{"company_id":"c1","metadata":{"company_id":5,"metadata":{"a":1}}}',
    ]);
  });
});

describe('a metadata column', () => {
  it('gives way to --set', async () => {
    const csv = 'company_id,metadata\nc1,"{""plan"":1,""x"":2}"\n';
    expect((await readText('a.csv', csv, rules({ set: [['plan', 'pro']] }))).items).toEqual([
      { company_id: 'c1', metadata: { x: 2, plan: 'pro' } },
    ]);
  });

  const twice = [
    ['company_id', 'name', 'metadata'],
    ['c1', 'A', '{"name":"B","x":2}'],
    ['c2', '', '{"name":"B"}'],
    ['c3', 'C', ''],
    ['c4', '', '{"a":1,"a":2}'],
  ];
  const BOTH = '2: "name" appears both beside metadata and inside it';
  const REPEATED = '5: metadata: the key "a" appears twice';
  it.each<[string, () => string | Uint8Array]>([
    ['a.csv', () => writeCsv(twice, { delimiter: ',', ends: ['\n'] }).text],
    ['a.xlsx', () => workbook(twice)],
  ])('%s: a row that would have a key twice is rejected', async (name, content) => {
    const { items, reasons, rejected } = await read(file(name, content()));
    expect(items).toEqual([
      { company_id: 'c2', metadata: { name: 'B' } },
      { company_id: 'c3', metadata: { name: 'C' } },
    ]);
    expect(reasons).toEqual([BOTH, REPEATED]);
    expect(rejected.map(({ line, reason }) => `${line}: ${reason}`)).toEqual(reasons);
  });

  it.each<[what: string, csv: string, some: Partial<MappingRules>, reason: string]>([
    [
      'an empty cell that is sent',
      'company_id,name,metadata\nc1,,"{""name"":""B""}"\n',
      { empty: 'null' },
      '2: "name" appears both beside metadata and inside it',
    ],
    [
      'a column under another key',
      'company_id,Firm,metadata\nc1,A,"{""name"":""B""}"\n',
      { map: [['Firm', 'name']] },
      '2: "name" appears both beside metadata (column "Firm") and inside it',
    ],
    [
      'names in one style',
      'company_id,Full Name,metadata\nc1,A,"{""fullName"":""B""}"\n',
      { keys: 'snake_case' },
      '2: "full_name" appears both beside metadata (column "Full Name") and inside it',
    ],
  ])('a key that a row would have twice: %s', async (_, csv, some, reason) => {
    const { items, reasons } = await readText('a.csv', csv, rules(some));
    expect([items, reasons]).toEqual([[], [reason]]);
  });

  it('is an ordinary column under another key', async () => {
    const csv = 'company_id,metadata\nc1,not json\n';
    expect((await readText('a.csv', csv, rules({ map: [['metadata', 'notes']] }))).items).toEqual([
      { company_id: 'c1', metadata: { notes: 'not json' } },
    ]);
  });
});

describe('rules of file and flags', () => {
  it('a flag wins for its column; --include replaces, --exclude adds', () => {
    const merged = mergeRules(
      {
        map: [
          ['a', 'x'],
          ['b', 'y'],
        ],
        include: ['a'],
        exclude: ['c'],
        types: [['a', 'integer']],
        infer: false,
        empty: 'null',
      },
      { map: [['b', 'z']], include: ['b'], exclude: ['d', 'c'], set: [['k', 'v']], empty: 'string' },
    );
    expect(merged).toEqual({
      ...NO_RULES,
      map: [
        ['a', 'x'],
        ['b', 'z'],
      ],
      include: ['b'],
      exclude: ['c', 'd'],
      set: [['k', 'v']],
      types: [['a', 'integer']],
      infer: false,
      empty: 'string',
    });
  });

  it('of nothing are none', () => {
    expect(mergeRules({}, {})).toEqual(NO_RULES);
  });
});
