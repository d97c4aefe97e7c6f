/** A worker thread: batches in, results out. */
import { parentPort } from 'node:worker_threads';
import { itemMemory } from '../spare-memory.js';
import type { RecordBatch } from '../types.js';
import { createTask, failed, type Order, type Reply, type Result, transferable } from './protocol.js';

let task: Promise<(batch: RecordBatch) => Result> | undefined;

parentPort!.on('message', async (order: Order) => {
  if (order.type === 'task') {
    task = createTask(order.spec);
    task.catch(() => {}); // told with the first batch
    return;
  }
  if (order.memory) itemMemory.give(order.memory);
  try {
    const result = (await task!)(order.batch);
    const memory = order.batch.bytes.buffer;
    parentPort!.postMessage({ type: 'result', result, memory } satisfies Reply, [
      ...transferable(result),
      memory,
    ]);
  } catch (error) {
    parentPort!.postMessage(failed(error));
  }
});
