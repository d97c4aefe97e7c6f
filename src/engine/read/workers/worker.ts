/** A thread of the pool. */
import { deserialize } from 'node:v8';
import { Transfer, worker } from 'workerpool';
import type { Rows } from '../rows.js';
import { itemMemory } from '../text/bytes.js';
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
const tasks = new Map<number, Promise<(batch: Rows) => Result>>();
const MOST_TASKS = 4;

function taskOf({ pass, spec }: Order): Promise<(batch: Rows) => Result> {
  const known = tasks.get(pass);
  if (known) return known;
  const task = createTask(deserialize(Buffer.from(spec)) as TaskSpec);
  for (const oldest of tasks.keys()) if (tasks.size >= MOST_TASKS) tasks.delete(oldest);
  tasks.set(pass, task);
  return task;
}

async function run(order: Order): Promise<unknown> {
  if (order.spare) itemMemory.give(order.spare);
  try {
    const result = (await taskOf(order))(order.batch);
    const memory = order.batch.bytes.buffer;
    const reply: Reply = { result, memory };
    return new Transfer(reply, [...moved(result), memory]);
  } catch (error) {
    return { thrown: thrownOf(error) } satisfies Reply;
  }
}

keepYoungGenerationSmall(true);
worker({ run });
