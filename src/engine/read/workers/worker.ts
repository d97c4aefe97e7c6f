/** A worker thread: batches in, results out. */
import { parentPort } from 'node:worker_threads';
import type { RecordBatch } from '../types.js';
import { createTask, failed, type Order, type Reply, type Result, transferable } from './protocol.js';

let task: ((batch: RecordBatch) => Result) | undefined;

parentPort!.on('message', (order: Order) => {
  if (order.type === 'task') {
    task = createTask(order.spec);
    return;
  }
  try {
    const result = task!(order.batch);
    parentPort!.postMessage({ type: 'result', result } satisfies Reply, transferable(result));
  } catch (error) {
    parentPort!.postMessage(failed(error));
  }
});
