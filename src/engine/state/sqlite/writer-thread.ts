/**
 * The code of the writer thread (`writer.ts`): runs one transaction for each message, and replies with its
 * result.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Access } from '../access.js';
import { Requests } from '../recorder.js';
import { openDatabase, type SqliteDatabase } from './database.js';
import type { WriterData, WriterOrder, WriterReply } from './writer.js';

const { folder } = workerData as WriterData;
let now = 0;
let db: SqliteDatabase | undefined;
let requests: Requests | undefined;

parentPort!.on('message', async (order: WriterOrder) => {
  if (order === null) {
    await db?.close();
    parentPort!.close();
    return;
  }
  let reply: WriterReply = null;
  try {
    now = order.now;
    db ??= openDatabase(folder);
    requests ??= new Requests(new Access(db, folder, () => now));
    await requests.write(order.some);
  } catch (error) {
    reply = error instanceof Error ? error.message : String(error);
  }
  parentPort!.postMessage(reply);
});
