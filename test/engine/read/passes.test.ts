/** The two passes: what the plan counts is what is built, and single rows are found again. Long because both formats go through the same properties. */
import { createHash } from 'node:crypto';
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  buildItems,
  type ItemBatch,
  idHashes,
  itemIn,
  type MappingRules,
  type OpenedInput,
  Pool,
  readRows,
  type Schema,
} from '../../../src/engine/read/index.js';
import { MOST_LEVELS } from '../../../src/engine/read/wording.js';
import { collected } from '../../support/collected.js';
import { times } from '../../support/times.js';
import { writeCsv } from './csv-writer.js';
import { file, HERE, KEY, open, type Reading, read, readText, scanned } from './reading.js';

const LIMIT = 4 * 1024 * 1024;

const cell = fc.oneof(
  {
    arbitrary: fc.constantFrom(
      '',
      '0',
      '1',
      '-7',
      '1.5',
      '2.50',
      '007',
      'true',
      '{"a":1}',
      '{"b":"é","a":2.5}',
    ),
    weight: 3,
  },
  fc.string({ unit: fc.constantFrom('a', 'é', '株', '😀', '"', '\\', '\n', '\u0001', ',') }),
);
const rows = fc.array(
  fc.record({ id: fc.constantFrom('', 'c1', 'c2', 'é"\\'), a: cell, b: cell, c: cell, metadata: cell }),
  {
    maxLength: 8,
  },
);
const someRules = fc.record<MappingRules>({
  map: fc.constantFrom([], [['a', 'é"']] as const, [['b', 'a2']] as const),
  include: fc.constantFrom([], ['a', 'metadata'], ['b']),
  exclude: fc.constantFrom([], ['c']),
  set: fc.constantFrom(
    [],
    [['a', '5']] as const,
    [
      ['k', 'x"'],
      ['z', '1.50'],
    ] as const,
  ),
  types: fc.constantFrom(
    [],
    [['c', 'string']] as const,
    [['c', 'number']] as const,
    [['c', 'boolean']] as const,
  ),
  infer: fc.boolean(),
  empty: fc.constantFrom('omit', 'null', 'string'),
});
const limit = fc.constantFrom(LIMIT, 30, 45, 60, 80);
const companyIsIn = fc.boolean();

describe('for any rows, rules and limits', () => {
  it('CSV: bytes, rejections and ids of the plan are those of the items', async () => {
    await fc.assert(
      fc.asyncProperty(rows, someRules, limit, companyIsIn, async (table, rules, itemLimitBytes, users) => {
        const header = [users ? 'user_id' : 'company_id', 'a', 'b', 'c', 'metadata'];
        const kind = users ? ('users' as const) : ('companies' as const);
        const { text } = writeCsv([header, ...table.map((row) => Object.values(row))], {
          delimiter: ',',
          ends: ['\n'],
        });
        const options = { kind, rules, itemLimitBytes, ...(users ? { companyId: 'b' } : {}) };
        fc.pre(!users || ![...rules.include, ...rules.map.map(([column]) => column)].includes('b'));
        await agree(file('a.csv', text), options);
      }),
      { numRuns: times(30) },
    );
  });

  it('JSON: likewise', async () => {
    const item = fc.record(
      {
        company_id: fc.oneof(fc.constantFrom('c1', 'c2', 'é"'), fc.jsonValue()),
        a: fc.jsonValue(),
        metadata: fc.jsonValue(),
      },
      { requiredKeys: ['company_id'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(item, fc.jsonValue())), limit, async (items, itemLimitBytes) => {
        await agree(file('a.json', JSON.stringify(items)), {
          kind: 'companies',
          id: 'company_id',
          itemLimitBytes,
        });
      }),
      { numRuns: times(30) },
    );
  });

  async function agree(path: string, options: Parameters<typeof read>[1] & object): Promise<void> {
    const opened = await open(path, options).catch(() => null);
    fc.pre(opened !== null); // null where the first items had no identifier
    const { itemLimitBytes = LIMIT } = options;
    const ids: bigint[] = [];
    const rejected: number[] = [];
    const scan = await scanned(opened, { itemLimitBytes }, (part) => {
      rejected.push(...part.rejected.map(({ line }) => line));
      ids.push(...part.ids);
    });
    const built: ItemBatch[] = [];
    for await (const batch of buildItems(opened, scan.schema, { hashKey: KEY, pool: HERE }))
      built.push(batch);
    const all = <T>(part: (batch: ItemBatch) => Iterable<T>): T[] =>
      built.flatMap((batch) => [...part(batch)]);
    const texts = built.flatMap(textsOf);
    expect(scan.bytes).toBe(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
    for (const text of texts) {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(Math.min(itemLimitBytes, scan.largestItemBytes));
    }
    expect(scan.rows).toEqual({
      read: all((b) => b.rejected).length + texts.length,
      filtered: 0,
      rejected: rejected.length,
    });
    expect(rejected.sort((a, b) => a - b)).toEqual(all((b) => b.rejected.map(({ line }) => line)));
    expect(ids.sort()).toEqual(all((b) => b.ids).sort());
    const planned = { hashKey: KEY, pool: HERE, planned: scan };
    expect(await collected(buildItems(opened, scan.schema, planned))).toEqual(built);
    expect(scan.sample).toEqual(texts[0] === undefined ? null : JSON.parse(texts[0]));
  }
});

function textsOf(batch: ItemBatch): string[] {
  return Array.from(batch.ends, (_, at) => itemIn(batch, at).toString());
}

/** Rows with a value of so many levels, and after them one without. Brackets in texts are no levels. */
async function readNested(levels: number): Promise<{ json: Reading; csv: Reading; value: string }> {
  const value = `${'["[{",'.repeat(levels - 1)}{}${']'.repeat(levels - 1)}`;
  const json = await readText(
    'a.ndjson',
    `{"company_id":"c1","a":${value}}\n{"company_id":"c2","metadata":{"b":${value}}}\n{"company_id":"c3","a":5}\n`,
  );
  const cell = `{"a":${value}}`.replaceAll('"', '""');
  const csv = await readText('a.csv', `company_id,metadata\nc1,"${cell}"\nc3,\n`);
  return { json, csv, value };
}

const schemaOf = async (opened: OpenedInput): Promise<Schema> =>
  (await scanned(opened, { itemLimitBytes: LIMIT })).schema;

/** Rows of two lines; every seventh has no identifier. Three thousand are several batches. */
function large(rowCount: number): string {
  let text = 'company_id,n,name\n';
  for (let row = 0; row < rowCount; row++) {
    text += `${row % 7 === 6 ? '' : `c${row}`},${row},"${nameOf(row)}"\n`;
  }
  return file('large.csv', text);
}

const nameOf = (row: number): string => `name ${row}\n${'of a company '.repeat(20)}`;

describe('the scan', () => {
  it('knows the digest and size of the file as it stands on disk', async () => {
    for (const path of ['bom.csv', 'gzip.csv.gz', 'windows-1252.csv']) {
      const { scan, input } = await read(`input/${path}`, {
        encoding: path === 'windows-1252.csv' ? 'windows-1252' : undefined,
      });
      const bytes = readFileSync(input.location);
      expect(scan).toMatchObject({
        size: bytes.length,
        digest: createHash('sha256').update(bytes).digest('hex'),
      });
    }
  });

  it.each<[values: unknown[], type: string | null, reason: string]>([
    [['a', 'b', null], 'string', 'the type of its JSON values'],
    [[1, 2, 0.5], 'number', 'the type of its JSON values'],
    [[1, 0.5, 'a'], 'mixed', 'line 3: "a" is text, others are an integer'],
    [[null, null], null, 'only null'],
    [['a', 'b', 5, 'c'], 'mixed', 'line 3: 5 is an integer, others are text'],
    [[null, 'b', 5], 'mixed', 'line 3: 5 is an integer, others are text'],
  ])('says of a JSON field with %j: %s, in one batch and in one for each', async (values, type, reason) => {
    for (const size of [0, 300_000]) {
      const items = values.map((field, n) => ({ company_id: `c${n}`, field, pad: 'x'.repeat(size) }));
      const text = items.map((item) => `${JSON.stringify(item)}\n`).join('');
      const { scan } = await readText('a.ndjson', text);
      expect(scan.columns[1]).toMatchObject({ column: 'field', type, reason });
    }
  });

  it.each([MOST_LEVELS + 1, 10_000, 100_000])(
    'rejects what is nested in %i levels, on every Node',
    async (levels) => {
      const { json, csv } = await readNested(levels);
      const wrong = 'has more than 64 levels';
      expect(json.reasons).toEqual([`1: a ${wrong}`, `2: b ${wrong}`]);
      expect(csv.reasons).toEqual([`2: metadata ${wrong}`]);
      expect(json.items).toEqual([{ company_id: 'c3', metadata: { a: 5 } }]);
      expect(csv.items).toEqual([{ company_id: 'c3' }]);
    },
  );

  it('sends as many levels as are allowed, whole', async () => {
    const { json, csv, value } = await readNested(MOST_LEVELS);
    expect([...json.reasons, ...csv.reasons]).toEqual([]);
    expect(json.texts.slice(0, 2)).toEqual([
      `{"company_id":"c1","metadata":{"a":${value}}}`,
      `{"company_id":"c2","metadata":{"b":${value}}}`,
    ]);
    expect(csv.texts[0]).toBe(`{"company_id":"c1","metadata":{"a":${value}}}`);
  });

  it('names the line of a type in a later batch', async () => {
    let text = 'company_id,n\n';
    for (let row = 0; row < 3_000; row++) text += `${'c'.repeat(200)}${row},${row === 2_900 ? 'x' : row}\n`;
    expect((await readText('a.csv', text)).scan.columns[1]!.reason).toBe('line 2902: "x"');
  });

  it('tells its progress in rows and bytes of the file', async () => {
    const path = large(3_000);
    const opened = await open(path);
    const seen: [number, number][] = [];
    await scanned(opened, {}, ({ soFar }) => seen.push([soFar.rows, soFar.bytes]));
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.at(-1)).toEqual([3_000, opened.stamp.size]);
    expect(seen.map(([, bytes]) => bytes)).toEqual(
      [...new Set(seen.map(([, bytes]) => bytes))].sort((a, b) => a - b),
    );
  });

  it('ends with the reason of the signal', async () => {
    const stop = new AbortController();
    const scanning = scanned(await open(large(3_000)), { signal: stop.signal }, () =>
      stop.abort(new Error('enough')),
    );
    await expect(scanning).rejects.toThrow('enough');
  });

  it('users: gives the companies they name, hashed as company identifiers are', async () => {
    const opened = await open('users.csv');
    const companies: bigint[] = [];
    await scanned(opened, { companies: true }, (part) => companies.push(...part.companies!));
    expect(companies).toHaveLength(11);
    expect(companies[0]).toBe(idHashes(KEY, ['acme-001'])[0]);
  });
});

describe('the build', () => {
  it('numbers items among all rows and says where they began', async () => {
    const opened = await open(large(20));
    const [batch] = await collected(buildItems(opened, await schemaOf(opened), { hashKey: KEY, pool: HERE }));
    expect([...batch!.rows]).toEqual([0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19]);
    expect([...batch!.lines].slice(0, 7)).toEqual([2, 4, 6, 8, 10, 12, 16]);
    expect(
      batch!.rejected.map(({ row, line, reason, original }) => ({ row, line, reason, original })),
    ).toEqual([
      {
        row: 6,
        line: 14,
        reason: 'company_id is empty',
        original: { cells: ['', '6', nameOf(6)] },
      },
      {
        row: 13,
        line: 28,
        reason: 'company_id is empty',
        original: { cells: ['', '13', nameOf(13)] },
      },
    ]);
  });

  it('hashes the content: equal rows are equal, under one key', async () => {
    const first = await hashesOf('company_id,a\nc1,x\nc2,x\n', KEY);
    const second = await hashesOf('company_id,a\nc2,x\nc1,y\n', KEY);
    expect(second.ids).toEqual([first.ids[1], first.ids[0]]);
    expect(second.contents[0]).toBe(first.contents[1]);
    expect(second.contents[1]).not.toBe(first.contents[0]);
    expect(new Set([...first.ids, ...first.contents]).size).toBe(4);
    const other = await hashesOf('company_id,a\nc1,x\nc2,x\n', Buffer.from('another key'));
    expect(other.ids[0]).not.toBe(first.ids[0]);
    expect(other.contents[0]).not.toBe(first.contents[0]);
  });

  async function hashesOf(text: string, hashKey: Buffer): Promise<{ ids: bigint[]; contents: bigint[] }> {
    const opened = await open(file('a.csv', text));
    for await (const { ids, contents } of buildItems(opened, await schemaOf(opened), {
      hashKey,

      pool: HERE,
    })) {
      return { ids: [...ids], contents: [...contents] };
    }
    return { ids: [], contents: [] };
  }

  it.each([0, 2])('takes the hashes of identifiers from the scan, with %i threads', async (threads) => {
    const rows = Array.from({ length: 60_000 }, (_, row) =>
      row % 7 === 0 ? `,none\n` : `c${row},as planned\n`,
    );
    const opened = await open(file('a.csv', `company_id,a\n${rows.join('')}`));
    const workerUrl = new URL('../../../dist/worker.cjs', import.meta.url);
    const pool = new Pool({ threads, leastBytes: 0, workerUrl });
    onTestFinished(() => pool.close());
    const scan = await scanned(opened, { pool });
    const idsOf = async (planned?: typeof scan): Promise<bigint[]> => {
      const batches = await collected(buildItems(opened, scan.schema, { hashKey: KEY, pool, planned }));
      return batches.flatMap(({ ids }) => [...ids]);
    };

    expect(scan.ids.length).toBeGreaterThan(3);
    const hashed = await idsOf();
    expect(hashed).toHaveLength(60_000 - Math.ceil(60_000 / 7));
    expect(await idsOf(scan)).toEqual(hashed);
    expect(await idsOf(scan)).toEqual(hashed); // another pass finds them there, too
    const [first, ...others] = scan.ids;
    const marked = [first!.map((id) => id + 1n), ...others];
    expect(await idsOf({ ...scan, ids: marked })).toEqual([...marked.flatMap((ids) => [...ids])]);
    const some = await scanned(opened, { pool, idRows: 30_000 });
    expect(some.ids).toEqual(scan.ids.slice(0, some.ids.length));
    expect(some.ids.length).toBeGreaterThan(0);
    expect(some.ids.length).toBeLessThan(scan.ids.length);
    expect(await idsOf(some)).toEqual(hashed);
    const short = [first!.slice(1), ...others];
    await expect(idsOf({ ...scan, ids: short })).rejects.toThrow('two passes accepted different rows');
  });

  it('refuses a file that changed since it was opened', async () => {
    const path = file('a.csv', 'company_id\nc1\n');
    const opened = await open(path);
    const schema = await schemaOf(opened);
    writeFileSync(path, 'company_id\nc1\nc2\n');
    await expect(collected(buildItems(opened, schema, { hashKey: KEY, pool: HERE }))).rejects.toThrow(
      'a.csv: changed while it was being imported',
    );
  });

  describe('refuses other bytes of the same size and time, before an item is made of them', () => {
    const forms: [string, (text: string) => string | Uint8Array][] = [
      ['plain', (text) => text],
      ['packed', (text) => gzipSync(text, { level: 0 })],
    ];
    it.each(forms)('%s', async (_, packed) => {
      const rows = Array.from({ length: 60_000 }, (_, number) => `c${number},as planned\n`);
      const path = file('a.csv', packed(`company_id,a\n${rows.join('')}`));
      rewrite(path, readFileSync(path)); // its time is one that can be set again
      const opened = await open(path);
      const planned = await scanned(opened, {});
      rewrite(
        path,
        packed(`company_id,a\n${rows.join('').replace('c50000,as planned', 'c50000,on a whim!')}`),
      );

      const texts: string[] = [];
      const build = async (): Promise<void> => {
        const options = { hashKey: KEY, pool: HERE, planned };
        for await (const { items } of buildItems(opened, planned.schema, options)) {
          texts.push(Buffer.from(items).toString());
        }
      };
      await expect(build()).rejects.toThrow('a.csv: changed while it was being imported');
      expect(texts.join('')).toContain('"c10000"');
      expect(texts.join('')).not.toContain('on a whim');
      await expect(collected(readRows(opened, [50_000], { planned }))).rejects.toThrow('a.csv: changed');
    });

    it('and of a file that ends earlier, once it has ended', async () => {
      const opened = await open(file('a.csv', `company_id\n${'c-1234567\n'.repeat(30_000)}`));
      const scan = await scanned(opened, {});
      const planned = { ...scan, marks: [...scan.marks, 0] };
      const options = { hashKey: KEY, pool: HERE, planned };
      await expect(collected(buildItems(opened, scan.schema, options))).rejects.toThrow('a.csv: changed');
    });
  });
});

/** Other content in the same file, which keeps its time. */
function rewrite(path: string, content: string | Uint8Array): void {
  const { size, atime, mtime } = statSync(path);
  writeFileSync(path, content);
  utimesSync(path, atime, mtime);
  expect(statSync(path).size).toBe(size);
}

describe('single rows', () => {
  it('are found again as they stood, in any batch', async () => {
    const opened = await open(large(3_000));
    const found = await collected(readRows(opened, [0, 6, 1_500, 2_999]));
    expect(found.map(({ row, line, original }) => [row, line, original])).toEqual([
      [0, 2, { cells: ['c0', '0', nameOf(0)] }],
      [6, 14, { cells: ['', '6', nameOf(6)] }],
      [1_500, 3_002, { cells: ['c1500', '1500', nameOf(1_500)] }],
      [2_999, 6_000, { cells: ['c2999', '2999', nameOf(2_999)] }],
    ]);
  });

  it('of JSON are the text of the item', async () => {
    const opened = await open('input/seventeen-digits.json');
    const found = await collected(readRows(opened, [0, 2]));
    expect(found.map(({ line, original }) => [line, original])).toEqual([
      [1, { item: '{"company_id": "c1", "n": 12345678901234567}' }],
      [3, { item: '{"company_id": "c3", "n": 9007199254740991}' }],
    ]);
  });

  it('of none, nothing is read', async () => {
    const opened = await open('companies.csv');
    expect(await collected(readRows({ ...opened, location: '/nowhere' }, []))).toEqual([]);
  });
});
