/** The rows of a Parquet file as JSON, a few thousand at a time. */
import type { FileMetaData, SchemaElement } from 'hyparquet';
import { getTreePath, isFlatColumn } from 'hyparquet/src/schema.js';
import { InputError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import { targeting } from '../mapping/targets.js';
import { Output } from '../text/output.js';
import { type OpenFile, openFile, refuseChanged } from '../text/source.js';
import { MAX_RECORD_BYTES, Numbers } from '../text/splitter.js';
import type { OpenedInput, RecordBatch, RefusedRecord } from '../types.js';
import { hasColumns } from './assembly.js';
import { type Column, FlatColumn, type Key, type Member } from './columns.js';
import { isPlainInt64, isText, isUnsigned } from './converters.js';
import { damaged, type Footer, footerOf } from './footer.js';
import { PageMemory } from './memory.js';
import { NestedColumn } from './nested.js';
import type { ColumnChunkPlace } from './pages.js';
import { BadValueError } from './values.js';

// Exported here so that both are loaded together, with the first file.
export { parquetColumns } from './footer.js';

/** A batch ends after this many bytes of JSON, or this many rows. */
const BATCH_BYTES = 256 * 1024;
const BATCH_ROWS = 8192;

/** Memory for the read blocks of all columns together; each column has at least 4 KiB. */
const WINDOW_BYTES = 2 * 1024 * 1024;

/**
 * All rows in order, each as a JSON object.
 * @throws InputError for a damaged or truncated file, and for one that changed since it was opened; the signal's reason
 * when aborted
 */
export async function* parquetRows(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<RecordBatch> {
  await refuseChanged(input);
  const opened = await openFile(input);
  let members: Member[] = [];
  try {
    const footer = await footerOf(input, opened);
    members = membersOf(input, footer);
    const rows = new Rows();
    let first = 0;
    for (const group of footer.metadata.row_groups) {
      const end = first + Number(group.num_rows);
      if (end === first) continue; // its columns may have no pages and no valid offset
      const columns = columnsOf(group, members, footer, opened);
      while (first < end) {
        signal?.throwIfAborted();
        await writeRows(columns, rows, first, end, input.path);
        const batch = { ...rows.take(), fileLines: null, first };
        first += batch.lines.length;
        yield batch;
      }
    }
  } catch (error) {
    throw signal?.aborted ? error : damaged(input.path, error);
  } finally {
    lastUsed = new WeakRef(members.map(({ memory, entries }) => ({ memory, entries })));
    await opened.handle.close();
  }
  await refuseChanged(input);
}

/** Memory of the last pass, which most likely read the same file. The garbage collector may free it in between. */
let lastUsed = new WeakRef<Pick<Member, 'memory' | 'entries'>[]>([]);

/** Collects the rows of a batch, in memory that all batches share. */
class Rows {
  readonly out = new Output(2 * BATCH_BYTES);
  readonly lines = new Numbers();
  readonly spans = new Numbers();
  #refused: RefusedRecord[] = [];

  /** Notes that the row which is being written cannot be sent. The first reason counts. */
  refuse(reason: string): void {
    const number = this.lines.length;
    if (this.#refused.at(-1)?.number !== number) this.#refused.push({ number, reason });
  }

  /** The rows, copied to memory of their own. */
  take(): Pick<RecordBatch, 'bytes' | 'lines' | 'spans' | 'refused'> {
    const { out, lines, spans } = this;
    const refused = this.#refused;
    this.#refused = [];
    return {
      bytes: out.take(),
      lines: lines.take(),
      spans: spans.take(),
      ...(refused.length > 0 && { refused }),
    };
  }
}

/** Writes the rows of the next batch. */
async function writeRows(
  columns: readonly Column[],
  rows: Rows,
  first: number,
  end: number,
  path: string,
): Promise<void> {
  const { out, lines, spans } = rows;
  const last = Math.min(end, first + BATCH_ROWS);
  for (let row = first; row < last && out.length < BATCH_BYTES; ) {
    let ready = last - row;
    for (const column of columns) {
      const more = column.ready();
      ready = Math.min(ready, typeof more === 'number' ? more : await more);
    }
    if (ready === 0) throw new Error(`a column ends before row ${row + 1}`);
    for (; ready > 0 && out.length < BATCH_BYTES; ready--) {
      const start = out.length;
      writeRow(columns, rows, row + 1, path);
      if (out.length - start > MAX_RECORD_BYTES) {
        throw new InputError(`a row is larger than ${formatSize(MAX_RECORD_BYTES)}`, {
          file: path,
          line: row + 1,
          hint: 'it would not fit into a request; leave its largest column out of the export',
          problem: { code: 'item_too_long', maxBytes: MAX_RECORD_BYTES },
        });
      }
      spans.push(start);
      spans.push(out.length);
      lines.push(++row);
    }
  }
}

const OPEN_BRACE = 0x7b;
const COMMA = 0x2c;

function writeRow(columns: readonly Column[], rows: Rows, line: number, path: string): void {
  const { out } = rows;
  const start = out.length;
  for (const column of columns) {
    try {
      column.write(out);
    } catch (error) {
      writeBad(column.key, error, rows, line, path);
    }
  }
  // Each member begins with a comma; the first comma becomes the brace.
  if (out.length === start) out.writeAscii(',');
  if (out.bytes[start] === COMMA) out.bytes[start] = OPEN_BRACE;
  out.writeAscii('}');
}

/** Writes a bad value as text, in a row that is rejected for it. @throws if no row of the file can be trusted then */
function writeBad(key: Key, error: unknown, rows: Rows, line: number, path: string): void {
  if (!(error instanceof BadValueError)) throw error;
  const { name, rejects } = key.member;
  if (error.shown === null) {
    throw new InputError(error.message, {
      file: path,
      line,
      hint: 'fix the value, and export the file again',
    });
  }
  if (rejects) rows.refuse(`${name}: ${error.message}`);
  key.writeText(rows.out, error.shown);
}

/** How each column of the file goes into items. */
function membersOf(input: OpenedInput, { schema, metadata }: Footer): Member[] {
  const targetOf = targeting(input);
  const missing = { omit: null, null: 'null', string: '""' }[input.rules.empty];
  const used = lastUsed.deref() ?? [];
  lastUsed = new WeakRef([]); // files read at the same time do not share memory
  const large = used[0]?.memory.large ?? { window: Buffer.alloc(0) };
  return schema.children.map((node, index): Member => {
    const { role, pinned } = targetOf(node.element.name);
    return {
      name: node.element.name,
      rejects: role !== 'ignored' && pinned !== 'string',
      missing: role === 'metadata' ? missing : null,
      asText: pinned !== 'string' ? 'none' : role === 'metadata' ? 'all' : 'integers',
      spread: role === 'spread' && isText(node.element),
      wide: isPlainInt64(node.element) && isWide(metadata, node.element),
      memory: used[index]?.memory ?? new PageMemory(large),
      entries: used[index]?.entries ?? new Output(256),
    };
  });
}

/** Whether, according to the file's statistics, a column has integers beyond 2^53. */
function isWide({ row_groups }: FileMetaData, element: SchemaElement): boolean {
  const { name } = element;
  const unsigned = isUnsigned(element);
  return row_groups.some(({ columns }) =>
    columns.some(({ meta_data }) => {
      if (meta_data?.path_in_schema.length !== 1 || meta_data.path_in_schema[0] !== name) return false;
      const { min_value, max_value, min, max } = meta_data.statistics ?? {};
      return [min_value, max_value, min, max].some(
        (bound) =>
          typeof bound === 'bigint' &&
          !Number.isSafeInteger(Number(unsigned ? BigInt.asUintN(64, bound) : bound)),
      );
    }),
  );
}

/** The columns of a row group, positioned at its first row. */
function columnsOf(
  group: FileMetaData['row_groups'][number],
  members: readonly Member[],
  { schema, fileBytes }: Footer,
  { handle }: OpenFile,
): Column[] {
  const blockBytes = Math.min(Math.max(WINDOW_BYTES / group.columns.length, 4096), 256 * 1024);
  const chunksOf = new Map<string | undefined, typeof group.columns>();
  for (const chunk of group.columns) {
    const name = chunk.meta_data?.path_in_schema[0];
    const known = chunksOf.get(name);
    if (known) known.push(chunk);
    else chunksOf.set(name, [chunk]);
  }
  return schema.children.map((node, index) => {
    const isFlat = isFlatColumn([schema, node]);
    const chunks = chunksOf.get(node.element.name) ?? [];
    const places = chunks.flatMap(({ meta_data: meta, file_path }): ColumnChunkPlace[] => {
      if (!meta) return [];
      if (file_path) throw new Error('its data is in another file');
      const [name, ...below] = meta.path_in_schema;
      const schemaPath = name === undefined ? [] : [schema, ...getTreePath(node, below)];
      const memory = isFlat ? members[index]!.memory : new PageMemory();
      return [{ handle, fileBytes, meta, schemaPath, blockBytes, memory }];
    });
    if (places.length === 0 && hasColumns(node)) {
      throw new Error(`the column ${node.element.name} is missing`);
    }
    return isFlat
      ? new FlatColumn(places[0]!, members[index]!)
      : new NestedColumn(node, places, members[index]!);
  });
}
