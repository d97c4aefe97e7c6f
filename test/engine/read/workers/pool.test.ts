/** Batches on worker threads: the same results in the same order, and nothing left running. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { InputError } from '../../../../src/engine/errors.js';
import { readRecords } from '../../../../src/engine/read/records.js';
import { CellLists, type Rows } from '../../../../src/engine/read/rows.js';
import { textMemory } from '../../../../src/engine/read/text/memory.js';
import type { OpenedInput } from '../../../../src/engine/read/types.js';
import { Pool, type PoolOptions } from '../../../../src/engine/read/workers/pool.js';
import { moved, type TaskSpec } from '../../../../src/engine/read/workers/task.js';
import { collected } from '../../../support/collected.js';
import { file, KEY, open } from '../reading.js';

let threads: PoolOptions;
let folder: string;

/** Bundles a worker. */
async function bundled(name: string, contents: string): Promise<URL> {
  const outfile = join(folder, `${name}.cjs`);
  await build({
    ...{ stdin: { contents, resolveDir: process.cwd() }, outfile, bundle: true, format: 'cjs' },
    ...{ platform: 'node', logLevel: 'error' },
  });
  return pathToFileURL(outfile);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'profiles-worker-'));
  const workerUrl = await bundled('worker', "import './src/engine/read/workers/worker.ts';");
  threads = { threads: 2, workerUrl, leastBytes: 0 };
});

/** Each thread has one. */
const ports = (): number => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;

/** Two threads, ended with the test. */
function pool(): Pool {
  const made = new Pool(threads);
  onTestFinished(() => made.close());
  return made;
}

function csv(rows: number): string {
  let text = 'company_id,n,name\n';
  for (let row = 0; row < rows; row++) text += `c${row},${row},"name ""${row}"" ${'é'.repeat(100)}"\n`;
  return file('a.csv', text);
}

const scanning = (input: OpenedInput): TaskSpec & { pass: 'scan' } => ({
  pass: 'scan',
  input,
  hashKey: KEY,
  itemLimitBytes: 1 << 22,
  companies: true,
});
const building = (input: OpenedInput): TaskSpec & { pass: 'build' } => ({
  pass: 'build',
  input,
  hashKey: KEY,

  schema: { types: ['string', 'integer', 'string'], itemLimitBytes: 1 << 22 },
});

async function results<S extends TaskSpec>(
  spec: S,
  options: PoolOptions,
  input = spec.input,
): Promise<unknown[]> {
  const made = new Pool(options);
  const all = await collected(made.run(spec, readRecords(input)));
  await made.close();
  return all;
}

describe.each([
  ['scan', scanning],
  ['build', building],
])('%s', (_, spec) => {
  it('gives what the calling thread gives, in the same order', async () => {
    const input = await open(csv(8_000));
    const here = await results(spec(input), { threads: 0 });
    expect(here.length).toBeGreaterThan(6);
    // Millions of bytes: an element-wise matcher would take seconds.
    expect(isDeepStrictEqual(await results(spec(input), threads), here)).toBe(true);
  });
});

it('one pass after the other on the same threads, each with its own task', async () => {
  const [a, b] = [await open(csv(4_000)), await open(file('b.ndjson', '{"company_id":"b"}\n'.repeat(9_000)))];
  const started = vi.fn();
  process.on('worker', started);
  onTestFinished(() => void process.off('worker', started));
  const kept = pool();
  for (const spec of [scanning(a), building(a), scanning(b), building(b)]) {
    const here = await results(spec, { threads: 0 });
    const there = await collected(kept.run(spec, readRecords(spec.input)));
    expect(isDeepStrictEqual(there, here)).toBe(true);
  }
  expect(started).toHaveBeenCalledTimes(2);
});

it('two passes at once share the threads', async () => {
  const input = await open(csv(4_000));
  const here = [
    await results(scanning(input), { threads: 0 }),
    await results(building(input), { threads: 0 }),
  ];
  const kept = pool();
  const both = [kept.run(scanning(input), readRecords(input)), kept.run(building(input), readRecords(input))];
  const there = await Promise.all(both.map((pass) => collected<unknown>(pass)));
  expect(isDeepStrictEqual(there, here)).toBe(true);
});

it('of JSON too', async () => {
  const items = Array.from({ length: 5_000 }, (_, n) => ({ company_id: `c${n}`, n, s: 'é'.repeat(100) }));
  const input = await open(file('a.json', JSON.stringify([...items, 5])));
  expect(await results(scanning(input), threads)).toEqual(await results(scanning(input), { threads: 0 }));
});

describe('errors', () => {
  it("a batch's comes in its place, as it was thrown", async () => {
    const lines = Array.from({ length: 30_000 }, (_, n) =>
      n === 20_000 ? '{"company_id":"c"' : `{"company_id":"c${n}"}`,
    );
    const input = await open(file('a.ndjson', lines.join('\n')));
    const before: unknown[] = [];
    const error = await (async () => {
      for await (const part of pool().run(scanning(input), readRecords(input))) before.push(part);
    })().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InputError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/a\.ndjson:20001: the line is not valid JSON: \w/),
      hint: expect.stringMatching(/each line/),
      exit: 2,
    });
    expect(before.length).toBeGreaterThan(0);
  });

  it('that of the reader comes after all results before it', async () => {
    const path = csv(8_000);
    const input = await open(path);
    const whole = await results(scanning(input), { threads: 0 });
    const failing = async function* (): AsyncGenerator<Rows> {
      yield* readRecords(input);
      throw new Error('the disk is gone');
    };
    const before: unknown[] = [];
    await expect(
      (async () => {
        for await (const part of pool().run(scanning(input), failing())) before.push(part);
      })(),
    ).rejects.toThrow('the disk is gone');
    expect(before).toEqual(whole);
  });

  it.each([
    [
      'that dies is an error, not a wait',
      "parentPort.on('message', () => process.exit(3));",
      /a thread has ended/,
    ],
    ['that cannot start says why', "throw new Error('no such thing');", /no such thing/],
  ])('a worker %s', async (name, script, message) => {
    const workerUrl = await bundled(name, `import { parentPort } from 'node:worker_threads';\n${script}`);
    const input = await open(csv(2_000));
    await expect(results(scanning(input), { ...threads, workerUrl })).rejects.toThrow(message);
  });

  it('also of a worker that has failed before it is needed', async () => {
    const input = await open(csv(2_000));
    const made = new Pool({
      ...threads,
      workerUrl: await bundled('early', "throw new Error('no such thing');"),
    });
    onTestFinished(() => made.close());
    const before = ports();
    made.prepare(input);
    await expect.poll(ports).toBeLessThanOrEqual(before);
    await expect(collected(made.run(scanning(input), readRecords(input)))).rejects.toThrow('no such thing');
  });
});

it('a consumer that stops early closes the file, and the threads end with the pool', async () => {
  const input = await open(csv(8_000));
  let closed = false;
  const reading = async function* (): AsyncGenerator<Rows> {
    try {
      yield* readRecords(input);
    } finally {
      closed = true;
    }
  };
  const before = ports();
  const made = pool();
  for await (const _ of made.run(scanning(input), reading())) break;
  expect(closed).toBe(true);
  await made.close();
  await expect.poll(ports).toBeLessThanOrEqual(before);
});

it('a thread that cannot be started leaves the work to the others, which end with the pool', async () => {
  const input = await open(csv(8_000));
  const here = await results(scanning(input), { threads: 0 });
  const before = ports();
  const workerThreads: { Worker: unknown } = createRequire(import.meta.url)('node:worker_threads');
  const { Worker } = workerThreads;
  onTestFinished(() => {
    workerThreads.Worker = Worker;
    syncBuiltinESMExports();
  });
  let starts = 0;
  // As Node fails when the system has no more threads.
  workerThreads.Worker = class extends (Worker as new (...given: unknown[]) => object) {
    constructor(...given: unknown[]) {
      if (++starts === 2) throw new Error('ERR_WORKER_INIT_FAILED: EAGAIN');
      super(...given);
    }
  };
  syncBuiltinESMExports();
  const made = pool();
  expect(isDeepStrictEqual(await collected(made.run(scanning(input), readRecords(input))), here)).toBe(true);
  expect(starts).toBe(2);
  expect(ports()).toBeGreaterThan(before);
  await made.close();
  await expect.poll(ports).toBeLessThanOrEqual(before);
});

it('whoever closes second waits until the threads have ended', async () => {
  const input = await open(csv(2_000));
  const before = ports();
  const made = pool();
  await collected(made.run(scanning(input), readRecords(input)));
  void made.close();
  await made.close();
  expect(ports()).toBeLessThanOrEqual(before);
});

it('sends nothing after the signal', async () => {
  const input = await open(csv(20_000));
  const stop = new AbortController();
  let read = 0;
  const reading = async function* (): AsyncGenerator<Rows> {
    for await (const batch of readRecords(input)) {
      if (++read === 2) stop.abort(new Error('enough'));
      yield batch;
    }
  };
  await expect(collected(pool().run(scanning(input), reading(), stop.signal))).rejects.toThrow('enough');
  expect(read).toBe(2);
});

it('reads no further ahead than two batches a thread', async () => {
  const input = await open(csv(20_000));
  let read = 0;
  const reading = async function* (): AsyncGenerator<Rows> {
    for await (const batch of readRecords(input)) {
      read++;
      yield batch;
    }
  };
  let taken = 0;
  for await (const _ of pool().run(scanning(input), reading())) {
    taken++;
    expect(read - taken).toBeLessThan(2 * 2);
  }
  expect(taken).toBe(read);
});

it('the memory of a batch comes back when a thread is done with it', async () => {
  const input = await open(csv(1000));
  expect(await collected(pool().run(scanning(input), readRecords(input)))).toHaveLength(1);
  // Whoever takes all of it finds in some what the thread has read.
  const taken = Array.from({ length: 10 }, () => Buffer.from(textMemory.take(64 * 1024).buffer));
  expect(taken.some((memory) => memory.includes('c999,999,"name'))).toBe(true);
});

it('a small file starts no thread', async () => {
  const input = await open('companies.csv');
  const { leastBytes: _, ...byDefault } = threads;
  const missing = { ...byDefault, workerUrl: pathToFileURL(join(folder, 'missing.mjs')) };
  expect(await results(scanning(input), missing)).toHaveLength(1);
});

it('ends with the reason of the signal, and its threads with the pool, however busy they are', async () => {
  const script =
    "import { parentPort } from 'node:worker_threads';\nparentPort.on('message', () => { while (true); });";
  const made = new Pool({ ...threads, workerUrl: await bundled('busy', script) });
  const input = await open(csv(2_000));
  const before = ports();
  const stop = new AbortController();
  const reading = collected(made.run(scanning(input), readRecords(input), stop.signal));
  setImmediate(() => stop.abort(new Error('enough')));
  await expect(reading).rejects.toThrow('enough');
  await made.close();
  await expect.poll(ports).toBeLessThanOrEqual(before);
});

it('a thread begins its next batch while the calling thread is busy', async () => {
  const seen = join(folder, 'seen');
  writeFileSync(seen, '');
  const script = `
    import { appendFileSync } from 'node:fs';
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ number, order }) => {
      appendFileSync(${JSON.stringify(seen)}, '.');
      parentPort.postMessage({ number, reply: { result: number, memory: order.batch.bytes.buffer } });
    });`;
  const made = new Pool({ ...threads, workerUrl: await bundled('queue', script) });
  onTestFinished(() => made.close());
  const input = await open(csv(20_000));
  const batches = await collected(readRecords(input));
  const all = 2 * 2;
  let begun = 0;
  const reading = async function* (): AsyncGenerator<Rows> {
    for (const [at, batch] of batches.entries()) {
      if (at === all - 1) {
        setImmediate(() => {
          const deadline = Date.now() + 10_000;
          while (begun < all && Date.now() < deadline) begun = readFileSync(seen).length;
        });
      }
      yield batch;
    }
  };
  await collected(made.run(scanning(input), reading()));
  expect(begun).toBe(all);
});

/** Rows of Parquet, whose texts and places share the memory of the batch. */
function columnar(): Rows {
  const memory = new ArrayBuffer(64);
  const cells = [1, 2].map((at) => {
    const [bytes, starts] = [new Uint8Array(memory, 16 * at, 3), new Uint32Array(memory, 16 * at + 4, 3)];
    bytes.set(Buffer.from(`ab${at}`));
    starts.set([0, 2, 3]);
    return { bytes, starts, kinds: at === 1 ? null : Uint8Array.of(0, 6) };
  });
  const lines = Uint32Array.of(1, 2);
  return {
    bytes: new Uint8Array(memory, 0, 0),
    ...new CellLists(0).take(),
    width: 2,
    cells,
    lines,
    first: 0,
  };
}

it.each([
  ['as they are read', columnar],
  // Memory of the pool that small arrays share cannot be moved on Node 22.
  ['as they were kept on disk', () => deserialize(serialize(columnar())) as Rows],
])('rows go to another thread %s', (_, make) => {
  const { port1, port2 } = new MessageChannel();
  const rows = make();
  const parts = moved(rows);
  for (const { byteLength } of parts) expect(byteLength).not.toBe(Buffer.poolSize);
  port1.postMessage(rows, parts);
  expect(receiveMessageOnPort(port2)!.message).toEqual(columnar());
  expect(rows.bytes.buffer.byteLength).toBe(0); // moved, not copied
  port1.close();
});
