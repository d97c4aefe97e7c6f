/** A worker thread: receives batches and sends results, or reads a file and sends its batches. */
import { parentPort } from 'node:worker_threads';
import { readBack, type StoredBatch } from '../record-cache.js';
import type { Rows } from '../rows.js';
import { itemMemory, textMemory } from '../spare-memory.js';
import type { OpenedInput } from '../types.js';
import {
  createTask,
  failed,
  type Order,
  type Reply,
  type Result,
  recordsOf,
  transferable,
} from './protocol.js';

/** How many batches to read ahead. */
const AHEAD = 4;

const port = parentPort!;
let task: Promise<(batch: Rows) => Result> | undefined;
/** Work is done in order: reading a file takes many turns of the event loop. */
let work = Promise.resolve();
/** Batches that were sent and not yet taken. */
let waiting = 0;
let resume = (): void => {};

port.on('message', (order: Order) => {
  if (order.memory) (order.type === 'taken' ? textMemory : itemMemory).give(order.memory);
  if (order.type === 'task') {
    task = createTask(order.spec);
    task.catch(() => {}); // reported with the first batch
  } else if (order.type === 'taken') {
    waiting--;
    resume();
  } else {
    work = work
      .then(() => (order.type === 'read' ? read(order.input) : perform(order.batch)))
      .catch((error: unknown) => port.postMessage(failed(error)));
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

async function read(input: OpenedInput): Promise<void> {
  for await (const batch of recordsOf(input)) {
    send({ type: 'read', batch }, transferable(batch));
    waiting++;
    while (waiting >= AHEAD) {
      await new Promise<void>((resolve) => {
        resume = resolve;
      });
    }
  }
  send({ type: 'read', batch: null }, []);
}

const send = (reply: Reply, memory: ArrayBuffer[]): void => port.postMessage(reply, memory);
