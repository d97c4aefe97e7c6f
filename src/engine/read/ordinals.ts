/** Single rows of an input, found again by their number. The rest of the input is cut but not parsed. */
import type { RejectedRow } from '../model.js';
import type { BuildOptions } from './build.js';
import { batchRows } from './csv/rows.js';
import { pick, rangesOf } from './item-batch.js';
import { jsonRecords } from './json/parse.js';
import { readRecords } from './records.js';
import { Tally } from './text/source.js';
import type { ItemBatch, OpenedInput, RecordBatch, Schema } from './types.js';
import { createTask } from './workers/task.js';

/** Batches that hold one of the records, as far as needed. `ordinals` ascend. */
async function* batchesWith(
  input: OpenedInput,
  ordinals: readonly number[],
  { signal, planned }: Pick<BuildOptions, 'signal' | 'planned'>,
): AsyncGenerator<{ batch: RecordBatch; wanted: number[] }> {
  let next = 0;
  if (ordinals.length === 0) return;
  for await (const batch of readRecords(input, { signal, tally: new Tally(planned) })) {
    const end = batch.first + batch.lines.length;
    const from = next;
    while (next < ordinals.length && ordinals[next]! < end) next++;
    if (next > from) yield { batch, wanted: ordinals.slice(from, next) };
    if (next === ordinals.length) return;
  }
}

/** Items of some records, and rejections of theirs. What else is in their batches is left out. */
export async function* buildOrdinals(
  input: OpenedInput,
  schema: Schema,
  ordinals: readonly number[],
  options: Pick<BuildOptions, 'hashKey' | 'planned' | 'signal'>,
): AsyncGenerator<ItemBatch> {
  const task = createTask({ pass: 'build', input, schema, hashKey: options.hashKey, records: false });
  for await (const { batch, wanted } of batchesWith(input, ordinals, options)) {
    yield only(task(batch) as ItemBatch, new Set(wanted));
  }
}

function only(batch: ItemBatch, wanted: ReadonlySet<number>): ItemBatch {
  const places = [...batch.ordinals.keys()].filter((at) => wanted.has(batch.ordinals[at]!));
  const rejected = batch.rejected.filter((row) => wanted.has(row.ordinal));
  return { ...pick(batch, rangesOf(places)), read: places.length + rejected.length, rejected };
}

/** A row as it stands in the input, and its number among all records of the file, from 0. */
export interface OriginalRow extends Pick<RejectedRow, 'line' | 'original'> {
  ordinal: number;
}

/**
 * Rows as they stand in the input, by their ordinals in ascending order: for reporting rows that the
 * service refused after they were sent.
 * @throws InputError; the signal's reason when aborted
 */
export async function* readRows(
  input: OpenedInput,
  ordinals: readonly number[],
  options: Pick<BuildOptions, 'signal' | 'planned'> = {},
): AsyncGenerator<OriginalRow> {
  for await (const { batch, wanted } of batchesWith(input, ordinals, options)) {
    const originals = input.delimiter === null ? itemsOf(batch, input) : cellsOf(batch, input);
    for (const ordinal of wanted) {
      const number = ordinal - batch.first;
      yield { ordinal, line: batch.lines[number]!, original: originals[number]! };
    }
  }
}

const cellsOf = (batch: RecordBatch, input: OpenedInput): RejectedRow['original'][] =>
  batchRows(batch, input.delimiter!).map((cells) => ({ cells }));

const itemsOf = (batch: RecordBatch, input: OpenedInput): RejectedRow['original'][] =>
  Array.from(jsonRecords(batch, input), ({ text }) => ({ item: text }));
