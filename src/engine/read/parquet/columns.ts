/** Reads one column of a row group after the other, some rows at a time, as the JSON text of its values. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type ColumnData, type Compressors, type FileMetaData, parquetRead, type RowGroup } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { InputError } from '../../errors.js';
import { grouped } from '../../util/numbers.js';
import { jsonString } from '../json/text.js';
import { copy, type Fixed, fixed, writeFixed } from '../text/fours.js';
import { Output } from '../text/output.js';
import type { FileColumn, ParquetFile } from './file.js';
import { readerOf } from './nested.js';
import { BadValueError, converterOf, isJson, isText, textOf } from './values.js';

/** How a column goes into items. */
export interface Member {
  /** Whether a value that cannot be sent rejects its row: not in a column that is left out, or sent as text. */
  rejects: boolean;
  /** JSON text of a missing value; null to leave the key out. */
  missing: string | null;
  /** Which values become text: whole numbers in identifiers, or all if the user pinned the column to text. */
  asText: 'none' | 'integers' | 'all';
  /** Text that holds a JSON object is written as that object. */
  spread: boolean;
  /** The values include 64-bit integers that a double cannot hold. */
  wide: boolean;
}

/** How many rows of a column to decode at a time. The library decodes the column's dictionary again each time. */
const STEP_ROWS = 1 << 16;
/** Values of a column that may have to be decoded at once: some hundred bytes each. */
const MOST_VALUES = 1 << 22;

const NOTHING = new Uint8Array(0);
/** A page with only nulls is empty, which not every decompressor accepts. Node's own ones are faster. */
const COMPRESSORS = Object.fromEntries(
  Object.entries({ ...compressors, GZIP: gunzipSync, BROTLI: brotliDecompressSync } as Compressors).map(
    ([codec, unpack]) => [
      codec,
      (bytes: Uint8Array, size: number) => (size === 0 ? NOTHING : unpack(bytes, size)),
    ],
  ),
);

/** A column of one row group after the other: its values in the next rows, as text. */
export class Column {
  /** Rows of the group: the first that is not loaded. */
  end = 0;
  /** Why loaded values cannot be sent, by row of the group. */
  readonly #bad = new Map<number, string>();
  /** The text of the loaded rows, from row `first` on, and where each value begins in it. */
  readonly #out = new Output(1024);
  #starts = new Uint32Array(1);
  #first = 0;
  #metadata!: FileMetaData;
  #rows = 0;
  #before = 0;
  /** The file says where the pages of this column are. */
  #isIndexed = false;
  readonly #write: (raw: unknown) => void;
  /** What comes before its value in an item. */
  readonly #name: Fixed;

  constructor(
    private readonly file: ParquetFile,
    private readonly column: FileColumn,
    private readonly member: Member,
  ) {
    this.#name = fixed(`,${jsonString(column.name)}:`);
    this.#write = this.#writer();
  }

  /** Goes to a row group. @param before rows in earlier groups */
  begin(group: RowGroup, before: number): void {
    this.#metadata = this.column.alone(group);
    this.#rows = Number(group.num_rows);
    this.#before = before;
    this.end = 0;
    const { columns } = this.#metadata.row_groups[0]!;
    this.#isIndexed = columns.every((chunk) => chunk.offset_index_offset && chunk.offset_index_length);
    const values = columns.reduce((sum, { meta_data }) => sum + Number(meta_data!.num_values), 0);
    if (values <= MOST_VALUES || this.#isIndexed) return;
    throw new InputError(`a row group of ${grouped(this.#rows)} rows is too large to be read at once`, {
      file: this.file.path,
      hint: `write the file with smaller ones: ${rewriting(this.file.path)}`,
    });
  }

  /** Loads rows from `end` on: whole pages, so that none is decoded again. @throws if there are none */
  async load(): Promise<void> {
    const first = this.end;
    const chunks = await this.#decode(first);
    const end = chunks.at(-1)?.rowEnd ?? first;
    if (end <= first) throw new Error(`a column ends before row ${first + 1}`);
    if (end > this.#rows) throw new Error('a column has too many values');
    this.#first = first;
    this.#out.length = 0;
    if (this.#starts.length <= end - first) this.#starts = new Uint32Array(end - first + 1);
    this.#bad.clear();
    let row = first;
    for (const { columnData, rowStart, rowEnd } of chunks) {
      if (rowStart > row) throw new Error('a column has too few values');
      for (; row < rowEnd; row++) this.#add(row, columnData[row - rowStart]);
    }
    this.end = end;
  }

  /** Appends its member to the item of a loaded row, unless it has no value. @returns why it cannot be sent */
  append(row: number, out: Output): string | undefined {
    const [start, end] = [this.#starts[row - this.#first]!, this.#starts[row - this.#first + 1]!];
    if (start === end) return undefined;
    out.reserve(this.#name.length + end - start);
    out.length = writeFixed(this.#name, out.view, out.length);
    out.length = copy(this.#out.view, start, end, out.view, out.length);
    return this.#bad.size === 0 ? undefined : this.#bad.get(row);
  }

  async #decode(first: number): Promise<ColumnData[]> {
    const { isFlat, name } = this.column;
    // Of a nested column without an index, the library decodes all rows each time.
    const step = isFlat || this.#isIndexed ? STEP_ROWS : this.#rows;
    const chunks: ColumnData[] = [];
    const reading = parquetRead({
      file: this.file.bytes,
      metadata: this.#metadata,
      columns: ['0'],
      // Without an index, a page that ends where the range begins would be decoded, too.
      rowStart: first === 0 || this.#isIndexed ? first : Math.min(first + 1, this.#rows - 1),
      rowEnd: Math.min(first + step, this.#rows),
      useOffsetIndex: true,
      compressors: COMPRESSORS,
      utf8: false,
      parsers: { timestampFromNanoseconds: (nanos) => nanos },
      onChunk: (chunk) => chunks.push(chunk),
    });
    await reading.catch((error: unknown) => {
      if (isFlat || !(error instanceof RangeError)) throw error;
      // The library takes the number of nulls in a page of version 2 for more than Arrow counts.
      throw new InputError(`the lists of the column ${name} cannot be read`, {
        file: this.file.path,
        hint: `write the file again: ${rewriting(this.file.path)}`,
        cause: error,
      });
    });
    return chunks;
  }

  #add(row: number, raw: unknown): void {
    const out = this.#out;
    const start = out.length;
    try {
      this.#write(raw);
    } catch (error) {
      if (!(error instanceof BadValueError)) throw error;
      const { message, shown } = error;
      if (shown === null) {
        const hint = 'fix the value, and export the file again';
        throw new InputError(message, { file: this.file.path, line: this.#before + row + 1, hint });
      }
      if (this.member.rejects) this.#bad.set(row, `${this.column.name}: ${message}`);
      out.length = start;
      out.write(jsonString(shown));
    }
    this.#starts[row - this.#first + 1] = out.length;
  }

  #writer(): (raw: unknown) => void {
    const { asText, missing, spread, wide } = this.member;
    const { node, isFlat } = this.column;
    const out = this.#out;
    const write = (text: string | null): void => out.write(text ?? missing ?? '');
    if (!isFlat) {
      const read = readerOf(node);
      return (raw) => {
        const value = read(raw);
        write(value === null ? null : JSON.stringify(value));
      };
    }
    if (spread || isJson(node.element)) return (raw) => write(jsonText(raw, spread));
    const copies = isText(node.element);
    const convert = converterOf(node.element, wide);
    let page = new DataView(new ArrayBuffer(0));
    return (raw) => {
      if (raw === undefined) throw new Error(NO_VALUE);
      if (copies && raw !== null) {
        const { buffer, byteOffset, length } = raw as Uint8Array<ArrayBuffer>;
        if (page.buffer !== buffer) page = new DataView(buffer);
        if (out.copyText(page, byteOffset, byteOffset + length)) return;
      }
      const value = raw === null ? null : convert(raw);
      const quotes = asText === 'all' || (asText === 'integers' && Number.isSafeInteger(value));
      if (typeof value === 'string') out.writeJson(value);
      else write(value === null ? null : quotes ? `"${value}"` : JSON.stringify(value));
    };
  }
}

const NO_VALUE = 'a value is not in its dictionary';

/** JSON stays as it is in the file: parsed and written again, a number could lose digits. Null for no value. */
function jsonText(raw: unknown, spread: boolean): string | null {
  if (raw === undefined) throw new Error(NO_VALUE);
  if (raw === null) return null;
  const text = textOf(raw as Uint8Array, true);
  try {
    const value: unknown = JSON.parse(text);
    if (!spread || (typeof value === 'object' && value !== null)) return text;
  } catch {} // sent as text, or rejected with the same reason as in other formats
  return jsonString(text);
}

/** A command that writes a file again, with pages and row groups that the library reads. */
function rewriting(path: string): string {
  const sql = `COPY (FROM '${path.replaceAll("'", "''")}') TO 'rewritten.parquet' (ROW_GROUP_SIZE 100000)`;
  return `duckdb -c "${sql.replace(/["$`\\]/g, '\\$&')}"`;
}
