/** The messages between the calling thread and a worker, and the work that both can do. */
import { type ErrorDetails, InputError } from '../../errors.js';
import { loadConversions } from '../conversion/types.js';
import { type HashOptions, type ItemBatch, ItemBuilder } from '../items.js';
import type { StoredBatch } from '../record-cache.js';
import type { Rows } from '../rows.js';
import { type RowOptions, RowScanner, type ScanPart } from '../scan-rows.js';
import type { OpenedInput, Schema } from '../types.js';

/** What a thread receives before its first batch. */
export type TaskSpec =
  | ({ pass: 'scan'; input: OpenedInput } & RowOptions)
  | ({ pass: 'build'; input: OpenedInput; schema: Schema } & HashOptions);

export interface TaskResults {
  scan: ScanPart;
  build: ItemBatch;
}

export type Result = TaskResults[TaskSpec['pass']];

/** Returns the work itself, a pure function of a batch. */
export async function createTask<S extends TaskSpec>(
  spec: S,
): Promise<(batch: Rows) => TaskResults[S['pass']]>;
export async function createTask(spec: TaskSpec): Promise<(batch: Rows) => Result> {
  await loadConversions(spec.input.rules);
  if (spec.pass === 'scan') {
    const scanner = new RowScanner(spec.input, spec);
    return (batch) => scanner.scan(batch);
  }
  const builder = new ItemBuilder(spec.input, spec.schema, spec);
  return (batch) => builder.build(batch);
}

/** A message to a worker. `memory` is for reuse: it held items of an earlier batch. */
export type Order = { memory?: ArrayBuffer | undefined } & (
  | { type: 'task'; spec: TaskSpec }
  | { type: 'batch'; batch: Rows | StoredBatch }
);

export type Reply =
  /**
   * The result of a batch. `memory` held the batch's bytes, if they were sent to the worker, where only a garbage
   * collection would free it.
   */
  | { type: 'result'; result: Result; memory?: ArrayBuffer }
  /** An error in the input, with a sentence for the user. */
  | { type: 'input'; message: string; advice: Pick<ErrorDetails, 'hint' | 'problem'> }
  /** A defect in this program. */
  | { type: 'defect'; message: string; stack: string | undefined };

/** Memory of a batch or result that is moved between threads instead of copied: all its typed arrays. */
export function transferable(value: Rows | StoredBatch | Result): ArrayBuffer[] {
  const arrays = Object.values(value).filter((part) => ArrayBuffer.isView(part));
  return [...new Set(arrays.map((array) => array.buffer as ArrayBuffer))];
}

export function failed(error: unknown): Reply {
  if (error instanceof InputError) {
    const { message, hint, problem } = error;
    return { type: 'input', message, advice: { hint, problem } };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { type: 'defect', message, stack };
}

/** The error of a worker, as if it had been thrown on this thread. */
export function errorOf(reply: Extract<Reply, { message: string }>): Error {
  if (reply.type === 'input') return new InputError(reply.message, reply.advice);
  const error = new Error(reply.message);
  if (reply.stack !== undefined) error.stack = reply.stack;
  return error;
}
