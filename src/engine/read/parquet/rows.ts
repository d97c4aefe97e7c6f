/** The rows of a Parquet file, a few thousand at a time. */
import { EMPTY } from '../item-text.js';
import { targeting } from '../mapping/targets.js';
import type { OddRow, Rows } from '../rows.js';
import { textMemory } from '../text/bytes.js';
import { refuseChanged } from '../text/unchanged.js';
import type { OpenedInput } from '../types.js';
import { Column } from './columns.js';
import { damaged, openParquet, type ParquetFile } from './file.js';
import { isText, isWide } from './values.js';

// Exported here so that both are loaded together, with the first file.
export { openParquet } from './file.js';

/** A batch has no more bytes than this, and one for each cell, unless it is one row. */
const BATCH_BYTES = 256 * 1024;

/**
 * All rows in order.
 * @throws InputError for a damaged or truncated file, and for one that changed since it was opened; the signal's reason
 * when aborted
 */
export async function* parquetRows(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<Rows> {
  await refuseChanged(input);
  const file = await openParquet(input);
  try {
    const columns = columnsOf(file, input);
    for (let row = 0; row < file.rows; ) {
      signal?.throwIfAborted();
      for (const column of columns) if (column.part.end <= row) await column.load();
      const batch = batchOf(columns, row);
      row += batch.lines.length;
      yield batch;
      await prepare(columns, row);
    }
  } catch (error) {
    throw signal?.aborted ? error : damaged(input.path, error);
  } finally {
    await file.close();
  }
  await refuseChanged(input);
}

/** Decodes one column after the other while threads work on the rows that are loaded. */
async function prepare(columns: readonly Column[], row: number): Promise<void> {
  for (const [index, column] of columns.entries()) {
    const { first, end } = column.part;
    if (row - first >= ((end - first) * (index + 1)) / (columns.length + 1)) await column.prepare();
  }
}

/** A batch of loaded rows. */
function batchOf(columns: readonly Column[], first: number): Rows {
  const width = columns.length;
  let end = Math.min(...columns.map(({ part }) => part.end));
  const sizeOf = (): number => columns.reduce((sum, column) => sum + column.size(first, end), 0);
  for (;;) {
    const size = sizeOf() + (end - first) * width;
    if (size <= BATCH_BYTES || end === first + 1) break;
    end = first + Math.max(1, Math.floor(((end - first) * BATCH_BYTES) / size));
  }
  const count = end - first;
  const odd = oddRows(columns, first, end);
  const batch: Rows = {
    bytes: textMemory.take(sizeOf()),
    starts: new Uint32Array(count * width),
    ends: new Uint32Array(count * width),
    kinds: new Uint8Array(count * width),
    width,
    lines: new Uint32Array(count),
    first,
    ...(odd.length > 0 && { odd }),
  };
  for (let row = 0; row < count; row++) batch.lines[row] = first + row + 1;
  let at = 0;
  for (const [index, column] of columns.entries()) at = column.copy(first, end, batch, index, at);
  return batch;
}

/** Rows that cannot be sent, with the first bad value of each. */
function oddRows(columns: readonly Column[], first: number, end: number): OddRow[] {
  const reasons = new Map<number, string>();
  for (const { part } of columns) {
    for (const [row, reason] of part.bad) {
      if (row >= first && row < end && !reasons.has(row)) reasons.set(row, reason);
    }
  }
  const rows = [...reasons].sort(([a], [b]) => a - b);
  return rows.map(([row, reason]) => ({ number: row - first, cells: [], reason }));
}

/** The columns, which know how their values go into items. */
function columnsOf(file: ParquetFile, input: OpenedInput): Column[] {
  const targetOf = targeting(input, true);
  const missing = EMPTY[input.rules.empty];
  return file.columns.map((column) => {
    const { element } = column.node;
    const { role, pinned } = targetOf(column.name);
    return new Column(file, column, {
      rejects: role !== 'ignored' && pinned !== 'string',
      missing: role === 'metadata' ? missing : null,
      asText: pinned !== 'string' ? 'none' : role === 'metadata' ? 'all' : 'integers',
      spread: role === 'spread' && isText(element),
      wide: element.type === 'INT64' && column.bounds.some((bound) => isWide(element, bound)),
    });
  });
}
