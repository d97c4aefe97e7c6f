/** Reads the rows of an input: as records, as items, and as they are in the file; and finds where their lines begin. */
import type { RejectedRow } from '../model.js';
import { isPlain, type Notes } from './csv/dialect.js';
import { formatOf, originalsIn } from './formats.js';
import type { HashOptions, ItemBatch } from './items.js';
import type { RecordCache } from './record-cache.js';
import { only, type Rows, rowOf } from './rows.js';
import { choose, selectRecords } from './selection.js';
import { ByteTotals, type Marks, readBytes } from './text/source.js';
import type { OpenedInput, Schema } from './types.js';
import type { Pool } from './workers/pool.js';

interface ReadRecords {
  signal?: AbortSignal | undefined;
  byteTotals?: ByteTotals | undefined;
  notes?: Notes | undefined;
  /** Where an earlier pass may have kept the rows. */
  cache?: RecordCache | null;
  /** Where to keep the rows for later passes. */
  keepIn?: RecordCache | null;
}

/**
 * All records of the input, in order. Closes the file when the consumer stops early.
 * @throws InputError for text that cannot be read, and for a file that changed since it was opened; the signal's
 * reason when aborted
 */
export function readRecords(input: OpenedInput, options: ReadRecords = {}): AsyncIterable<Rows> {
  const { signal, byteTotals, notes } = options;
  const kept = options.cache?.of(input, signal);
  if (kept) return kept;
  const bytes = readBytes(input, signal, byteTotals);
  const format = formatOf(input);
  const rows = format.rows(input, { bytes, notes, signal });
  // Only rows of binary formats take longer to read from their file again than from the cache.
  return (format.sniff && options.keepIn?.keep(input, rows)) ?? rows;
}

export interface BuildOptions extends HashOptions {
  pool: Pool;
  /** Marks of the scan. Bytes that differ from the scanned ones are refused before they become items. */
  planned?: Marks | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The second pass: builds items in input order, with the types that the plan decided. Rows that the scan rejected are
 * rejected again, with the same reasons. Stopping early closes the file.
 * @throws InputError; the signal's reason when aborted
 */
export async function* buildItems(
  input: OpenedInput,
  schema: Schema,
  options: BuildOptions,
): AsyncGenerator<ItemBatch> {
  const { hashKey, signal, pool } = options;
  const byteTotals = new ByteTotals(options.planned);
  const spec = { pass: 'build' as const, input, schema, hashKey };
  const records = readRecords(input, { signal, byteTotals, cache: pool.cache });
  yield* pool.run(spec, selectRecords(input, records, { toEnd: false }), signal);
}

/** A row as it is in the file, and its number among all records, from 0. */
export interface OriginalRow extends Pick<RejectedRow, 'line' | 'original'> {
  row: number;
}

/**
 * Rows as they are in the file, by row number in ascending order: to report rows that the service refused after they
 * were sent.
 * @throws InputError; the signal's reason when aborted
 */
export async function* readRows(
  input: OpenedInput,
  rows: readonly number[],
  { signal, planned }: Pick<BuildOptions, 'signal' | 'planned'> = {},
): AsyncGenerator<OriginalRow> {
  if (rows.length === 0) return;
  const originalsOf = originalsIn(input);
  let next = 0;
  for await (const batch of readRecords(input, { signal, byteTotals: new ByteTotals(planned) })) {
    const from = next;
    while (next < rows.length && rows[next]! < batch.first + batch.lines.length) next++;
    const wanted = rows.slice(from, next).map((row) => row - batch.first);
    const some = only(batch, wanted);
    for (const [at, original] of wanted.length === 0 ? [] : originalsOf(some).entries()) {
      yield { row: rowOf(some, at), line: some.lines[at]!, original };
    }
    if (next === rows.length) return;
  }
}

/** The selected rows as they are in the file, in batches. @throws InputError; the signal's reason when aborted */
export async function* originalRows(
  input: OpenedInput,
  signal: AbortSignal,
): AsyncGenerator<readonly RejectedRow['original'][]> {
  const originals = originalsIn(input);
  const records = selectRecords(input, readRecords(input, { signal }), { toEnd: false });
  for await (const batch of records) yield originals(batch);
}

/** The rows that a selection leaves out, in batches, in the order of the file. None if there is no selection. */
export async function* filteredRows(
  input: OpenedInput,
  { signal, planned }: Pick<BuildOptions, 'signal' | 'planned'>,
): AsyncGenerator<OriginalRow[]> {
  if (input.selection === null) return;
  const records = readRecords(input, { signal, byteTotals: new ByteTotals(planned) });
  const originals = originalsIn(input);
  for await (const { batch, numbers } of choose(input, input.selection, records, { toEnd: true })) {
    const taken = new Set(numbers);
    yield originals(batch).flatMap((original, number) =>
      taken.has(number) ? [] : [{ row: rowOf(batch, number), line: batch.lines[number]!, original }],
    );
  }
}

const LF = 0x0a;
const CR = 0x0d;

/** Whether an input can be read from the line of any row on: plain CSV, neither compressed nor re-encoded. */
export const startsAnywhere = ({ csv, encoding, compression, selection }: OpenedInput): boolean =>
  csv !== undefined &&
  isPlain(csv.dialect) &&
  encoding === 'utf-8' &&
  compression === null &&
  selection === null;

/**
 * The byte offsets at which lines begin.
 * @param lines line numbers from 1, in ascending order
 * @throws InputError; the signal's reason when aborted
 */
export async function lineOffsets(
  input: OpenedInput,
  lines: readonly number[],
  signal?: AbortSignal,
): Promise<number[]> {
  const offsets: number[] = [];
  let line = 1;
  let before = 0;
  /** The byte before: a line begins after it, unless it is the CR of a CR LF. */
  let last = LF;
  for await (const block of readBytes(input, signal)) {
    for (let at = 0; at < block.length && offsets.length < lines.length; at++) {
      const byte = block[at]!;
      if (last === LF || (last === CR && byte !== LF)) {
        while (lines[offsets.length] === line) offsets.push(before + at);
        line++;
      }
      last = byte;
    }
    before += block.length;
    if (offsets.length === lines.length) break;
  }
  return offsets;
}
