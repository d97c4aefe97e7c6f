/** What the calling thread and a worker say to each other. Arrays are handed over, not copied. */
import { InputError } from '../errors.js';
import type { RecordBatch } from './types.js';
import type { TaskResults, TaskSpec } from './workers/task.js';

export type Order = { type: 'task'; spec: TaskSpec } | { type: 'batch'; batch: RecordBatch };

/** To each batch. */
export type Reply =
  | { type: 'result'; result: TaskResults['scan'] | TaskResults['build'] }
  /** The input's fault: a sentence for the user. */
  | { type: 'input'; message: string; hint: string | undefined }
  /** Ours. */
  | { type: 'defect'; message: string; stack: string | undefined };

/** Memory of a batch or a result that may change threads: all its typed arrays. */
export function handedOver(value: RecordBatch | TaskResults['scan'] | TaskResults['build']): ArrayBuffer[] {
  const arrays: object[] = [value];
  if ('sifted' in value && value.sifted) arrays.push(value.sifted, value.sifted.changed);
  return arrays
    .flatMap((part) => Object.values(part))
    .filter((part) => ArrayBuffer.isView(part))
    .map((part) => part.buffer as ArrayBuffer);
}

export function failed(error: unknown): Reply {
  if (error instanceof InputError) return { type: 'input', message: error.message, hint: error.hint };
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { type: 'defect', message, stack };
}

/** The error that a worker met, as if it had been met here. */
export function errorOf(reply: Exclude<Reply, { type: 'result' }>): Error {
  if (reply.type === 'input') return new InputError(reply.message, { hint: reply.hint });
  const error = new Error(reply.message);
  if (reply.stack !== undefined) error.stack = reply.stack;
  return error;
}
