/** The thread that writes what is recorded: what it writes is what this thread would write, and what becomes of its failures. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import fc from 'fast-check';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { RequestRecord } from '../../../src/engine/model/requests.js';
import type { Database } from '../../../src/engine/state/database.js';
import { openSqlite } from '../../../src/engine/state/sqlite/backend.js';
import type { SqliteDatabase } from '../../../src/engine/state/sqlite/database.js';
import { WriterThread } from '../../../src/engine/state/sqlite/writer.js';
import { stateOf } from '../../../src/engine/state/state.js';
import { built } from '../../support/child.js';
import {
  acknowledged,
  aJob,
  aRequest,
  aRun,
  Calendar,
  printsOf,
  RUN,
  SCOPE,
  sender,
} from './support/state.js';

const THREAD = pathToFileURL(join(import.meta.dirname, '../../../dist/state-writer.cjs'));

beforeAll(built);

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'profiles-writer-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A state with a run of three requests or less. @param thread null: this thread writes */
async function stateWith(thread: URL | null, folder = scratch()) {
  const clock = new Calendar();
  const { writer: _, ...backend } = openSqlite(folder);
  const writer = thread && new WriterThread(folder, backend.db as SqliteDatabase, thread);
  const secret = Buffer.alloc(32);
  const state = stateOf(folder, secret, { ...backend, ...(writer && { writer }) }, clock.now);
  await state.runs.start(aRun());
  if (thread) await state.writer?.start();
  const none = { ids: new BigUint64Array(), lines: [] };
  /** Records a request, an intent with its rows. */
  const record = (request: RequestRecord, pairs: [number, number][] | null, shared: bigint[] = []) => {
    const prints = pairs && printsOf(...pairs);
    const sent = { ids: prints?.ids ?? none.ids, lines: [{ input: 0, lines: [2, 3, 4] }] };
    const rows = { sent, leftOut: none, overtaken: none, doubtful: none };
    return state.requests.record(RUN, SCOPE, 'companies', request, prints, new Set(shared), prints && rows);
  };
  return { ...state, clock, record, folder, close: () => state.close() };
}

/** All that is in its tables. */
function contentsIn(folder: string): unknown {
  const db = new DatabaseSync(join(folder, 'state.db'), { readOnly: true });
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  const all = tables.map(({ name }) => [name, db.prepare(`SELECT * FROM ${name}`).all()]);
  db.close();
  return all.map(([name, rows]) => [
    name,
    (rows as { name?: string }[]).filter((row) => row.name !== 'secret'),
  ]);
}

const steps = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constantFrom('send' as const, 'acknowledge' as const, 'withdraw' as const, 'complete' as const),
      request: fc.integer({ min: 1, max: 3 }),
      pairs: fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 2 })), {
        selector: ([id]) => id,
        minLength: 1,
        maxLength: 3,
      }),
    }),
    fc.record({ do: fc.constantFrom('others send' as const, 'others complete' as const) }),
  ),
  { minLength: 1, maxLength: 12 },
);

type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

async function carryOut(all: readonly Step[], state: Awaited<ReturnType<typeof stateWith>>): Promise<void> {
  const sent = new Set<number>();
  for (const step of all) {
    state.clock.pass(1_000);
    if (step.do === 'others send') {
      const send = await state.sends.startProfile(SCOPE, 'companies', BigUint64Array.of(1n, 2n));
      await state.jobs.add(SCOPE, aJob('other'), { kind: 'companies', rows: 2, send });
    } else if (step.do === 'others complete') {
      await state.jobs.update(SCOPE, aJob('other', { status: 'completed' }));
    } else if ('request' in step) {
      const { request: seq, pairs } = step;
      const job = aJob(`job-${seq}`);
      if (step.do === 'send') {
        const shared = pairs.filter(([id]) => id === 1).map(([id]) => BigInt(id));
        await state.record(aRequest({ seq, rows: pairs.length }), pairs, shared);
        sent.add(seq);
      }
      if (!sent.has(seq)) continue;
      if (step.do === 'acknowledge') await state.record(acknowledged(job, { seq }), null);
      if (step.do === 'withdraw') await state.record(aRequest({ seq, state: 'withdrawn' }), null);
      if (step.do === 'complete') await state.jobs.update(SCOPE, { ...job, status: 'completed' });
    }
  }
}

test('it writes what this thread would write', { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const folders = [];
      for (const thread of [null, THREAD]) {
        const folder = mkdtempSync(join(tmpdir(), 'profiles-writer-'));
        folders.push(folder);
        const state = await stateWith(thread, folder);
        await carryOut(all, state);
        await state.close();
      }
      const [here, there] = folders.map(contentsIn);
      for (const folder of folders) rmSync(folder, { recursive: true });
      expect(there).toEqual(here);
    }),
    { numRuns: 15, seed: 7 },
  );
});

test('what resolved is on disk, in the order of its asking, and what is read next finds it', async () => {
  const state = await stateWith(THREAD);
  const recorded = [1, 2, 3].map((seq) => state.record(aRequest({ seq }), [[seq, 1]]));
  // Asked for after them, of this thread's connection.
  const read = state.requests.of(RUN);
  await recorded[2];
  expect((await state.requests.of(RUN)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  const disk = new DatabaseSync(join(state.folder, 'state.db'), { readOnly: true });
  expect(disk.prepare('SELECT seq, state FROM requests ORDER BY seq').all()).toEqual(
    [1, 2, 3].map((seq) => ({ seq, state: 'intent' })),
  );
  disk.close();
  await read;
  await Promise.all(recorded);
  await state.close();
});

test('a failure of SQLite is told as it is, and nothing is recorded after it', async () => {
  const state = await stateWith(THREAD);
  const other = new DatabaseSync(join(state.folder, 'state.db'));
  other.exec("CREATE TRIGGER full BEFORE INSERT ON requests BEGIN SELECT raise(ABORT, 'disk is full'); END");
  const failed = await state.record(aRequest(), [[1, 1]]).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    name: 'StateError',
    message: expect.stringContaining('cannot record the import in') as string,
    hint: 'free some disk space, then resume',
  });
  other.exec('DROP TRIGGER full');
  other.close();
  await expect(state.record(aRequest(), [[1, 1]])).rejects.toBe(failed);
  expect(await state.requests.of(RUN)).toEqual([]);
  await state.close();
});

test.each([
  ['that throws as it starts', 'throw new Error("no memory")', 'no memory'],
  [
    'that ends when it is asked',
    'require("node:worker_threads").parentPort.once("message", () => process.exit(3))',
    'the thread that writes it ended',
  ],
])('a thread %s is a failure, not a wait', async (_, code, message) => {
  const folder = scratch();
  const file = join(folder, 'thread.cjs');
  writeFileSync(file, code);
  const state = await stateWith(pathToFileURL(file), folder);
  await expect(state.record(aRequest(), [[1, 1]])).rejects.toThrow(message);
  await expect(state.requests.written()).rejects.toThrow(message);
  await state.close();
});

test('where there is no such file, this thread writes', async () => {
  const state = await stateWith(pathToFileURL('/nowhere/thread.cjs'));
  await state.record(aRequest(), [[1, 1]]);
  expect(await state.requests.of(RUN)).toHaveLength(1);
  await state.close();
});

test('the log is folded in when both connections are closed', async () => {
  const { folder, record, close } = await stateWith(THREAD);
  const logBytes = () => statSync(join(folder, 'state.db-wal'), { throwIfNoEntry: false })?.size ?? 0;
  await record(aRequest(), [[1, 1]]);
  expect(logBytes()).toBeGreaterThan(0);
  await close();
  expect(logBytes()).toBe(0);
});

test('what is recorded in one turn is one transaction, and an acknowledgement goes with the next intent', async () => {
  const folder = scratch();
  const { writer: _, db, ...backend } = openSqlite(folder);
  let writes = 0;
  const write: Database['write'] = (work) => {
    writes++;
    return db.write(work);
  };
  const counted = { read: db.read.bind(db), close: () => db.close(), write };
  const state = stateOf(folder, Buffer.alloc(32), { ...backend, db: counted }, Date.now);
  const { start, record } = sender(state);
  await start();
  writes = 0;
  await Promise.all([1, 2, 3].map((seq) => record(aRequest({ seq }))));
  expect(writes).toBe(1);
  await Promise.all([record(acknowledged(aJob('one'))), record(aRequest({ seq: 4 }))]);
  expect(writes).toBe(2);
  const acknowledging = record(acknowledged(aJob('two'), { seq: 2 }));
  await new Promise(setImmediate);
  expect(writes).toBe(2);
  await acknowledging;
  expect(writes).toBe(3);
  await state.close();
});
