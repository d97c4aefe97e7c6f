/** A worker thread: batches in, results out. */
import { parentPort } from 'node:worker_threads';
import { failed, handedOver, type Order, type Reply } from '../messages.js';
import { createTask, type Task, type TaskSpec } from './task.js';

let task: Task<TaskSpec['pass']> | undefined;

parentPort!.on('message', (order: Order) => {
  if (order.type === 'task') {
    task = createTask(order.spec);
    return;
  }
  try {
    const result = task!(order.batch);
    parentPort!.postMessage({ type: 'result', result } satisfies Reply, handedOver(result));
  } catch (error) {
    parentPort!.postMessage(failed(error));
  }
});
