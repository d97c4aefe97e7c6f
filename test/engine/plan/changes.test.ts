/** What a scan keeps to send, compared with building everything and comparing the items themselves. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FingerprintIndex } from '../../../src/engine/fingerprint-index.js';
import { type Known as KnownRows, MAX_KEPT_BYTES, scanChanges } from '../../../src/engine/plan/changes.js';
import { recordHashes } from '../../../src/engine/read/csv/build.js';
import {
  buildItems,
  type ItemBatch,
  itemIn,
  type MappingRules,
  NO_RULES,
  type OpenedInput,
  Pool,
  type Scan,
  scanInput,
} from '../../../src/engine/read/index.js';
import { collected } from '../../support/collected.js';
import { writeCsv } from '../read/csv-writer.js';
import { file, HERE, KEY, open, type ReadOptions } from '../read/reading.js';
import { heldBy } from '../state/support/state.js';

const LIMIT = 4 * 1024 * 1024;

/** An accepted row: its number among all rows of the file, its identifier and its item. */
interface Row {
  row: number;
  id: string;
  text: string;
}

/** An import that the service completed: what is known of it afterwards. */
interface Known extends KnownRows {
  types: Map<string, string>;
  /** The items themselves. */
  items: Map<string, string>;
}

const nothing = (): Known => ({
  index: new FingerprintIndex(20_000),
  types: new Map(),
  items: new Map(),
});

async function sent(
  path: string,
  options: ReadOptions,
  known = nothing(),
  { records = true } = {},
): Promise<Known> {
  const input = await open(path, options);
  const scan = await scanOf(input);
  for await (const batch of buildItems(input, scan.schema, { hashKey: KEY, records, pool: HERE })) {
    known.index.apply(batch, true);
    for (const { id, text } of rowsOf(batch)) known.items.set(id, text);
  }
  for (const [key, type] of scan.types) if (type !== null) known.types.set(key, type);
  return known;
}

/** The scan, and with what is known the rows that it told: as it kept them, and built by its marks. */
async function scanOf(
  input: OpenedInput,
  known?: Known,
  { pool = HERE, room = MAX_KEPT_BYTES } = {},
): Promise<Scan & { changed: ItemBatch[] | null; again: ItemBatch[] | null; bytes: number }> {
  const options = { hashKey: KEY, itemLimitBytes: LIMIT, pool, known, room };
  const { scan, kept } = await scanChanges(input, options);
  const build = (isWanted: (row: number) => boolean) =>
    buildItems(input, scan.schema, { hashKey: KEY, records: true, pool, planned: scan.marks, isWanted });
  const changed = kept && (await collected(kept.take(build)));
  return {
    ...scan,
    changed,
    again: kept && (await collected(kept.take(build))),
    bytes: kept?.bytes ?? 0,
  };
}

function rowsOf(batch: ItemBatch): Row[] {
  return Array.from(batch.ends, (_, at) => {
    const text = itemIn(batch, at).toString();
    const row = batch.rows[at]!;
    return { row, id: text === '' ? '' : (JSON.parse(text) as { company_id: string }).company_id, text };
  });
}

async function built(input: OpenedInput, { schema }: Scan): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of buildItems(input, schema, { hashKey: KEY, records: true, pool: HERE }))
    rows.push(...rowsOf(batch));
  return rows;
}

/** What was kept: rows to send, and numbers of those that are unchanged. */
function kept(changed: readonly ItemBatch[]): { rows: Row[]; unchanged: number[] } {
  const result: { rows: Row[]; unchanged: number[] } = { rows: [], unchanged: [] };
  for (const batch of changed) {
    for (const [at, row] of rowsOf(batch).entries()) {
      const run = batch.unchanged![at]!;
      if (run === 0) result.rows.push(row);
      else for (let next = 0; next < run; next++) result.unchanged.push(row.row + next);
    }
  }
  return result;
}

/** The same by the items themselves, with nothing but a Map. */
function expected(rows: readonly Row[], known: Known): ReturnType<typeof kept> {
  const same = ({ id, text }: Row): boolean => known.items.get(id) === text;
  return {
    rows: rows.filter((row) => !same(row)),
    unchanged: rows.filter(same).map(({ row }) => row),
  };
}

const cell = fc.constantFrom('', '0', '7', '1.5', '007', 'x', 'é"', 'a,b', 'two\nlines', ' x');
const table = fc.array(fc.record({ id: fc.constantFrom('', 'a', 'b', 'c', 'é"'), n: cell, s: cell }), {
  maxLength: 8,
});
const rules = fc.constantFrom<Partial<MappingRules>>(
  {},
  {},
  {},
  { exclude: ['n'] },
  { set: [['k', '5']] },
  { map: [['s', 't']] },
  { empty: 'null' },
  { infer: false },
  { types: [['n', 'string']] },
);
const form = fc.record({
  rules,
  quoteAll: fc.boolean(),
  delimiter: fc.constantFrom(',', ';'),
  ends: fc.constantFrom(['\n'], ['\r\n']),
  json: fc.boolean(),
});
type Table = { id: string; n: string; s: string }[];

function write(
  name: string,
  rows: Table,
  { json, ...dialect }: { json: boolean } & Parameters<typeof writeCsv>[1],
) {
  if (json) {
    const items = rows.map(({ id, ...rest }) => `${JSON.stringify({ company_id: id, ...rest })}\n`);
    return file(`${name}.ndjson`, items.join(''));
  }
  return file(
    `${name}.csv`,
    writeCsv([['company_id', 'n', 's'], ...rows.map((row) => [row.id, row.n, row.s])], dialect).text,
  );
}

describe('for any two files and whatever was said of them', () => {
  it('what is kept to send is what differs from the item that was sent last', async () => {
    let told = 0;
    await fc.assert(
      fc.asyncProperty(
        table,
        table,
        fc.boolean(),
        fc.boolean(),
        fc.record({ records: fc.boolean() }),
        form,
        form,
        async (before, after, again, twice, how, then, now) => {
          const options = ({ rules }: typeof now): ReadOptions => ({
            kind: 'companies',
            rules: { ...NO_RULES, ...rules },
          });
          const first = write('before', before, then);
          const second = write('after', again ? [...after, ...before] : after, now);
          const known = await sent(first, options(then), nothing(), how).catch(() => nothing()); // a rule named a field that is in no item
          // Sent again, from another format: what was known of the records before is void.
          if (twice)
            await sent(write('again', before, { ...then, json: !then.json }), options(then), known).catch(
              () => {},
            );
          const input = await open(second, options(now)).catch(() => null);
          fc.pre(input !== null);
          const scan = await scanOf(input, known).catch(() => null);
          fc.pre(scan !== null);
          if (scan.changed === null) {
            // Then nothing is known, or a type is not what it was.
            const types = scan.types.filter(([key, type]) => known.types.get(key) !== type);
            expect(known.index.size === 0 || types.length > 0).toBe(true);
            return;
          }
          told++;
          const rows = await built(input, scan);
          expect(kept(scan.changed)).toEqual(expected(rows, known));
          expect(kept(scan.again!)).toEqual(expected(rows, known));
        },
      ),
      { numRuns: 100 },
    );
    expect(told).toBeGreaterThan(30);
  });
});

describe('of a file like the last one', () => {
  const csv = (rows: number, changed: (row: number) => boolean, name = 'x'): string => {
    let text = 'company_id,n,name\n';
    for (let row = 0; row < rows; row++) {
      if (row % 7 === 3) text += `,${row},no identifier\n`;
      else text += `c${row},${row},"${changed(row) ? 'new' : name} ${row}\n${'é'.repeat(60)}"\n`;
    }
    return text;
  };
  const some = (row: number): boolean => row % 50 === 0;
  /** A file of so many rows, some of which are not what was sent. */
  const someChanged = async (rows: number) => {
    const before = file(
      'a.csv',
      csv(rows, () => false),
    );
    return { known: await sent(before, {}), input: await open(file('b.csv', csv(rows, some)), {}) };
  };

  it('rows are told by threads as here, and those that are rejected are in no stretch', async () => {
    const { known, input } = await someChanged(9_000);
    const here = await scanOf(input, known);
    const pool = new Pool({
      threads: 2,
      workerUrl: new URL('../../../dist/worker.cjs', import.meta.url),
      leastBytes: 0,
    });
    onTestFinished(() => pool.close());
    const there = await scanOf(input, known, { pool });
    expect(there).toEqual(here);
    const result = kept(here.changed!);
    expect(result).toEqual(expected(await built(input, here), known));
    expect(kept(here.again!)).toEqual(result);
    expect(result.rows.length).toBe(154);
  });

  it('threads tell JSON of which every row has changed', async () => {
    const json = (name: string): string =>
      Array.from({ length: 900 }, (_, row) => `{"company_id":"c${row}","name":"${name}"}\n`).join('');
    const known = await sent(file('a.ndjson', json('x')), {});
    const input = await open(file('b.ndjson', json('y')), {});
    const workerUrl = new URL('../../../dist/worker.cjs', import.meta.url);
    const pool = new Pool({ threads: 2, workerUrl, leastBytes: 0 });
    onTestFinished(() => pool.close());
    const there = await scanOf(input, known, { pool });
    expect(kept(there.changed!)).toEqual(expected(await built(input, there), known));
  });

  it('the identifiers are collected all the same, and so is the rest of the plan', async () => {
    const { known, input } = await someChanged(900);
    const ids: { with: bigint[]; without: bigint[] } = { with: [], without: [] };
    const options = { hashKey: KEY, itemLimitBytes: LIMIT, pool: HERE };
    const { scan, kept: rows } = await scanChanges(input, {
      ...options,
      known,
      room: MAX_KEPT_BYTES,
      collectIds: (batch) => void ids.with.push(...batch),
    });
    const plain = await scanInput(input, {
      ...options,
      collectIds: (batch) => void ids.without.push(...batch),
    });
    expect(rows).not.toBeNull();
    expect(scan).toEqual(plain);
    expect(ids.with.sort()).toEqual(ids.without.sort());
  });

  it('where records were not hashed, rows are told by their items', async () => {
    const path = file(
      'a.csv',
      csv(900, () => false),
    );
    const known = await sent(path, {}, nothing(), { records: false });
    expect(new Set(heldBy(known.index).records)).toEqual(new Set([0n]));
    const input = await open(file('b.csv', csv(900, some)), {});
    const scan = await scanOf(input, known);
    expect(kept(scan.changed!)).toEqual(expected(await built(input, scan), known));
  });

  it('what was cleared since is sent again', async () => {
    const path = file('a.csv', 'company_id,n\na,1\nb,2\n');
    const known = await sent(path, {});
    const input = await open(path, {});
    const batches: ItemBatch[] = [];
    for await (const batch of buildItems(input, (await scanOf(input)).schema, {
      hashKey: KEY,
      records: true,
      pool: HERE,
    })) {
      batches.push(batch);
    }
    const { ids, contents, records } = batches[0]!;
    known.index.apply({ ids: ids.slice(1), contents: contents.slice(1), records: records.slice(1) }, false);
    const { rows, unchanged } = kept((await scanOf(input, known)).changed!);
    expect([rows.map(({ id }) => id), unchanged]).toEqual([['b'], [0]]);
  });

  it.each<[what: string, then: [string, ReadOptions], now: [string, ReadOptions]]>([
    ['columns', ['company_id,a,b\nx,p,q\n', {}], ['company_id,b,a\nx,p,q\n', {}]],
    ['delimiter', ['company_id;a\nx;p,q\n', {}], ['company_id,a\nx;p,q\n', {}]],
    ['identifier', ['company_id,a\nx,p\n', {}], ['company_id,a\nx,p\n', { kind: 'companies', id: 'a' }]],
    [
      'company',
      ['user_id,company_id,a\nx,p,q\n', {}],
      ['user_id,company_id,a\nx,p,q\n', { kind: 'users', companyId: 'a' }],
    ],
    [
      'rules',
      ['company_id,a\nx,p\n', {}],
      ['company_id,a\nx,p\n', { rules: { ...NO_RULES, set: [['b', 'c']] } }],
    ],
  ])('a record that reads the same is another item with another %s', async (_, then, now) => {
    const known = await sent(file('a.csv', then[0]), then[1]);
    for (const key of ['company_id', 'a', 'b']) known.types.set(key, 'string');
    const again = await scanOf(await open(file('a.csv', then[0]), then[1]), known);
    expect(kept(again.changed!).unchanged).toEqual([0]);
    const other = await scanOf(await open(file('b.csv', now[0]), now[1]), known);
    expect(kept(other.changed!).unchanged).toEqual([]);
  });

  it('an item is made as it was when records were hashed for the first time', async () => {
    // Where this is to change, so must ITEM_FORMAT_VERSION in csv/build.ts: earlier hashes stand for earlier items.
    const text = 'company_id,a,b,metadata\n"x ""1""",1.5,,"{""c"":[true]}"\ny,2,é,\n';
    const input = await open(file('a.csv', text), { rules: { ...NO_RULES, set: [['k', '5']] } });
    expect((await built(input, await scanOf(input))).map((row) => row.text)).toEqual([
      '{"company_id":"x \\"1\\"","metadata":{"a":1.5,"c":[true],"k":5}}',
      '{"company_id":"y","metadata":{"a":2,"b":"é","k":5}}',
    ]);
    const hashes = recordHashes(input, { types: ['string', 'number', 'string', 'string'] }, KEY);
    hashes.add('y,2,é,');
    expect(hashes.take()).toEqual(BigUint64Array.of(12451868262697192420n));
  });

  it('JSON is told by its items, whatever records were known before', async () => {
    const known = nothing();
    for (const name of ['x', 'y']) {
      let text = 'company_id,name\n';
      for (let row = 0; row < 1_000; row++) text += `c${row},${name}\n`;
      await sent(file(`${name}.csv`, text), {}, known);
    }
    const input = await open(
      file('a.ndjson', '{"company_id":"new","name":"y"}\n{"company_id":"c7","metadata":{"name":"y"}}\n'),
      {},
    );
    const { rows, unchanged } = kept((await scanOf(input, known)).changed!);
    expect([rows.map(({ id }) => id), unchanged]).toEqual([['new'], [1]]);
  });

  it('a type of last time that no cell would get does not make items of them', async () => {
    const known = await sent(file('a.ndjson', '{"company_id":"1","x":true,"y":{"a":1}}\n'), {});
    const wide = 'Ⱥ'.repeat(450); // lower case takes half as many bytes again
    const input = await open(file('b.csv', `company_id,x\n2,${wide}\n3,${wide}\n`), {});
    const options = { hashKey: KEY, pool: HERE, itemLimitBytes: 960 };
    const { scan } = await scanChanges(input, { ...options, known, room: MAX_KEPT_BYTES });
    expect(scan).toEqual(await scanInput(input, options));
    const other = await open(file('c.csv', 'company_id,y\n1,a\n'), {});
    expect((await scanOf(other, known)).changed).toBeNull();
  });

  it('no more is kept than there is room for; beyond that, only what has changed is built', async () => {
    const { known, input } = await someChanged(900);
    const { changed, bytes } = await scanOf(input, known);
    const wanted = async (room: number): Promise<number | null> => {
      const options = { hashKey: KEY, itemLimitBytes: LIMIT, pool: HERE, known, room };
      const { scan, kept: rows } = await scanChanges(input, options);
      let built: number | null = null;
      const batches = await collected(
        rows!.take(async function* (isWanted) {
          built = 0;
          for await (const batch of buildItems(input, scan.schema, {
            ...options,
            records: true,
            planned: scan.marks,
            isWanted,
          })) {
            built += batch.ends.length + batch.rejected.length;
            yield batch;
          }
        }),
      );
      expect(kept(batches)).toEqual(kept(changed!));
      return built;
    };
    expect(await wanted(bytes)).toBeNull();
    for (const room of [bytes - 1, 1, 0]) expect(await wanted(room)).toBe(kept(changed!).rows.length);
  });

  it('what is kept is taken once, and is told by what was known then', async () => {
    const path = file('a.csv', 'company_id,name\na,x\n');
    const known = await sent(path, {});
    const options = { hashKey: KEY, itemLimitBytes: LIMIT, pool: HERE, known, room: MAX_KEPT_BYTES };
    const rows = (await scanChanges(await open(path, {}), options)).kept!;
    expect([{ ...known }, undefined, known].map((other) => rows.isOf(other))).toEqual([false, false, true]);
    expect(rows.changed()).toHaveLength(1);
    let built = 0;
    const build = async function* (): AsyncGenerator<ItemBatch> {
      built++;
      yield* [];
    };
    expect([await collected(rows.take(build)), built]).toEqual([[expect.anything()], 0]);
    expect(rows.changed()).toBeNull();
    expect([await collected(rows.take(build)), built]).toEqual([[expect.anything()], 1]);
  });

  it('where a worker keeps no more items, they are built', async () => {
    const wide = (name: string): string => {
      let text = 'company_id,name\n';
      for (let row = 0; row < 10; row++) text += `c${row},${name.repeat(1_000_000)}\n`;
      return text;
    };
    const known = await sent(file('a.csv', wide('x')), {});
    const input = await open(file('b.csv', wide('y')), {});
    const { changed, bytes } = await scanOf(input, known);
    expect(bytes).toBe(0);
    expect(kept(changed!)).toEqual(expected(await built(input, await scanOf(input)), known));
  });

  it('where the types are others than last time, likewise', async () => {
    const known = await sent(file('a.csv', 'company_id,n\na,1\nb,2\n'), {});
    const input = await open(file('b.csv', 'company_id,n\na,1\nb,x\n'), {});
    expect((await scanOf(input, known)).changed).toBeNull();
    const other = await open(file('c.csv', 'company_id,m\na,1\n'), {});
    expect((await scanOf(other, known)).changed).toBeNull();
  });
});
