/** The second pass: items of the whole input, typed as the plan decided. */
import type { Pool } from './pool.js';
import { readRecords } from './records.js';
import type { ItemBatch, OpenedInput, RecordBatch, Schema } from './types.js';

export interface BuildOptions {
  /** Secret of this machine or run: hashes of different keys cannot be compared. */
  hashKey: Uint8Array;
  pool: Pool;
  signal?: AbortSignal | undefined;
  /** Leaves out records before this one (`ItemBatch.ordinals`). */
  fromOrdinal?: number | undefined;
}

/**
 * Items in input order. Rows that the survey rejected are rejected here too, with the same reasons.
 * Stopping early closes the file.
 * @throws InputError; the signal's reason when aborted
 */
export async function* buildItems(
  input: OpenedInput,
  schema: Schema,
  options: BuildOptions,
): AsyncGenerator<ItemBatch> {
  const from = options.fromOrdinal ?? 0;
  const records = skipTo(readRecords(input, options), from);
  // Only the first batch that is built may begin before the wanted record.
  let straddles = from > 0;
  const spec = { pass: 'build' as const, input, schema, hashKey: options.hashKey };
  for await (const batch of options.pool.run(spec, records)) {
    yield straddles ? itemsFrom(batch, from) : batch;
    straddles = false;
  }
}

async function* skipTo(batches: AsyncIterable<RecordBatch>, from: number): AsyncGenerator<RecordBatch> {
  for await (const batch of batches) if (batch.first + batch.lines.length > from) yield batch;
}

/** The part of a batch that begins with a given record. */
function itemsFrom(batch: ItemBatch, from: number): ItemBatch {
  const first = batch.ordinals.findIndex((ordinal) => ordinal >= from);
  const start = first === -1 ? batch.ends.length : first;
  const offset = start === 0 ? 0 : batch.ends[start - 1]!;
  const rejected = batch.rejected.filter((row) => row.ordinal >= from);
  return {
    items: batch.items.slice(offset),
    ends: batch.ends.slice(start).map((end) => end - offset),
    lines: batch.lines.slice(start),
    ordinals: batch.ordinals.slice(start),
    ids: batch.ids.slice(start),
    contents: batch.contents.slice(start),
    read: batch.ends.length - start + rejected.length,
    rejected,
  };
}
