/** Rows of Parquet become the items that the same objects in JSON Lines become, although most of their cells are only copied. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type MappingRules, NO_RULES, readRows } from '../../../src/engine/read/index.js';
import { ParquetWriter } from '../../../src/engine/read/parquet/writer.js';
import { AS_JSON, type CellColumn, CellLists, type Rows } from '../../../src/engine/read/rows.js';
import { Output } from '../../../src/engine/read/text/bytes.js';
import { FIXTURES, file, open, type Reading, type ReadOptions, read } from './reading.js';

const FOLDER = `${FIXTURES}columnar`;
const FILES = ['flat.parquet', 'types.parquet', 'snappy.parquet'];

const RULES: [string, Partial<MappingRules>][] = [
  ['no rules', {}],
  [
    'constants',
    {
      set: [
        ['name', '"always"'],
        ['day', '1'],
      ],
    },
  ],
  ['texts that mean nothing', { nulls: ['Infinity', 'first', '2024-02-29'] }],
  ['trimmed texts', { trim: true }],
  [
    'several columns for one key',
    {
      map: [
        ['name', 'n'],
        ['whole', 'n'],
        ['day', 'n'],
        ['flag', 'n'],
      ],
    },
  ],
  [
    'texts as numbers',
    {
      types: [
        ['name', 'number'],
        ['flag', 'boolean'],
        ['tier', 'string'],
      ],
    },
  ],
];

/** Rules for columns that the file has. */
function rulesFor(columns: readonly string[], rules: Partial<MappingRules>): MappingRules {
  const own = Object.entries(rules).map(([rule, value]) => [
    rule,
    rule === 'map' || rule === 'types'
      ? (value as readonly (readonly [string, string])[]).filter(([column]) => columns.includes(column))
      : value,
  ]);
  return { ...NO_RULES, ...Object.fromEntries(own) };
}

it.each(FILES.flatMap((name) => RULES.map(([called, rules]) => [name, called, rules] as const)))(
  '%s with %s',
  async (name, _, rules) => {
    const input = await open(name, { cwd: FOLDER });
    const rows: string[] = [];
    for await (const { original } of readRows(
      input,
      Array.from({ length: 3000 }, (_, row) => row),
    ))
      rows.push((original as { item: string }).item);
    expect(rows.length).toBeGreaterThan(1);
    const options: ReadOptions = { kind: input.kind, rules: rulesFor(input.columns, rules) };
    const found = await read(name, { ...options, cwd: FOLDER });
    const expected = await read(file('same.ndjson', `${rows.join('\n')}\n`), options);
    expect(found.texts).toEqual(expected.texts);
    expect(found.reasons).toEqual(expected.reasons);
    // A column of nulls is in no item, the order may differ, and what is a line there is a row here.
    const columnsOf = ({ scan }: Reading) =>
      Object.fromEntries(
        scan.columns
          .filter(({ reason }) => reason !== 'only null')
          .map((plan) => [plan.column, { ...plan, reason: plan.reason.replace(/^line/, 'row') }]),
      );
    expect(columnsOf(found)).toEqual(columnsOf(expected));
  },
);

/** A batch of texts, which JSON must not escape, or with objects in columns that have `json`. */
function batchOf(columns: readonly (readonly string[])[], json: readonly boolean[]): Rows {
  const cells = columns.map((texts, at): CellColumn => {
    const kinds = json[at] ? Uint8Array.from(texts, () => AS_JSON) : null;
    const starts = Uint32Array.from([0, ...texts].map((_, n) => texts.slice(0, n).join('').length));
    return { bytes: Uint8Array.from(Buffer.from(texts.join(''))), starts, kinds };
  });
  const lines = Uint32Array.from(columns[0]!, (_, row) => row + 1);
  const none = new CellLists(0).take();
  return { bytes: new Uint8Array(0), ...none, width: columns.length, cells, lines, first: 0 };
}

it('a key beside metadata and inside it is found, also after so many others that they are forgotten', async () => {
  const rows = 3000;
  const input = {
    ...(await open('snappy.parquet', { cwd: FOLDER })),
    columns: ['company_id', 'plan', 'metadata'],
  };
  const writer = new ParquetWriter(input);
  const objects = Array.from({ length: rows }, (_, row) => {
    const keys = Array.from({ length: 8 }, (_, at) => [`key ${row} ${at}`, at]);
    return JSON.stringify(Object.fromEntries([...keys, ...(row % 2 ? [['plan', 'b']] : [])]));
  });
  const ids = objects.map((_, row) => `c${row}`);
  const isObject = [false, false, true];
  writer.begin(batchOf([ids, ids.map(() => 'a'), objects], isObject));
  const refusals = ids.map((_, row) => writer.write(row, new Output(0)));
  const expected = '"plan" appears both beside metadata and inside it';
  expect(refusals).toEqual(ids.map((_, row) => (row % 2 ? expected : null)));
});

const written = (value: number): string => {
  const out = new Output(0);
  out.writeNumber(value);
  return out.bytes.toString('latin1', 0, out.length);
};

it('numbers are written as `String` writes them', () => {
  const short = fc
    .tuple(
      fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
      fc.constantFrom(1, 10, 100, 1000, 10_000, 1e-3, 1e9),
    )
    .map(([digits, scale]) => digits / scale);
  const near = fc
    .constantFrom(1e9, 1e15, 2 ** 31, 2 ** 53, 1e21, 0.001, 1e-7)
    .chain((edge) =>
      fc.constantFrom(-1, -0.001, 0, 0.001, 1).map((step) => edge + step * Math.max(1, edge * 2 ** -52)),
    );
  const examples = [
    0,
    -0,
    0.1 + 0.2,
    1.005,
    -0.5,
    0.0005,
    999_999_999.999,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ];
  fc.assert(
    fc.property(fc.oneof(short, near, fc.double()), (value) => {
      expect(written(value)).toBe(String(value));
    }),
    { numRuns: 3000, examples: examples.map((example) => [example]) },
  );
});
