/** A worker thread: receives batches and sends results. */
import { parentPort } from 'node:worker_threads';
import { readBack, type StoredBatch } from '../record-cache.js';
import type { Rows } from '../rows.js';
import { itemMemory, textMemory } from '../spare-memory.js';
import { createTask, failed, type Order, type Reply, type Result, transferable } from './protocol.js';

const port = parentPort!;
let task: Promise<(batch: Rows) => Result> | undefined;
/** Work is done in order. */
let work = Promise.resolve();

port.on('message', (order: Order) => {
  if (order.memory) itemMemory.give(order.memory);
  if (order.type === 'task') {
    task = createTask(order.spec);
    task.catch(() => {}); // reported with the first batch
  } else {
    work = work.then(() => perform(order.batch)).catch((error: unknown) => port.postMessage(failed(error)));
  }
});

async function perform(given: Rows | StoredBatch): Promise<void> {
  const batch = 'fd' in given ? readBack(given) : given;
  const result = (await task!)(batch);
  const memory = batch.bytes.buffer;
  if (batch === given) return send({ type: 'result', result, memory }, [...transferable(result), memory]);
  textMemory.give(memory);
  send({ type: 'result', result }, transferable(result));
}

const send = (reply: Reply, memory: ArrayBuffer[]): void => port.postMessage(reply, memory);
