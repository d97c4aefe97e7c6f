/** The rows of a Parquet file, a few thousand at a time. Each is a JSON object of its values. */
import { EMPTY } from '../item-text.js';
import { OPEN_BRACE } from '../json/look.js';
import { targeting } from '../mapping/targets.js';
import { CellLists, type OddRow, type Rows } from '../rows.js';
import { Output } from '../text/output.js';
import { refuseChanged } from '../text/source.js';
import type { OpenedInput } from '../types.js';
import { Column } from './columns.js';
import { damaged, openParquet, type ParquetFile } from './file.js';
import { isText, isWide } from './values.js';

// Exported here so that both are loaded together, with the first file.
export { openParquet } from './file.js';

/** A batch ends after this many bytes, unless it is one row, or after this many rows. */
const BATCH_BYTES = 256 * 1024;
const BATCH_ROWS = 8192;

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
    const out = new Output(BATCH_BYTES);
    let before = 0;
    for (const group of file.groups) {
      const rows = Number(group.num_rows);
      if (rows === 0) continue; // its columns may have no pages and no valid offset
      for (const column of columns) column.begin(group, before);
      for (let row = 0; row < rows; ) {
        signal?.throwIfAborted();
        for (const column of columns) if (column.end <= row) await column.load();
        const loaded = Math.min(row + BATCH_ROWS, ...columns.map(({ end }) => end));
        const batch = batchOf(columns, out, row, loaded, before);
        row += batch.lines.length;
        yield batch;
      }
      before += rows;
    }
  } catch (error) {
    throw signal?.aborted ? error : damaged(input.path, error);
  } finally {
    await file.close();
  }
  await refuseChanged(input);
}

/** A batch of the rows from `first` on of a row group, of which those up to `loaded` may follow. @param before rows in earlier groups */
function batchOf(
  columns: readonly Column[],
  out: Output,
  first: number,
  loaded: number,
  before: number,
): Rows {
  const items = new CellLists(loaded - first);
  const odd: OddRow[] = [];
  let end = first;
  do {
    const start = out.length;
    let reason: string | undefined;
    for (const column of columns) {
      const why = column.append(end, out);
      reason ??= why;
    }
    if (reason !== undefined) odd.push({ number: end - first, cells: [], reason });
    if (out.length === start) out.write(',');
    out.bytes[start] = OPEN_BRACE; // in place of the first comma
    out.write('}');
    items.push(start, out.length, 0);
    end++;
  } while (end < loaded && out.length < BATCH_BYTES);
  return {
    ...items.take(),
    bytes: out.take(),
    width: 1,
    lines: Uint32Array.from({ length: end - first }, (_, at) => before + first + at + 1),
    first: before + first,
    ...(odd.length > 0 && { odd }),
  };
}

/** The columns, which know how their values go into items. */
function columnsOf(file: ParquetFile, input: OpenedInput): Column[] {
  const targetOf = targeting(input);
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
