/** Recording of requests: in which transactions, when it is on disk, and what becomes of a failure of SQLite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../../src/engine/state/database.js';
import { openSqlite } from '../../../src/engine/state/sqlite/backend.js';
import { stateOf } from '../../../src/engine/state/state.js';
import { acknowledged, aJob, aRequest, RUN, SCOPE, sender } from './support/state.js';

/** A state with a run, which counts the transactions that it writes. */
async function counting() {
  const folder = mkdtempSync(join(tmpdir(), 'profiles-recorder-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { db, ...backend } = openSqlite(folder);
  const count = { writes: 0 };
  const write: Database['write'] = (work) => {
    count.writes++;
    return db.write(work);
  };
  const counted = { read: db.read.bind(db), close: () => db.close(), write };
  const state = stateOf(folder, Buffer.alloc(32), { ...backend, db: counted }, Date.now);
  onTestFinished(() => state.close());
  const { start, record } = sender(state);
  await start();
  count.writes = 0;
  return { state, record, count, file: join(folder, 'state.db') };
}

test('what is recorded in one turn is one transaction, and an acknowledgement goes with the next intent', async () => {
  const { record, count } = await counting();
  await Promise.all([1, 2, 3].map((seq) => record(aRequest({ seq }))));
  expect(count.writes).toBe(1);
  await Promise.all([record(acknowledged(aJob('one'))), record(aRequest({ seq: 4 }))]);
  expect(count.writes).toBe(2);
  const acknowledging = record(acknowledged(aJob('two'), { seq: 2 }));
  await new Promise(setImmediate);
  expect(count.writes).toBe(2);
  await acknowledging;
  expect(count.writes).toBe(3);
});

test('an intent that may wait goes with the next one, which may not, or after a few milliseconds', async () => {
  const { state, count } = await counting();
  const record = (seq: number, mayWait: boolean): Promise<void> =>
    state.requests.record(RUN, SCOPE, 'companies', aRequest({ seq }), null, mayWait);
  const waiting = record(1, true);
  await new Promise(setImmediate);
  expect(count.writes).toBe(0);
  await Promise.all([waiting, record(2, false)]);
  expect(count.writes).toBe(1);
  await record(3, true);
  expect(count.writes).toBe(2);
});

test('what resolved is on disk, in the order of its asking', async () => {
  const { record, file } = await counting();
  await Promise.all([1, 2, 3].map((seq) => record(aRequest({ seq }))));
  const disk = new DatabaseSync(file, { readOnly: true });
  expect(disk.prepare('SELECT seq, state FROM requests ORDER BY seq').all()).toEqual(
    [1, 2, 3].map((seq) => ({ seq, state: 'intent' })),
  );
  disk.close();
});

test('a failure of SQLite is told as it is, and nothing is recorded after it', async () => {
  const { state, record, file } = await counting();
  const other = new DatabaseSync(file);
  other.exec("CREATE TRIGGER full BEFORE INSERT ON requests BEGIN SELECT raise(ABORT, 'disk is full'); END");
  const failed = await record(aRequest()).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    name: 'StateError',
    message: expect.stringContaining('cannot record the import in') as string,
    hint: 'free some disk space, then resume',
  });
  other.exec('DROP TRIGGER full');
  other.close();
  await expect(record(aRequest())).rejects.toBe(failed);
  expect(await state.requests.of(RUN)).toEqual([]);
});

test('while another process has the write lock, this one waits for it and hears signals', async () => {
  const { record, file } = await counting();
  const other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  const recorded = record(aRequest());
  // A turn of the event loop for each.
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(other.prepare('SELECT count(*) AS requests FROM requests').get()).toEqual({ requests: 0 });
  other.exec('COMMIT');
  await recorded;
  expect(other.prepare('SELECT count(*) AS requests FROM requests').get()).toEqual({ requests: 1 });
  other.close();
});
