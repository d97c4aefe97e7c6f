/** A thread of the pool. */
import { deserialize } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import type { Rows } from '../rows.js';
import { itemMemory } from '../text/memory.js';
import {
  createTask,
  keepYoungGenerationSmall,
  moved,
  type Order,
  type Reply,
  type Result,
  type TaskSpec,
  thrownOf,
} from './task.js';

/** The tasks of passes; those of a few passes may alternate. */
const tasks = new Map<number, (batch: Rows) => Result>();
const MOST_TASKS = 4;

function taskOf({ pass, spec }: Order): (batch: Rows) => Result {
  const known = tasks.get(pass);
  if (known) return known;
  const task = createTask(deserialize(Buffer.from(spec)) as TaskSpec);
  for (const oldest of tasks.keys()) if (tasks.size >= MOST_TASKS) tasks.delete(oldest);
  tasks.set(pass, task);
  return task;
}

function run(order: Order): [reply: Reply, moved: ArrayBuffer[]] {
  if (order.spare) itemMemory.give(order.spare);
  try {
    const result = taskOf(order)(order.batch);
    const memory = order.batch.bytes.buffer;
    return [{ result, memory }, [...moved(result), memory]];
  } catch (error) {
    return [{ thrown: thrownOf(error) }, []];
  }
}

keepYoungGenerationSmall(true);
parentPort!.on('message', ({ number, order }: { number: number; order: Order }) => {
  const [reply, moved] = run(order);
  parentPort!.postMessage({ number, reply }, moved);
});
