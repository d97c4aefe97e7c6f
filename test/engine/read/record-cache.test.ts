/** Records that the scan keeps for the passes after it: the same items as from the file, and nothing left on disk. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { buildItems, Pool, type Scan } from '../../../src/engine/read/index.js';
import { RecordCache } from '../../../src/engine/read/record-cache.js';
import { readRecords } from '../../../src/engine/read/records.js';
import type { Rows } from '../../../src/engine/read/rows.js';
import type { OpenedInput } from '../../../src/engine/read/types.js';
import { scratch } from '../../support/cli.js';
import { collected } from '../../support/collected.js';
import { FIXTURES, HERE, KEY, open, scanned } from './reading.js';

const FILES = ['people.xlsx', 'types.parquet', 'snappy.parquet'];
const NO_LEAST = { leastBytes: 0 };

/** A copy of a fixture that the test may remove. */
function copyOf(name: string): string {
  const path = join(scratch(), name);
  copyFileSync(join(FIXTURES, 'columnar', name), path);
  return path;
}

function caching(threads: number, cacheFolder = () => scratch()): Pool {
  const workerUrl = new URL('../../../dist/worker.cjs', import.meta.url);
  const pool = new Pool({ threads, leastBytes: 0, workerUrl, cacheFolder });
  onTestFinished(() => pool.close());
  return pool;
}

/** All that is built of an input, put together: batches may end in other places. */
async function built(input: OpenedInput, scan: Scan, pool: Pool) {
  const all = { items: '', rows: [] as number[], ids: [] as bigint[], rejected: [] as unknown[] };
  const how = { hashKey: KEY, planned: scan, pool };
  for await (const batch of buildItems(input, scan.schema, how)) {
    all.items += Buffer.from(batch.items).toString();
    all.rows.push(...batch.rows);
    all.ids.push(...batch.ids);
    all.rejected.push(...batch.rejected);
  }
  return all;
}

async function recordsOf(input: OpenedInput): Promise<Rows[]> {
  const batches = await collected(readRecords(input));
  return batches;
}

async function* from<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

describe.each([0, 1, 2])('with %i threads', (threads) => {
  it.each(FILES)('items of %s are those of the file, which is not read again', async (name) => {
    const path = copyOf(name);
    const input = await open(path);
    const pool = caching(threads);
    const scan = await scanned(input, { pool });
    const expected = await built(input, scan, HERE);
    expect(expected.rows.length).toBeGreaterThan(0);
    rmSync(path);
    for (let pass = 0; pass < 2; pass++) expect(await built(input, scan, pool)).toEqual(expected);
  });

  it('a signal ends a pass over what is kept, whose batches leave time for other work', async () => {
    const input = await open(copyOf('snappy.parquet'));
    const pool = caching(threads);
    const { schema } = await scanned(input, { pool });
    const stop = new AbortController();
    const pass = async (): Promise<void> => {
      for (let n = 0; n < 1000; n++) {
        const how = { hashKey: KEY, pool, signal: stop.signal };
        for await (const _ of buildItems(input, schema, how)) {
        }
      }
    };
    const passes = pass();
    setTimeout(() => stop.abort(new Error('stopped')), 5);
    await expect(passes).rejects.toThrow('stopped');
  });

  it.each(FILES)('some rows of %s are those of the file', async (name) => {
    const path = copyOf(name);
    const whole = await open(path);
    const pool = caching(threads);
    const some: OpenedInput = { ...whole, selection: { where: [], absent: [], limit: 2 } };
    const scan = await scanned(some, { pool });
    const expected = await built(some, scan, HERE);
    expect(expected.rows).toEqual([0, 1]);
    rmSync(path);
    expect(await built(some, scan, pool)).toEqual(expected);
  });
});

it('a batch is read back as it was', async () => {
  for (const name of FILES) {
    const input = await open(copyOf(name));
    const cache = new RecordCache(() => scratch(), NO_LEAST);
    onTestFinished(() => cache.close());
    const batches = await recordsOf(input);
    for await (const batch of cache.keep(input, from(batches))) expect(batches.includes(batch)).toBe(true);
    const back = await collected(cache.of(input)!);
    expect(isDeepStrictEqual(back, batches)).toBe(true);
  }
});

it('neither the file nor the folder that was made for it has a name: a process that is killed leaves nothing', async () => {
  const folder = join(scratch(), 'run');
  const pool = caching(0, () => {
    mkdirSync(folder);
    return folder;
  });
  const input = await open(copyOf('people.xlsx'));
  await scanned(input, { pool });
  expect(pool.cache!.of(input)).toBeDefined();
  expect(existsSync(folder)).toBe(false);
});

it('what else is in the folder stays', async () => {
  const folder = scratch();
  writeFileSync(join(folder, 'input-1'), 'spooled');
  await scanned(await open(copyOf('people.xlsx')), { pool: caching(0, () => folder) });
  expect(readdirSync(folder)).toEqual(['input-1']);
});

describe('an input is not kept', () => {
  const kept = async (cache: RecordCache, input: OpenedInput, batches: readonly Rows[]) => {
    const given = await collected(cache.keep(input, from(batches)));
    expect(isDeepStrictEqual(given, batches)).toBe(true);
    await cache.close();
    return cache.of(input) !== undefined;
  };

  it('if it is small', async () => {
    const folder = join(scratch(), 'made');
    const input = await open(copyOf('people.xlsx'));
    expect(await kept(new RecordCache(() => folder), input, await recordsOf(input))).toBe(false);
    expect(existsSync(folder)).toBe(false);
  });

  it('if there is no room for all of it; another one has the room', async () => {
    const [large, small] = [await open(copyOf('snappy.parquet')), await open(copyOf('people.xlsx'))];
    const cache = new RecordCache(() => scratch(), { leastBytes: 0, mostBytes: 10_000 });
    onTestFinished(() => cache.close());
    for (const input of [large, small]) {
      const batches = await recordsOf(input);
      const given = await collected(cache.keep(input, from(batches)));
      expect(isDeepStrictEqual(given, batches)).toBe(true);
    }
    expect(cache.of(large)).toBeUndefined();
    const back = await collected(cache.of(small)!);
    expect(back).toEqual(await recordsOf(small));
  });

  it('if there is no folder for it', async () => {
    const input = await open(copyOf('people.xlsx'));
    const refused = (): never => {
      throw new Error('read-only');
    };
    expect(await kept(new RecordCache(refused, NO_LEAST), input, await recordsOf(input))).toBe(false);
  });

  it('if it is left before its end', async () => {
    const input = await open(copyOf('snappy.parquet'));
    const cache = new RecordCache(() => scratch(), NO_LEAST);
    onTestFinished(() => cache.close());
    const batches = await recordsOf(input);
    for await (const _ of cache.keep(input, from([...batches, ...batches]))) break;
    expect(cache.of(input)).toBeUndefined();
  });
});

it('two inputs at once are both kept', async () => {
  const inputs = [await open(copyOf('snappy.parquet')), await open(copyOf('people.xlsx'))];
  const cache = new RecordCache(() => scratch(), NO_LEAST);
  onTestFinished(() => cache.close());
  const both = await Promise.all(inputs.map(recordsOf));
  await Promise.all(inputs.map((input, at) => collected(cache.keep(input, from(both[at]!)))));
  for (const [at, input] of inputs.entries()) {
    expect(isDeepStrictEqual(await collected(cache.of(input)!), both[at])).toBe(true);
  }
});
