/**
 * The code of the writer thread (`writer.ts`): runs one transaction for each message, and replies with its
 * result.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Tables } from '../tables.js';
import type { SqliteDatabase } from './driver.js';
import { openDatabase } from './open.js';
import type { WriterData, WriterOrder, WriterReply } from './writer.js';

const { folder } = workerData as WriterData;
let now = 0;
let tables: Tables<{ db: SqliteDatabase }> | undefined;

parentPort!.on('message', async (order: WriterOrder) => {
  if (order === null) {
    await tables?.db.close();
    parentPort!.close();
    return;
  }
  let reply: WriterReply = null;
  try {
    now = order.now;
    tables ??= new Tables(folder, { db: openDatabase(folder) }, () => now);
    await tables.putAll(order.some, async () => {});
  } catch (error) {
    reply = error instanceof Error ? error.message : String(error);
  }
  parentPort!.postMessage(reply);
});
