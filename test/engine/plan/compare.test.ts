/** Rows counted by class and by key, against a straight comparison of two files. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CellColumns } from '../../../src/engine/fingerprints/cells.js';
import { FingerprintIndex } from '../../../src/engine/fingerprints/index.js';
import type { PlanChanges } from '../../../src/engine/model/plan-changes.js';
import { type Comparison, compareRows } from '../../../src/engine/plan/compare.js';
import { type Scanned, scanAll } from '../../../src/engine/plan/plan.js';
import { buildItems, itemIn } from '../../../src/engine/read/index.js';
import { itemsOf } from '../../../src/engine/send/chunk.js';
import { splitIntoChunks } from '../../../src/engine/send/chunker.js';
import { Remembering } from '../../../src/engine/send/remembering.js';
import { times } from '../../support/times.js';
import { file, HERE, KEY, open } from '../read/reading.js';

type Row = readonly [id: string, ...cells: string[]];
const COLUMNS = ['a', 'b', 'c'];

const write = (name: string, rows: readonly Row[]): string =>
  file(name, [['company_id', ...COLUMNS], ...rows].map((row) => `${row.join(',')}\n`).join(''));

/** A service as the state knows it: what was completed, and the cells of each send. */
class Service {
  readonly index = new FingerprintIndex(100);
  readonly cells = new Map<number, CellColumns>();
  /** What it really holds, where a request that failed was not carried out. */
  readonly holds = new Map<string, Map<string, string>>();
  #sends = 0;

  async scan(paths: readonly string[]): Promise<Scanned> {
    const opened = await Promise.all(paths.map((path) => open(path, { kind: 'companies' })));
    const scan = scanAll(opened, {
      hashKey: KEY,
      itemLimitBytes: 1_000_000,
      pool: HERE,
      signal: new AbortController().signal,
      reject: () => {},
    });
    for (;;) {
      const next = await scan.next();
      if (next.done) return next.value;
    }
  }

  /** An import of all rows, in requests of so many, of which some fail. */
  async import(
    run: string,
    path: string,
    { items = 3, fails = (_: number): boolean => false, old = false, tracks = true } = {},
  ): Promise<void> {
    const scanned = await this.scan([path]);
    const [{ opened, scan }] = scanned.inputs as [Scanned['inputs'][number]];
    const remembering = new Remembering('companies', KEY, tracks);
    async function* batches() {
      const options = { hashKey: KEY, pool: HERE };
      for await (const batch of buildItems(opened, scan.schema, options)) {
        yield { input: 0, batch };
      }
    }
    const chunks = splitIntoChunks(batches(), {
      kind: 'companies',
      limits: { items, bytes: 1_000_000 },
      duplicates: scanned.duplicates.get('companies')!,
      isUnchanged: null,
      recorded: [],
    });
    for await (const chunk of chunks) {
      const prints = remembering.printsOf(chunk);
      const send = ++this.#sends;
      this.index.apply(prints, !fails(send), { send, run, old });
      if (prints.cells) this.cells.set(send, prints.cells);
      for (const text of fails(send) ? [] : itemsOf(chunk)) {
        const { company_id, metadata = {} } = JSON.parse(Buffer.from(text).toString()) as Item;
        const held = this.holds.get(company_id) ?? new Map<string, string>();
        for (const [key, value] of Object.entries(metadata)) held.set(key, JSON.stringify(value));
        this.holds.set(company_id, held);
      }
    }
  }

  async compare(...paths: string[]): Promise<Comparison & { changes: PlanChanges }> {
    const compared = await compareRows(await this.scan(paths), 'companies', this.index, {
      hashKey: KEY,
      pool: HERE,
      signal: new AbortController().signal,
      cells: async (send) => this.cells.get(send) ?? null,
    });
    const keys = compared.keys.sort((a, b) => b.rows - a.rows || (a.key < b.key ? -1 : 1));
    return { ...compared, changes: { ...compared.changes, keys } };
  }
}

interface Item {
  company_id: string;
  metadata?: Record<string, unknown>;
}

/** Cells as text: none of them is a number there. */
function upsert(held: Map<string, string>, [, ...cells]: Row): void {
  for (const [at, cell] of cells.entries()) if (cell !== '') held.set(COLUMNS[at]!, JSON.stringify(cell));
}

/** Each id with what its rows come to, and how many there are. */
async function merged(path: string): Promise<Map<string, { rows: number; metadata: Map<string, string> }>> {
  const input = await open(path, { kind: 'companies' });
  const service = new Service();
  const { scan } = (await service.scan([path])).inputs[0]!;
  const found = new Map<string, { rows: number; metadata: Map<string, string> }>();
  for await (const batch of buildItems(input, scan.schema, { hashKey: KEY, pool: HERE })) {
    for (let at = 0; at < batch.ends.length; at++) {
      const item = JSON.parse(itemIn(batch, at).toString()) as Item;
      const entry = found.get(item.company_id) ?? { rows: 0, metadata: new Map<string, string>() };
      entry.rows++;
      for (const [key, value] of Object.entries(item.metadata ?? {}))
        entry.metadata.set(key, JSON.stringify(value));
      found.set(item.company_id, entry);
    }
  }
  return found;
}

const isSame = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean =>
  a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);

/** The same by the items themselves. */
async function straight(before: string, after: string): Promise<PlanChanges> {
  const [was, is] = [await merged(before), await merged(after)];
  const changes = { new: 0, changed: 0, refreshed: 0, unchanged: 0, rejected: 0 };
  const keys = new Map<string, number>();
  for (const [id, { rows, metadata }] of is) {
    const earlier = was.get(id);
    const kind = !earlier ? 'new' : isSame(earlier.metadata, metadata) ? 'unchanged' : 'changed';
    changes[kind] += rows;
    if (kind !== 'changed') continue;
    for (const key of new Set([...earlier!.metadata.keys(), ...metadata.keys()])) {
      if (earlier!.metadata.get(key) !== metadata.get(key)) keys.set(key, (keys.get(key) ?? 0) + rows);
    }
  }
  const sorted = [...keys].map(([key, rows]) => ({ key, rows }));
  sorted.sort((a, b) => b.rows - a.rows || (a.key < b.key ? -1 : 1));
  return { ...changes, keys: sorted };
}

const cell = fc.constantFrom('', 'x', 'y', 'é', '007', 'a longer text');
const row = fc.tuple(fc.constantFrom('p', 'q', 'r', 's', 't'), cell, cell, cell);
const table = fc.array(row, { minLength: 1, maxLength: 12 });
/** Ids that stand alone. */
const alone = fc.uniqueArray(row, { selector: ([id]) => id, minLength: 1 });

describe('for any two files', () => {
  test('of ids that stand alone, as a straight comparison says', async () => {
    await fc.assert(
      fc.asyncProperty(alone, alone, fc.integer({ min: 1, max: 4 }), async (before, after, items) => {
        const service = new Service();
        await service.import('one', write('before.csv', before), { items });
        const { changes } = await service.compare(write('after.csv', after));
        expect(changes).toEqual(await straight(write('before.csv', before), write('after.csv', after)));
      }),
      { numRuns: times(10) },
    );
  });

  test('of ids that stand more than once, by what their rows come to, however they were packed', async () => {
    let repeated = 0;
    const small = fc.constantFrom('', 'x', 'y');
    const few = fc.array(fc.tuple(fc.constantFrom('p', 'q'), small, small, small), {
      minLength: 1,
      maxLength: 4,
    });
    // Two at random seldom come to the same.
    const pair = fc.oneof(
      fc.tuple(few, few),
      few.map((rows) => [rows, rows] as const),
    );
    const twice = (rows: readonly Row[]): Row[] => rows.flatMap((one) => [one, one]);
    await fc.assert(
      fc.asyncProperty(pair, fc.integer({ min: 1, max: 9 }), async ([before, after], items) => {
        // Each id at least twice in both.
        const [was, is] = [
          write('before.csv', [...twice(before), ...before]),
          write('after.csv', [...after, ...twice(after)]),
        ];
        const service = new Service();
        await service.import('one', was, { items });
        const { changes } = await service.compare(is);
        expect(changes).toEqual(await straight(was, is));
        repeated += changes.unchanged;
      }),
      { numRuns: times(20) },
    );
    expect(repeated).toBeGreaterThan(15);
  });

  test('the file that was imported last is unchanged as a whole', async () => {
    await fc.assert(
      fc.asyncProperty(table, table, fc.integer({ min: 1, max: 4 }), async (first, second, items) => {
        const service = new Service();
        await service.import('one', write('first.csv', first), { items });
        await service.import('two', write('second.csv', second), { items });
        const { changes, repeats } = await service.compare(write('second.csv', second));
        expect(changes).toEqual({
          new: 0,
          changed: 0,
          refreshed: 0,
          unchanged: second.length,
          rejected: 0,
          keys: [],
        });
        expect(repeats === null).toBe(new Set(second.map(([id]) => id)).size === second.length);
      }),
      { numRuns: times(20) },
    );
  });

  test('where requests failed, only that counts as unchanged which would change nothing if it were sent', async () => {
    let unchanged = 0;
    const failing = fc.array(fc.boolean(), { minLength: 5, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(
        table,
        table,
        fc.integer({ min: 1, max: 3 }),
        failing,
        async (first, second, items, failed) => {
          const service = new Service();
          const fails = (send: number): boolean => failed[send % failed.length]!;
          await service.import('one', write('first.csv', first), { items, fails });
          await service.import('two', write('second.csv', second), { items, fails });
          for (const id of new Set([...first, ...second].map(([id]) => id))) {
            for (const file of [first, second]) {
              const rows = file.filter((row) => row[0] === id);
              if (rows.length === 0) continue;
              const { changes } = await service.compare(write('one.csv', rows));
              if (changes.unchanged === 0) continue;
              unchanged++;
              const holds = service.holds.get(id)!;
              const after = new Map(holds);
              for (const one of rows) upsert(after, one);
              expect([...after]).toEqual([...holds]);
            }
          }
        },
      ),
      { numRuns: times(12) },
    );
    expect(unchanged).toBeGreaterThan(20);
  });
});

describe('rows that were completed long ago', () => {
  const rows: Row[] = [
    ['p', 'x', 'y', ''],
    ['q', 'x', '', ''],
    ['q', '', 'y', ''],
    ['r', 'x', '', ''],
  ];

  test('are refreshed where they are as they were, and changed where they are not', async () => {
    const service = new Service();
    await service.import('one', write('a.csv', rows), { items: 1, old: true });
    const { changes } = await service.compare(
      write('b.csv', [...rows.slice(0, 3), ['r', 'y', '', ''], ['s', 'x', '', '']]),
    );
    expect(changes).toEqual({
      new: 1,
      changed: 1,
      refreshed: 3,
      unchanged: 0,
      rejected: 0,
      keys: [{ key: 'a', rows: 1 }],
    });
  });

  test('count as unchanged once they were sent again', async () => {
    const service = new Service();
    await service.import('one', write('a.csv', rows), { old: true });
    await service.import('two', write('a.csv', rows.slice(0, 3)));
    const { changes } = await service.compare(write('a.csv', rows));
    expect(changes).toMatchObject({ new: 0, changed: 0, refreshed: 1, unchanged: 3 });
  });
});

test('rows whose cells were not remembered are changed, and counted by no key', async () => {
  const service = new Service();
  await service.import('one', write('a.csv', [['p', 'x', '', '']]), { tracks: false });
  const { changes, untracked } = await service.compare(write('b.csv', [['p', 'y', '', '']]));
  expect([changes.changed, changes.keys, untracked]).toEqual([1, [], 1]);
});

test('an id that stood twice with the same content is as one that stands once', async () => {
  const service = new Service();
  await service.import(
    'one',
    write('a.csv', [
      ['p', 'x', '', ''],
      ['p', 'x', '', ''],
    ]),
    { items: 1 },
  );
  expect((await service.compare(write('b.csv', [['p', 'x', '', '']]))).changes.unchanged).toBe(1);
});

test('an id that stood once is unchanged where several rows come to the same now', async () => {
  const service = new Service();
  await service.import('one', write('a.csv', [['p', 'x', 'y', '']]));
  const { changes } = await service.compare(
    write('b.csv', [
      ['p', 'x', 'z', ''],
      ['p', '', 'y', ''],
    ]),
  );
  expect(changes.unchanged).toBe(2);
});

test('several inputs of a kind count together', async () => {
  const service = new Service();
  await service.import(
    'one',
    write('a.csv', [
      ['p', 'x', '', ''],
      ['q', 'x', '', ''],
      ['p', '', 'y', ''],
    ]),
  );
  const both = [
    write('b.csv', [['p', 'x', '', '']]),
    write('c.csv', [
      ['q', 'x', '', ''],
      ['p', '', 'y', ''],
    ]),
  ];
  expect((await service.compare(...both)).changes).toMatchObject({ changed: 0, unchanged: 3 });
});
