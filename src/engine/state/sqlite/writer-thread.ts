/**
 * The code of the writer thread (`writer.ts`): runs one transaction for each message, and replies with its
 * result.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Access } from '../access.js';
import { Requests } from '../recorder.js';
import { openDatabase } from './database.js';
import type { WriterOrder, WriterReply } from './writer.js';

const folder = workerData as string;
let now = 0;
let opened: { db: ReturnType<typeof openDatabase>; requests: Requests } | undefined;

function open(): NonNullable<typeof opened> {
  const db = openDatabase(folder);
  return { db, requests: new Requests(new Access(db, folder, () => now)) };
}

parentPort!.on('message', async (order: WriterOrder) => {
  if (order === null) {
    await opened?.db.close();
    parentPort!.close();
    return;
  }
  let reply: WriterReply = null;
  try {
    now = order.now;
    opened ??= open();
    await opened.requests.write(order.some);
  } catch (error) {
    reply = (error as Error).message;
  }
  parentPort!.postMessage(reply);
});
