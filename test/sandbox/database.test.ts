/** Making the data while another process does. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { DATABASE_FILE, openDatabase } from '../../src/sandbox/database.js';

/** Holds a lock on the file from a thread of its own, for a tenth of a second after it has said so. */
const HOLDER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { DatabaseSync } = require('@photostructure/sqlite');
  const db = new DatabaseSync(workerData.file);
  db.exec(workerData.lock);
  parentPort.postMessage('held');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  db.exec('COMMIT');
  db.close();
`;

// SQLite waits for some locks by itself, and refuses the switch to its write-ahead log at once.
it.each(['BEGIN IMMEDIATE; CREATE TABLE other (x);', 'BEGIN EXCLUSIVE;'])('waits for %s', async (lock) => {
  const folder = mkdtempSync(join(tmpdir(), 'profiles-test-'));
  const file = join(folder, DATABASE_FILE);
  writeFileSync(file, '', { mode: 0o600 });
  const holder = new Worker(HOLDER, { eval: true, workerData: { file, lock } });
  const ended = new Promise((resolve) => holder.once('exit', resolve));
  await new Promise((resolve, reject) => {
    holder.once('message', resolve);
    holder.once('error', reject);
  });
  const db = openDatabase(folder);
  expect(db.one('PRAGMA journal_mode')).toEqual({ journal_mode: 'wal' });
  db.close();
  expect(await ended).toBe(0);
});
