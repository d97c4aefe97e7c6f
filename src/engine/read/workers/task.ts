/** The work that may run on any thread: a pure function of a batch. */
import { buildCsv } from '../csv/build.js';
import { scanCsv } from '../csv/scan.js';
import type { HashOptions } from '../item-writer.js';
import { buildJson } from '../json/build.js';
import { scanJson } from '../json/scan.js';
import type { ScanPart } from '../parts.js';
import type { RowOptions } from '../scan-rows.js';
import type { ItemBatch, OpenedInput, RecordBatch, Schema } from '../types.js';

/** What a thread is told before its first batch. */
export type TaskSpec =
  | ({ pass: 'scan'; input: OpenedInput } & RowOptions)
  | ({ pass: 'build'; input: OpenedInput; schema: Schema } & HashOptions);

export interface TaskResults {
  scan: ScanPart;
  build: ItemBatch;
}

export type Task<P extends TaskSpec['pass']> = (batch: RecordBatch) => TaskResults[P];

export function createTask(spec: TaskSpec): Task<TaskSpec['pass']> {
  const csv = spec.input.delimiter !== null;
  if (spec.pass === 'scan') return (csv ? scanCsv : scanJson)(spec.input, spec);
  return (csv ? buildCsv : buildJson)(spec.input, spec.schema, spec);
}
