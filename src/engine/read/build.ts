/** The second pass: items of the whole input, typed as the plan decided. */
import type { HashOptions } from './item-writer.js';
import { readRecords } from './records.js';
import { Tally } from './text/source.js';
import type { ItemBatch, Marks, OpenedInput, Schema } from './types.js';
import type { Pool } from './workers/pool.js';

export interface BuildOptions extends HashOptions {
  pool: Pool;
  /** Of the scan: bytes that are not the scanned ones are refused before an item is made of them. */
  planned?: Marks | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Items in input order. Rows that the scan rejected are rejected here too, with the same reasons.
 * Stopping early closes the file.
 * @throws InputError; the signal's reason when aborted
 */
export async function* buildItems(
  input: OpenedInput,
  schema: Schema,
  options: BuildOptions,
): AsyncGenerator<ItemBatch> {
  const { hashKey, records, signal } = options;
  const tally = new Tally(options.planned);
  const spec = { pass: 'build' as const, input, schema, hashKey, records };
  yield* options.pool.run(spec, readRecords(input, { signal, tally }), signal);
}
