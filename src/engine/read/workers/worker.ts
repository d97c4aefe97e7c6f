/** A worker thread: batches in, results out; or stretches of its input, which it reads by itself. */
import { parentPort } from 'node:worker_threads';
import { itemMemory } from '../spare-memory.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import {
  createTask,
  failed,
  type Order,
  type Reply,
  type Result,
  recordsOf,
  transferable,
} from './protocol.js';

type Work = Extract<Order, { type: 'batch' | 'stretch' }>;

const port = parentPort!;
let task: Promise<(batch: RecordBatch) => Result> | undefined;
let input: OpenedInput | undefined;
/** One after another: a stretch takes many turns. */
let work = Promise.resolve();
/** Results of stretches that nobody has taken yet. */
let waiting = 0;
let resume = (): void => {};

port.on('message', (order: Order) => {
  if (order.memory) itemMemory.give(order.memory);
  if (order.type === 'task') {
    task = createTask(order.spec);
    task.catch(() => {}); // told with the first batch
    input = order.spec.input;
  } else if (order.type === 'taken') {
    waiting--;
    resume();
  } else {
    work = work.then(() => perform(order)).catch((error: unknown) => port.postMessage(failed(error)));
  }
});

async function perform(order: Work): Promise<void> {
  if (order.type === 'batch') {
    const result = (await task!)(order.batch);
    const memory = order.batch.bytes.buffer;
    send({ type: 'result', result, memory }, [...transferable(result), memory]);
    return;
  }
  const toResult = await task!;
  for await (const batch of recordsOf(input!, order.stretch)) {
    const result = toResult(batch);
    send({ type: 'stretch', result }, transferable(result));
    waiting++;
    while (waiting >= order.ahead) {
      await new Promise<void>((resolve) => {
        resume = resolve;
      });
    }
  }
  send({ type: 'stretch', result: null }, []);
}

const send = (reply: Reply, memory: ArrayBuffer[]): void => port.postMessage(reply, memory);
