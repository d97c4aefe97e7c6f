/**
 * The code of the writer thread (`writer.ts`): runs one transaction for each message, and replies with its
 * result.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Access } from '../access.js';
import { Requests } from '../recorder.js';
import { openDatabase, type SqliteDatabase } from './database.js';
import type { WriterOrder, WriterReply } from './writer.js';

const folder = workerData as string;
let now = 0;
let db: SqliteDatabase | undefined;
let requests: Requests | undefined;

async function write({ some }: NonNullable<WriterOrder>): Promise<void> {
  db ??= openDatabase(folder);
  requests ??= new Requests(new Access(db, folder, () => now));
  await requests.write(some);
}

parentPort!.on('message', async (order: WriterOrder) => {
  if (order === null) {
    await db?.close();
    return parentPort!.close();
  }
  now = order.now;
  const reply: WriterReply = await write(order).then(
    () => null,
    (error: Error) => error.message,
  );
  parentPort!.postMessage(reply);
});
