/** What the calling thread and a worker say to each other, and the work that either can do. */
import { type ErrorDetails, InputError } from '../../errors.js';
import type { ItemBatch } from '../batch.js';
import { loadConversions } from '../conversion/found.js';
import { readerOf } from '../formats.js';
import type { HashOptions } from '../item-writer.js';
import type { StoredBatch } from '../record-cache.js';
import type { RowOptions, ScanPart } from '../scan-rows.js';
import type { OpenedInput, RecordBatch, Schema } from '../types.js';

/** What a thread is given before its first batch. */
export type TaskSpec =
  | ({ pass: 'scan'; input: OpenedInput } & RowOptions)
  | ({ pass: 'build'; input: OpenedInput; schema: Schema } & HashOptions);

export interface TaskResults {
  scan: ScanPart;
  build: ItemBatch;
}

export type Result = TaskResults[TaskSpec['pass']];

/** The work itself: a pure function of a batch. */
export async function createTask<S extends TaskSpec>(
  spec: S,
): Promise<(batch: RecordBatch) => TaskResults[S['pass']]>;
export async function createTask(spec: TaskSpec): Promise<(batch: RecordBatch) => Result> {
  await loadConversions(spec.input.rules);
  const reader = readerOf(spec.input);
  return spec.pass === 'scan' ? reader.scan(spec.input, spec) : reader.build(spec.input, spec.schema, spec);
}

/** The records of an input that a thread reads. */
export function recordsOf(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<RecordBatch> {
  const reader = readerOf(input);
  if (!('slow' in reader)) throw new Error(`${input.format} is not read by a thread`);
  return reader.records(input, signal);
}

/** To a worker. `memory` held the items of an earlier batch; where one of its own batches was taken, the bytes of one. */
export type Order = { memory?: ArrayBuffer | undefined } & (
  | { type: 'task'; spec: TaskSpec }
  | { type: 'batch'; batch: RecordBatch | StoredBatch }
  | { type: 'read'; input: OpenedInput }
  | { type: 'taken' }
);

export type Reply =
  /** To each batch. `memory` held its bytes, if it was sent: here, nothing would free it before the next collection of garbage. */
  | { type: 'result'; result: Result; memory?: ArrayBuffer }
  /** To a file that it reads: one after another, and null after the last. */
  | { type: 'read'; batch: RecordBatch | null }
  /** The input's fault: a sentence for the user. */
  | { type: 'input'; message: string; advice: Pick<ErrorDetails, 'hint' | 'problem'> }
  /** Ours. */
  | { type: 'defect'; message: string; stack: string | undefined };

/** Memory of a batch or a result that changes threads instead of being copied: all its typed arrays. */
export function transferable(value: RecordBatch | StoredBatch | Result): ArrayBuffer[] {
  const parts: object[] = [value];
  if ('changes' in value && value.changes) parts.push(value.changes, value.changes.changed);
  const arrays = parts.flatMap((part) => Object.values(part)).filter((part) => ArrayBuffer.isView(part));
  // The identifiers of a batch may be those of its changed rows.
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

/** The error that a worker met, as if it had been met here. */
export function errorOf(reply: Extract<Reply, { message: string }>): Error {
  if (reply.type === 'input') return new InputError(reply.message, reply.advice);
  const error = new Error(reply.message);
  if (reply.stack !== undefined) error.stack = reply.stack;
  return error;
}
