/** The work of a pass, on any thread, and how its orders and results go from one thread to another. */
import { setFlagsFromString } from 'node:v8';
import { InputError } from '../../errors.js';
import type { Problem } from '../../problems.js';
import { type HashOptions, type ItemBatch, ItemBuilder } from '../items.js';
import type { Rows } from '../rows.js';
import { type RowOptions, RowScanner, type ScanPart } from '../scan-rows.js';
import type { OpenedInput, Schema } from '../types.js';

export type TaskSpec =
  | ({ pass: 'scan'; input: OpenedInput } & RowOptions)
  | ({ pass: 'build'; input: OpenedInput; schema: Schema } & HashOptions);

export interface TaskResults {
  scan: ScanPart;
  build: ItemBatch;
}

export type Result = TaskResults[TaskSpec['pass']];

/** Returns the work itself, a pure function of a batch. */
export function createTask(spec: TaskSpec): (batch: Rows) => Result {
  if (spec.pass === 'scan') {
    const scanner = new RowScanner(spec.input, spec);
    return (batch) => scanner.scan(batch);
  }
  const builder = new ItemBuilder(spec.input, spec.schema, spec);
  return (batch) => builder.build(batch);
}

/** A batch for a thread. */
export interface Order {
  /** The number of the pass, and its `TaskSpec`, serialized once for all batches and threads. */
  pass: number;
  spec: SharedArrayBuffer;
  batch: Rows;
  /** Held items of an earlier batch, and can be used again. */
  spare: ArrayBuffer | undefined;
}

export type Reply =
  /** `memory` held the batch's bytes: on the thread, only a garbage collection would free it. */
  { result: Result; memory: ArrayBuffer } | { thrown: Thrown };

/** An error as data: an error in the input has a sentence for the user, any other is a defect in this program. */
interface Thrown {
  message: string;
  stack: string | undefined;
  input: { hint?: string | undefined; problem?: Problem | undefined } | null;
}

export function thrownOf(error: unknown): Thrown {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const { hint, problem } = error instanceof InputError ? error : {};
  return { message, stack, input: error instanceof InputError ? { hint, problem } : null };
}

/** The error of a thread, as if it had been thrown on this one. */
export function errorOf({ message, stack, input }: Thrown): Error {
  return input ? new InputError(message, input) : Object.assign(new Error(message), { stack });
}

/** Memory that is moved between threads instead of copied: of all typed arrays that are not part of a larger pool, or kept. */
export function moved(value: Rows | Result): ArrayBuffer[] {
  const { cells = [] } = value as Partial<Rows>;
  const parts = [value, ...cells].flatMap((each) => Object.entries(each));
  const arrays = parts.flatMap(([name, part]) =>
    ArrayBuffer.isView(part) &&
    name !== 'knownIds' &&
    (name === 'bytes' || name === 'items' || part.byteLength === part.buffer.byteLength)
      ? [part.buffer as ArrayBuffer]
      : [],
  );
  return [...new Set(arrays)];
}

/**
 * While threads read, what they and this thread make is short-lived: a young generation that does not grow saves
 * memory. The flag is the whole process's. Each worker sets it as it begins, because V8 of Node 20 and 22 then resets
 * it. It is over when they end: V8 would refuse code that it has cached with other flags.
 */
export const keepYoungGenerationSmall = (isSmall: boolean): void =>
  setFlagsFromString(`--semi-space-growth-factor=${isSmall ? 1 : 2}`);
