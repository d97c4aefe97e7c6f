/** Runs a task over batches and gives the results in order. */
import { createTask, type TaskResults, type TaskSpec } from './task.js';
import type { RecordBatch } from './types.js';

export async function* runTask<S extends TaskSpec>(
  spec: S,
  batches: AsyncIterable<RecordBatch>,
  _options: { threads: number },
): AsyncGenerator<TaskResults[S['pass']]> {
  const task = createTask(spec);
  for await (const batch of batches) yield task(batch) as TaskResults[S['pass']];
}
