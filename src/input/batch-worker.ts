/** A worker thread: batches in, results out. */
import { parentPort, workerData } from 'node:worker_threads';
import { failed, handedOver, type Reply } from './messages.js';
import { createTask, type TaskSpec } from './task.js';
import type { RecordBatch } from './types.js';

const task = createTask(workerData as TaskSpec);

parentPort!.on('message', (batch: RecordBatch) => {
  try {
    const result = task(batch);
    parentPort!.postMessage({ type: 'result', result } satisfies Reply, handedOver(result));
  } catch (error) {
    parentPort!.postMessage(failed(error));
  }
});
