/** What is to be sent where much of it is known: told by the plan, so that the fingerprints are not needed any more. */
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { FingerprintIndex } from '../../../src/engine/fingerprint-index.js';
import type { Known } from '../../../src/engine/plan/changes.js';
import { type Scanned, scanAll } from '../../../src/engine/plan/plan.js';
import { Pool } from '../../../src/engine/read/index.js';
import { itemsOf } from '../../../src/engine/send/body.js';
import { type ChunkDeps, chunksOfKind } from '../../../src/engine/send/read-chunks.js';
import { file, HERE, KEY, open } from '../read/reading.js';

const SIGNAL = new AbortController().signal;

/** Rows of names and numbers. */
const table = (rows: number, name: (row: number) => string, n: string | number = 1): string =>
  `company_id,n,name\n${Array.from({ length: rows }, (_, row) => `c${row},${n},${name(row)}\n`).join('')}`;

async function scanned(path: string, known: Known | undefined, pool = HERE): Promise<Scanned> {
  const scan = scanAll([await open(path, { kind: 'companies' })], {
    hashKey: KEY,
    itemLimitBytes: 4_000_000,
    pool,
    signal: SIGNAL,
    known: async () => known,
    reject: () => {},
  });
  for (;;) {
    const next = await scan.next();
    if (next.done) return next.value;
  }
}

const depsOf = (known: Known | undefined, pool = HERE): ChunkDeps => ({
  options: { changedOnly: true, wait: true, canary: null },
  limits: { items: 100, bytes: 4_000_000 },
  hashKey: KEY,
  pool,
  signal: SIGNAL,
  known: async () => known,
  repeats: async () => null,
  recorded: () => [],
  isSentAgain: () => true,
  startAt: () => null,
});

/** Identifiers that go out, and how many rows do not. */
async function sent(of: Scanned, deps: ChunkDeps): Promise<{ ids: string[]; unchanged: number }> {
  const result = { ids: [] as string[], unchanged: 0 };
  for await (const chunk of chunksOfKind(of, 'companies', deps)) {
    result.unchanged += chunk.unchanged;
    for (const item of itemsOf(chunk)) {
      result.ids.push((JSON.parse(Buffer.from(item).toString()) as { company_id: string }).company_id);
    }
  }
  return result;
}

/** What is known once all rows of a file were completed. */
async function completed(path: string): Promise<Known & { types: Map<string, string> }> {
  const known = { index: new FingerprintIndex(1_000), types: new Map<string, string>() };
  const of = await scanned(path, undefined);
  for await (const { prints } of chunksOfKind(of, 'companies', depsOf(undefined)))
    known.index.apply(prints, true);
  for (const [key, type] of of.inputs[0]!.scan.types) if (type !== null) known.types.set(key, type);
  return known;
}

/** Bytes that look-ups go through. */
const memoryOf = ({ index }: Known): number => index.tables.contents.byteLength;

it.each([
  ['are kept', 200, (row: number) => (row % 50 === 7 ? 'new' : 'old'), ['c7', 'c57', 'c107', 'c157'], 196],
  [
    'are too many to be kept',
    30,
    () => 'n'.repeat(1_000_000),
    Array.from({ length: 30 }, (_, row) => `c${row}`),
    0,
  ],
])(
  'where changed rows %s, they go out without the fingerprints, as often as they are asked for',
  async (_, rows, name, ids, unchanged) => {
    const known = await completed(
      file(
        'a.csv',
        table(rows, () => 'old'),
      ),
    );
    const of = await scanned(file('b.csv', table(rows, name)), known);
    expect(memoryOf(known)).toBeGreaterThan(0);
    for (let time = 0; time < 2; time++) {
      expect(await sent(of, depsOf(known))).toEqual({ ids, unchanged });
      expect(memoryOf(known)).toBe(0);
    }
  },
);

it('where types are not what they were, rows are told by the fingerprints', async () => {
  const known = await completed(
    file(
      'a.csv',
      table(9, () => 'x', 1),
    ),
  );
  known.types.set('n', 'string');
  const of = await scanned(
    file(
      'b.csv',
      table(9, (row) => (row === 4 ? 'y' : 'x')),
    ),
    known,
  );
  expect(of.inputs[0]!.kept).toBeNull();
  expect(await sent(of, depsOf(known))).toEqual({ ids: ['c4'], unchanged: 8 });
  expect(memoryOf(known)).toBeGreaterThan(0);
});

it('the threads that told the rows are let go with what they were given', async () => {
  const ended: Promise<unknown>[] = [];
  const started = (worker: Worker): void => void ended.push(once(worker, 'exit'));
  process.on('worker', started);
  onTestFinished(() => void process.off('worker', started));
  const workerUrl = new URL('../../../dist/worker.cjs', import.meta.url);
  const pool = new Pool({ threads: 1, workerUrl, leastBytes: 0 });
  onTestFinished(() => pool.close());
  const known = await completed(
    file(
      'a.csv',
      table(9, () => 'x'),
    ),
  );
  const of = await scanned(
    file(
      'b.csv',
      table(9, (row) => (row === 4 ? 'y' : 'x')),
    ),
    known,
    pool,
  );
  expect(ended).toHaveLength(1);
  const chunks = chunksOfKind(of, 'companies', depsOf(known, pool));
  await chunks.next();
  await ended[0];
  await chunks.return();
});
