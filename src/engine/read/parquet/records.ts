/** The rows of a Parquet file as JSON, a few thousand at a time. */

import type { ColumnChunk } from 'hyparquet';
import { InputError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import { EMPTY } from '../item-text.js';
import { look } from '../json/look.js';
import { ItemList } from '../json/tokenizer.js';
import { targeting } from '../mapping/targets.js';
import { Numbers, type OddRow, type Rows } from '../rows.js';
import { Output } from '../text/output.js';
import { openFile, refuseChanged } from '../text/source.js';
import { MAX_RECORD_BYTES } from '../text/splitter.js';
import type { OpenedInput } from '../types.js';
import { Column, type Member } from './columns.js';
import { boundsOf, damaged, type ParquetFile, parquetFile } from './file.js';
import { isInteger, isText, isUnsigned } from './values.js';

// Exported here so that both are loaded together, with the first file.
export { parquetColumns } from './file.js';

/** A batch ends after this many bytes of JSON, or this many rows. */
const BATCH_BYTES = 256 * 1024;
const BATCH_ROWS = 8192;

/**
 * All rows in order, each as a JSON object.
 * @throws InputError for a damaged or truncated file, and for one that changed since it was opened; the signal's reason
 * when aborted
 */
export async function* parquetRows(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<Rows> {
  await refuseChanged(input);
  const opened = await openFile(input);
  try {
    const file = await parquetFile(input, opened);
    const members = membersOf(input, file);
    const items = new ItemList(input.maxDepth);
    const out = new Output(2 * BATCH_BYTES);
    let before = 0;
    for (const group of file.groups) {
      const rows = Number(group.num_rows);
      if (rows === 0) continue; // its columns may have no pages and no valid offset
      const chunksOf = new Map<string | undefined, ColumnChunk[]>();
      for (const chunk of group.columns) {
        const name = chunk.meta_data?.path_in_schema[0];
        chunksOf.set(name, [...(chunksOf.get(name) ?? []), chunk]);
      }
      const columns = members.map(
        (member) => new Column(file, member, rows, chunksOf.get(member.node.element.name) ?? []),
      );
      for (let row = 0; row < rows; ) {
        signal?.throwIfAborted();
        for (const column of columns) if (column.end <= row) await column.load();
        const end = Math.min(row + BATCH_ROWS, ...columns.map((column) => column.end));
        const batch = writeRows(columns, items, out, row, end, before, input.path);
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

const OPEN_BRACE = 0x7b;

/** A batch of the rows from `first` on of a row group. @param before rows in earlier row groups */
function writeRows(
  columns: readonly Column[],
  items: ItemList,
  out: Output,
  first: number,
  end: number,
  before: number,
  path: string,
): Rows {
  const lines = new Numbers();
  const odd: OddRow[] = [];
  for (let row = first; row < end && out.length < BATCH_BYTES; row++) {
    const start = out.length;
    const line = before + row + 1;
    for (const column of columns) column.copy(row, out);
    // Each member begins with a comma; the first comma becomes the brace.
    if (out.length === start) out.writeAscii(',');
    out.bytes[start] = OPEN_BRACE;
    out.writeAscii('}');
    if (out.length - start > MAX_RECORD_BYTES) {
      throw new InputError(`a row is larger than ${formatSize(MAX_RECORD_BYTES)}`, {
        file: path,
        line,
        hint: 'it would not fit into a request; leave its largest column out of the export',
        problem: { code: 'item_too_long', maxBytes: MAX_RECORD_BYTES },
      });
    }
    const reason = reasonAgainst(columns, row, line, path);
    if (reason !== null) odd.push({ number: row - first, cells: [], reason });
    lines.push(line);
    look(out.bytes, out.view, start, out.length, true);
    items.add(start, out.length);
  }
  const batch = { ...items.take(), bytes: out.take(), lines: lines.take() };
  return { ...batch, first: before + first, ...(odd.length > 0 && { odd }) };
}

/** Why a row cannot be sent, if so: its first bad value. @throws if no row of the file can be trusted then */
function reasonAgainst(columns: readonly Column[], row: number, line: number, file: string): string | null {
  let reason: string | null = null;
  for (const { bad, member } of columns) {
    if (bad.size === 0) continue;
    const error = bad.get(row);
    if (error === undefined) continue;
    if (error.shown === null) {
      throw new InputError(error.message, { file, line, hint: 'fix the value, and export the file again' });
    }
    if (member.rejects) reason ??= `${member.node.element.name}: ${error.message}`;
  }
  return reason;
}

/** How each column of the file goes into items. */
function membersOf(input: OpenedInput, { columns, groups }: ParquetFile): Member[] {
  const targetOf = targeting(input);
  const missing = EMPTY[input.rules.empty];
  return columns.map((node): Member => {
    const { element } = node;
    const { role, pinned } = targetOf(element.name);
    const unsigned = isUnsigned(element);
    return {
      node,
      rejects: role !== 'ignored' && pinned !== 'string',
      missing: role === 'metadata' ? missing : null,
      asText: pinned !== 'string' ? 'none' : role === 'metadata' ? 'all' : 'integers',
      spread: role === 'spread' && isText(element),
      wide:
        element.type === 'INT64' &&
        isInteger(element) &&
        boundsOf(groups, element).some(
          (bound) =>
            typeof bound === 'bigint' &&
            !Number.isSafeInteger(Number(unsigned ? BigInt.asUintN(64, bound) : bound)),
        ),
    };
  });
}
