/** Workbooks and Parquet files that other programs wrote, held against values written by hand. */
import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProfilesError } from '../../../src/engine/errors.js';
import {
  buildItems,
  type ItemBatch,
  type OpenedInput,
  Pool,
  readRows,
} from '../../../src/engine/read/index.js';
import { ArrowColumns, formOf } from '../../../src/engine/read/parquet/arrow.js';
import {
  type FileColumn,
  openParquet,
  type ParquetFile,
  stepOf,
} from '../../../src/engine/read/parquet/file.js';
import { ColumnPages } from '../../../src/engine/read/parquet/pages.js';
import { readRecords } from '../../../src/engine/read/records.js';
import { scratch } from '../../support/cli.js';
import { FIXTURES, file, HERE, KEY, open, type ReadOptions, read } from './reading.js';

const FOLDER = `${FIXTURES}columnar`;
const reading = (name: string, options: ReadOptions = {}) => read(name, { cwd: FOLDER, ...options });
const errorOf = (promise: Promise<unknown>): Promise<ProfilesError> =>
  promise.then(
    () => expect.unreachable('it was read'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ProfilesError);
      return error as ProfilesError;
    },
  );

describe('workbooks', () => {
  it('a sheet without identifiers is an error that names the other sheets', async () => {
    const error = await errorOf(reading('people.xlsx', { kind: 'companies' }));
    const otherwise = { kind: 'companies' };
    expect(error.problem).toMatchObject({ code: 'rows_in_sheet', sheets: ['Companies 2024'], otherwise });
    const { problem } = await errorOf(reading('people.xlsx', { kind: 'companies', sheet: '1' }));
    expect(problem?.code).toBe('no_identifier');
  });

  it('rows are found again by their numbers', async () => {
    const input = await open('people.xlsx', { cwd: FOLDER });
    const found = [];
    for await (const { line, original } of readRows(input, [2])) found.push([line, original]);
    expect(found).toMatchObject([[5, { cells: expect.arrayContaining(['u4']) }]]);
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

  it.each(['steps', 'steps-indexed'])('%s: rows that are decoded in several steps', async (name) => {
    const { items, lines } = await reading(`${name}.parquet`);
    const expected = Array.from({ length: 70_001 }, (_, n) => ({
      company_id: `c${n}`,
      metadata: { n, ...(n % 5 > 0 && { tier: `tier ${n % 7}` }), tags: n % 3 > 0 ? [] : [n % 9] },
    }));
    expect(lines.length).toBe(expected.length);
    expect(JSON.stringify(items) === JSON.stringify(expected)).toBe(true);
  });

  it('numbers that the library would misread are refused', async () => {
    // DuckDB: COPY (SELECT 'c' || i AS company_id, (2500000000 + i)::UINTEGER AS seats FROM range(20) r(i))
    // TO 'unsigned.parquet' (PARQUET_VERSION V2)
    const bytes = [
      'UEFSMRUAFcwBFZQBLBUoFQwVBhUGAABmNAIAAAAoAYAQCBQEAAEADQEBFWoBAMRjMGMxYzJjM2M0YzVjNmM3YzhjOWMxMGMx',
      'MWMxMmMxM2MxNGMxNWMxNmMxN2MxOGMxORUAFTAVNCwVKBUKFQYVBgAAGFwCAAAAKAGAEAgUgOSX0BICAAAAAAAAAAAVBBk8',
      'NQAYDWR1Y2tkYl9zY2hlbWEVBAAVDCUCGApjb21wYW55X2lkJQAAFQIlAhgFc2VhdHMlGgAWKBkcGSwmABwVDBkVDBkYCmNv',
      'bXBhbnlfaWQVAhYoFvIBFroBJgg8GAJjORgCYzAWACgCYzkYAmMwEREAAAAmABwVAhkVChkYBXNlYXRzFQIWKBZSFlYmwgE8',
      'NgAoBBP5ApUYBAD5ApUREQAAABbEAhYoJggWkAIAKChEdWNrREIgdmVyc2lvbiB2MS41LjYgKGJ1aWxkIDA2OWNjOWY5YjUp',
      'GSwcAAAcAAAA5QAAAFBBUjE=',
    ].join('');
    const path = join(scratch(), 'unsigned.parquet');
    writeFileSync(path, Buffer.from(bytes, 'base64'));
    const error = await errorOf(read(path));
    expect(error.message).toMatch(/unsigned\.parquet: the numbers of the column seats cannot be read$/);
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
      const pass = { hashKey: KEY, pool: HERE, planned: scan };
      for await (const _ of buildItems(input, scan.schema, pass)) expect.unreachable('an item was made');
    };
    expect((await errorOf(again())).message).toMatch(/changed while it was being imported/);
  },
);

it('a Parquet file that changes while its rows are read is refused at its end', async () => {
  const path = join(scratch(), 'types.parquet');
  copyFileSync(join(FOLDER, 'types.parquet'), path);
  const rows = readRecords(await open(path))[Symbol.asyncIterator]();
  await rows.next();
  utimesSync(path, 0, 0);
  expect((await errorOf(rows.next())).message).toMatch(/changed while it was being imported/);
});

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

  it.each([
    ['one more', 0x82],
    ['less than none', 0x81],
  ])('refuse a file whose first row group says that it has %s', async (_, byte) => {
    const path = join(scratch(), 'counts.parquet');
    const bytes = readFileSync(join(FOLDER, 'snappy.parquet'));
    expect([...bytes.subarray(65_616, 65_619)]).toEqual([0x16, 0x80, 0x20]); // its rows: 2,048, twice
    bytes[65_617] = byte;
    writeFileSync(path, bytes);
    expect((await errorOf(open(path))).message).toBe(
      `${path}: the Parquet file is damaged: its numbers of rows do not fit together`,
    );
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

const UNREADABLE = ['cut-off.parquet', 'hollow.parquet', 'not-utf-8.parquet'];
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.parquet') && !UNREADABLE.includes(name));
const SCRIPT = new URL('../../../dist/arrow-worker.cjs', import.meta.url);

const shown = (value: unknown): string => {
  if (value instanceof Uint8Array) return `text ${Buffer.from(value)}`;
  return Object.is(value, -0) ? '-0' : String(value);
};

interface Reading {
  /** Rows that each group has not. */
  more?: bigint;
  script?: URL;
}

/** By column, its first values as parquet-wasm reads them, in groups so large that they are decoded in several steps. */
async function byArrow(
  name: string,
  file: ParquetFile,
  { more = 0n, script = SCRIPT }: Reading = {},
): Promise<string[][]> {
  const fd = openSync(join(FOLDER, name), 'r');
  const groups = file.groups.map((group) => ({
    ...group,
    num_rows: group.num_rows + more,
    total_byte_size: 1n << 28n,
    columns: group.columns.map((chunk) => {
      const meta = chunk.meta_data!;
      return { ...chunk, meta_data: { ...meta, num_values: meta.num_values + more } };
    }),
  }));
  const arrow = new ArrowColumns({ ...file, fd, groups }, () => true, script);
  const found = file.columns.map((): string[] => []);
  const unread = new Set<number>();
  for (const group of groups) {
    const [rows, step] = [Number(group.num_rows), stepOf(group)];
    for (let first = 0; first < rows; first += step) {
      for (const [column, values] of (await arrow.next()).columns.entries()) {
        if (values === null) unread.add(column);
        for (let row = 0; row < Math.min(step, rows - first) && !unread.has(column); row++)
          found[column]!.push(values!.isNull?.(row) ? 'null' : shown(values!.value(row)));
      }
    }
  }
  await arrow.close();
  closeSync(fd);
  return found;
}

async function byPages(file: ParquetFile, column: FileColumn): Promise<string[]> {
  const found: string[] = [];
  for (const group of file.groups) {
    const pages = new ColumnPages(file, column, group);
    for (let first = 0; first < Number(group.num_rows); ) {
      const { count, value } = await pages.from(first);
      for (let row = 0; row < count; row++) found.push(shown(value(row)));
      first += count;
    }
  }
  return found;
}

it('both libraries read the same values, and of each type that both have', async () => {
  const types = new Set<string>();
  for (const name of FILES) {
    const file = await openParquet(await open(name, { cwd: FOLDER, kind: 'companies', id: 'company_id' }));
    const all = await byArrow(name, file);
    for (const [at, column] of file.columns.entries()) {
      if (!column.isFlat || formOf(column.node.element) === null) continue;
      const [found, expected] = [all[at]!, await byPages(file, column)];
      expect([name, column.name, found]).toEqual([name, column.name, expected.slice(0, found.length)]);
      if (found.length === 0 || found.length < expected.length) continue; // another form, or another encoding
      const { logical_type, type } = column.node.element;
      types.add(`${type} ${logical_type?.type ?? ''}`.trim());
    }
    await file.close();
  }
  expect([...types].sort()).toEqual([
    ...['BOOLEAN', 'BYTE_ARRAY', 'BYTE_ARRAY STRING', 'DOUBLE', 'FLOAT', 'INT32', 'INT32 DATE', 'INT64'],
    ...['INT64 TIME', 'INT64 TIMESTAMP'],
  ]);
});

it('hyparquet goes on at any row, also at the last one of a page', async () => {
  const file = await openParquet(await open('steps.parquet', { cwd: FOLDER }));
  onTestFinished(() => file.close());
  const [column, group] = [file.columns[0]!, file.groups[0]!];
  const { count } = await new ColumnPages(file, column, group).from(0);
  expect(count).toBeLessThan(Number(group.num_rows));
  for (const first of [count - 1, count, count + 1, 1]) {
    const { value } = await new ColumnPages(file, column, group).from(first);
    expect(shown(value(0))).toBe(`text c${first}`);
  }
});

it('a column that is not where it should be is left to hyparquet, which says so', async () => {
  const file = await openParquet(await open('steps.parquet', { cwd: FOLDER }));
  onTestFinished(() => file.close());
  const groups = file.groups.map((group) => {
    const [first, second, ...others] = group.columns;
    return { ...group, columns: [second!, first!, ...others] };
  });
  const [ids, numbers] = await byArrow('steps.parquet', { ...file, groups });
  expect([ids, numbers]).toEqual([[], []]);
  expect(() => new ColumnPages(file, file.columns[0]!, groups[0]!)).toThrow(
    'the column company_id is missing',
  );
});

it('a row group with fewer or more values than the file says is left to hyparquet before the last ones', async () => {
  const file = await openParquet(await open('snappy.parquet', { cwd: FOLDER }));
  onTestFinished(() => file.close());
  const expected = await byPages(file, file.columns[0]!);
  const [found] = await byArrow('snappy.parquet', file, { more: 100n });
  expect(found).toEqual(expected.slice(0, 2040)); // 2,048 of 2,148 rows, 68 at a time
  const [fewer] = await byArrow('snappy.parquet', file, { more: -100n });
  expect(fewer).toEqual(expected.slice(0, 1891)); // 2,048 of 1,948 rows, 61 at a time
});

it.each([
  ['fails', 'throw new Error()'],
  ['ends', ''],
])('a thread that %s leaves the values to hyparquet', async (_, code) => {
  const script = join(scratch(), 'ends.cjs');
  writeFileSync(script, code);
  const file = await openParquet(await open('steps.parquet', { cwd: FOLDER }));
  onTestFinished(() => file.close());
  const found = await byArrow('steps.parquet', file, { script: pathToFileURL(script) });
  expect(found).toEqual(file.columns.map(() => []));
});

it('steps that arrive after the error of their thread are not taken for later ones', async () => {
  const script = join(scratch(), 'late.cjs');
  writeFileSync(
    script,
    `const { parentPort } = require('node:worker_threads');
    setTimeout(() => {
      for (const text of ['a', 'b', 'c']) {
        const memory = new ArrayBuffer(16);
        new Uint32Array(memory, 0, 2).set([0, 1]);
        new Uint8Array(memory, 8).set(Buffer.from(text));
        const parts = [null, { start: 0, bytes: 8 }, { start: 8, bytes: 1 }];
        parentPort.postMessage({ memory, columns: [parts] }, [memory]);
      }
      throw new Error();
    }, 500);`,
  );
  const file = await openParquet(await open('steps.parquet', { cwd: FOLDER }));
  onTestFinished(() => file.close());
  const arrow = new ArrowColumns(file, () => true, pathToFileURL(script));
  onTestFinished(() => arrow.close());
  const first = arrow.next();
  await setTimeout(300);
  // The thread sends, and ends, while this one is busy.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
  const found: string[] = [];
  for (const next of [first, null, null, null, null]) {
    const { columns } = await (next ?? arrow.next());
    found.push(columns[0] ? shown(columns[0].value(0)) : 'none');
    await setTimeout(20);
  }
  const texts = found.filter((text) => text !== 'none');
  expect(texts).toEqual(['text a', 'text b', 'text c'].slice(0, texts.length));
  expect(found.slice(texts.length).every((text) => text === 'none')).toBe(true);
});
