/**
 * Reads the rows of an input: as records, as items, and as they are in the file, all or selected ones; and finds where
 * their lines begin.
 */

import { InputError } from '../errors.js';
import type { RejectedRow } from '../model.js';
import type { Condition } from '../options/mapping-rules.js';
import type { Warning } from '../problems.js';
import { isPlain, type Notes } from './csv/dialect.js';
import { formatOf, originalsIn } from './formats.js';
import { valuesIn } from './item-text.js';
import type { HashOptions, ItemBatch } from './items.js';
import { hasFields } from './mapping/check-rules.js';
import { columnIn, unknownColumn } from './mapping/targets.js';
import type { RecordCache } from './record-cache.js';
import { only, type Rows, rowOf } from './rows.js';
import { CR, LF } from './text/bytes.js';
import { readBytes } from './text/source.js';
import { ByteTotals } from './text/unchanged.js';
import type { OpenedInput, Scan, Schema, Selection } from './types.js';
import { quoted } from './wording.js';
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
  /** What the scan found, with the same key. Bytes that differ from the scanned ones are refused before they become items. */
  planned?: Pick<Scan, 'marks' | 'ids'> | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The second pass: builds items in input order, with the types that the plan decided. Rows that the scan rejected are
 * rejected again, with the same reasons. Stopping early closes the file.
 * @throws InputError; the signal's reason when aborted
 */
export function buildItems(
  input: OpenedInput,
  schema: Schema,
  options: BuildOptions,
): AsyncGenerator<ItemBatch> {
  const { hashKey, signal, pool, planned } = options;
  const byteTotals = new ByteTotals(planned?.marks);
  const spec = { pass: 'build' as const, input, schema, hashKey };
  const records = readRecords(input, { signal, byteTotals, cache: pool.cache });
  const selected = selectRecords(input, records, { toEnd: false });
  return pool.run(spec, planned ? withIds(selected, planned.ids) : selected, signal);
}

async function* withIds(batches: AsyncIterable<Rows>, ids: Scan['ids']): AsyncGenerator<Rows> {
  let number = 0;
  for await (const batch of batches) yield { ...batch, knownIds: ids[number++] };
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
  for await (const batch of readRecords(input, { signal, byteTotals: new ByteTotals(planned?.marks) })) {
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
  const records = readRecords(input, { signal, byteTotals: new ByteTotals(planned?.marks) });
  const originals = originalsIn(input);
  for await (const { batch, numbers } of choose(input, input.selection, records, { toEnd: true })) {
    const taken = new Set(numbers);
    yield originals(batch).flatMap((original, number) =>
      taken.has(number) ? [] : [{ row: rowOf(batch, number), line: batch.lines[number]!, original }],
    );
  }
}

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

/** How far to read, and how many rows have been left out. */
interface Selected {
  /** Whether to read on after the limit is reached: a plan counts all rows. */
  toEnd: boolean;
  filtered?: number;
}

/**
 * The selected records, in batches without others.
 * @throws InputError for items that are not JSON, or have a field that only later items have; UsageError for a
 * condition on a column that no item has
 */
export function selectRecords(
  input: OpenedInput,
  batches: AsyncIterable<Rows>,
  selected: Selected,
): AsyncIterable<Rows> {
  return input.selection === null ? batches : chosen(choose(input, input.selection, batches, selected));
}

async function* chosen(all: ReturnType<typeof choose>): AsyncGenerator<Rows> {
  for await (const { batch, numbers } of all) {
    if (numbers.length === batch.lines.length) yield batch;
    else if (numbers.length > 0) yield only(batch, numbers);
  }
}

/** Every batch, with the indexes of its selected records. @throws as `selectRecords` does */
async function* choose(
  input: OpenedInput,
  { where, absent, limit }: Selection,
  batches: AsyncIterable<Rows>,
  selected: Selected,
): AsyncGenerator<{ batch: Rows; numbers: number[] }> {
  const { columns, path } = input;
  const originalsOf = (formatOf(input).stored ?? originalsIn)(input);
  const values = valuesIn(columns);
  const looks = where.length > 0 || absent.length > 0;
  /** Columns in conditions that no item has had so far. None if there is a header. */
  const unseen = new Set(where.flatMap(([column]) => (columns.includes(column) ? [] : [column])));
  let left = limit ?? Number.POSITIVE_INFINITY;
  let read = 0;
  for await (const batch of batches) {
    if (left === 0 && !selected.toEnd) return;
    const numbers: number[] = [];
    const originals = looks && (left > 0 || unseen.size > 0) ? originalsOf(batch) : null;
    for (let number = 0; number < batch.lines.length && (left > 0 || originals); number++) {
      const valueIn = originals && values(originals[number]!);
      for (const column of valueIn ? unseen : []) if (valueIn!(column) !== undefined) unseen.delete(column);
      const late = valueIn && absent.find((column) => valueIn(column) !== undefined);
      if (late) throw lateField(late, path, batch.lines[number]!);
      const holds = ([column, is, value]: Condition): boolean =>
        ((valueIn!(column) ?? '') === value) === (is === '=');
      if (left === 0 || (valueIn && !where.every(holds))) continue;
      numbers.push(number);
      left--;
    }
    read += batch.lines.length;
    selected.filtered = (selected.filtered ?? 0) + batch.lines.length - numbers.length;
    yield { batch, numbers };
  }
  const [column] = unseen;
  if (column !== undefined && read > 0) throw unknownColumn('where', column, columns, path);
}

const lateField = (field: string, file: string, line: number): InputError =>
  new InputError(`has "${field}", which the first items lack, and rows are selected by it`, {
    file,
    line,
    hint: 'import this file by itself',
  });

/**
 * Gives each input the conditions on columns that it has. Of JSON, only the first items are known: a condition on a
 * field that no input is known to have is checked against all items.
 * @throws UsageError for a column that no input has
 */
export function selectIn(
  inputs: readonly OpenedInput[],
  asked: readonly Condition[] | undefined = [],
): OpenedInput[] {
  const known = new Set(inputs.flatMap(({ columns }) => columns));
  const where = asked.map(([column, is, value]): Condition => [columnIn([...known], column), is, value]);
  for (const [column] of where) {
    if (known.has(column) || inputs.some(hasFields)) continue;
    throw unknownColumn('where', column, [...known], inputs.map(({ path }) => path).join(', '));
  }
  return inputs.map((input) => {
    if (input.selection === null) return input;
    const { limit } = input.selection;
    const own = where.filter(
      ([column]) => input.columns.includes(column) || (hasFields(input) && !known.has(column)),
    );
    const others = where.filter((condition) => !own.includes(condition));
    const absent = hasFields(input) ? others.map(([column]) => column) : [];
    const all = own.length === 0 && absent.length === 0 && limit === null;
    const hasIt = ([column]: Condition) =>
      inputs.some(({ kind, columns }) => kind === input.kind && columns.includes(column));
    const lacking = others.filter(hasIt).map(([column]): Warning => {
      return { message: `no column ${quoted(column)}, so the condition on it leaves out none of its rows` };
    });
    const warnings = [...(input.warnings ?? []), ...lacking];
    return { ...input, warnings, selection: all ? null : { where: own, absent, limit } };
  });
}
