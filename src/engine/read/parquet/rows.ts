/** The rows of a Parquet file, a few thousand at a time. A cell is the JSON text of its value, and empty if it has none. */
import type { ColumnChunk } from 'hyparquet';
import { InputError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import { EMPTY } from '../item-text.js';
import { targeting } from '../mapping/targets.js';
import type { OddRow, Rows } from '../rows.js';
import { textMemory } from '../spare-memory.js';
import { Output } from '../text/output.js';
import { openFile, refuseChanged } from '../text/source.js';
import { MAX_RECORD_BYTES } from '../text/splitter.js';
import type { OpenedInput } from '../types.js';
import { Column, type Member } from './columns.js';
import { boundsOf, damaged, type ParquetFile, parquetFile } from './file.js';
import { isInteger, isText, isUnsigned } from './values.js';

// Exported here so that both are loaded together, with the first file.
export { parquetColumns } from './file.js';

/** A batch ends after this many bytes, unless it is one row, or after this many rows. */
const BATCH_BYTES = 256 * 1024;
const BATCH_ROWS = 8192;
/** Cells are copied four bytes at a time, the last one, too. */
const ROOM = 3;

/**
 * All rows in order.
 * @throws InputError for a damaged or truncated file, and for one that changed since it was opened; the signal's reason
 * when aborted
 */
export async function* parquetRows(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<Rows> {
  await refuseChanged(input);
  const opened = await openFile(input);
  try {
    const file = await parquetFile(input, opened);
    const members = membersOf(input, file);
    let before = 0;
    for (const group of file.groups) {
      const rows = Number(group.num_rows);
      if (rows === 0) continue; // its columns may have no pages and no valid offset
      const chunks = new Map<string | undefined, ColumnChunk[]>();
      for (const chunk of group.columns) {
        const name = chunk.meta_data?.path_in_schema[0];
        chunks.set(name, [...(chunks.get(name) ?? []), chunk]);
      }
      const columns = members.map(
        (member) => new Column(file, member, rows, chunks.get(member.node.element.name) ?? []),
      );
      for (let row = 0; row < rows; ) {
        signal?.throwIfAborted();
        for (const column of columns) if (column.end <= row) await column.load();
        const loaded = Math.min(row + BATCH_ROWS, ...columns.map((column) => column.end));
        const batch = batchOf(columns, row, loaded, before, input.path);
        row += batch.lines.length;
        yield batch;
      }
      before += rows;
    }
  } catch (error) {
    throw signal?.aborted ? error : damaged(input.path, error);
  } finally {
    await opened.handle.close();
  }
  await refuseChanged(input);
}

/** A batch of the rows from `first` on of a row group, of which those up to `loaded` may follow. @param before rows in earlier groups */
function batchOf(
  columns: readonly Column[],
  first: number,
  loaded: number,
  before: number,
  path: string,
): Rows {
  let end = loaded;
  const sizeOf = (): number => columns.reduce((sum, column) => sum + column.size(first, end), 0);
  let size = sizeOf();
  for (; size > BATCH_BYTES && end > first + 1; size = sizeOf()) {
    end = first + Math.max(1, Math.floor(((end - first) * BATCH_BYTES) / size));
  }
  if (size > MAX_RECORD_BYTES) {
    throw new InputError(`a row is larger than ${formatSize(MAX_RECORD_BYTES)}`, {
      file: path,
      line: before + first + 1,
      hint: 'it would not fit into a request; leave its largest column out of the export',
      problem: { code: 'item_too_long', maxBytes: MAX_RECORD_BYTES },
    });
  }
  const count = end - first;
  const width = columns.length;
  const odd = oddRows(columns, first, end, before, path);
  const batch: Rows = {
    bytes: textMemory.take(size + ROOM),
    starts: new Uint32Array(count * width),
    ends: new Uint32Array(count * width),
    kinds: new Uint8Array(count * width),
    width,
    lines: new Uint32Array(count).map((_, at) => before + first + at + 1),
    first: before + first,
    ...(odd.length > 0 && { odd }),
  };
  let at = 0;
  for (const [index, column] of columns.entries()) at = column.copy(first, end, batch, index, at);
  return batch;
}

/** Rows that cannot be sent, with the first bad value of each. @throws if no row of the file can be trusted then */
function oddRows(
  columns: readonly Column[],
  first: number,
  end: number,
  before: number,
  file: string,
): OddRow[] {
  const reasons = new Map<number, string>();
  for (const { bad, member } of columns) {
    for (const [row, { message, shown }] of bad) {
      if (row < first || row >= end) continue;
      if (shown === null) {
        const hint = 'fix the value, and export the file again';
        throw new InputError(message, { file, line: before + row + 1, hint });
      }
      if (member.rejects && !reasons.has(row)) reasons.set(row, `${member.node.element.name}: ${message}`);
    }
  }
  const rows = [...reasons].sort(([a], [b]) => a - b);
  return rows.map(([row, reason]) => ({ number: row - first, cells: [], reason }));
}

/** How each column of the file goes into items. */
function membersOf(input: OpenedInput, { columns, groups }: ParquetFile): Member[] {
  const targetOf = targeting(input);
  const missing = EMPTY[input.rules.empty];
  return columns.map((node): Member => {
    const { element } = node;
    const { role, pinned } = targetOf(element.name);
    const unsigned = isUnsigned(element);
    const isWide = (bound: unknown): boolean =>
      typeof bound === 'bigint' &&
      !Number.isSafeInteger(Number(unsigned ? BigInt.asUintN(64, bound) : bound));
    return {
      node,
      out: new Output(1024),
      rejects: role !== 'ignored' && pinned !== 'string',
      missing: role === 'metadata' ? missing : null,
      asText: pinned !== 'string' ? 'none' : role === 'metadata' ? 'all' : 'integers',
      spread: role === 'spread' && isText(element),
      wide: element.type === 'INT64' && isInteger(element) && boundsOf(groups, element).some(isWide),
    };
  });
}
