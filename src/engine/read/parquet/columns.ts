/** Reads a column, some rows at a time, as the JSON text of its values. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type ColumnData, type Compressors, type FileMetaData, parquetRead } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { InputError } from '../../errors.js';
import { grouped } from '../../util/numbers.js';
import { jsonString } from '../json/text.js';
import type { Rows } from '../rows.js';
import { Output } from '../text/bytes.js';
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

/** The values of some rows. */
interface Part {
  first: number;
  /** The row after the last. */
  end: number;
  bytes: Uint8Array;
  /** Where the text of each value begins, and where the last one ends. It is empty if there is no value. */
  starts: Uint32Array;
  /** As in `Rows`: of a JSON string without escapes, and of any other value. */
  kinds: Uint8Array;
  /** Why values cannot be sent, by row. */
  bad: ReadonlyMap<number, string>;
}
const [PLAIN, OTHER] = [0, 1];

/** Memory for the text of a column. */
const out = new Output(64 * 1024);

export class Column {
  /** The rows that are loaded. Their numbers are those in the file, from 0. */
  part: Part = {
    ...{ first: 0, end: 0, bytes: NOTHING, kinds: NOTHING },
    starts: new Uint32Array(1),
    bad: new Map(),
  };
  #next: Promise<IteratorResult<Part, void>> | null = null;
  readonly #parts: AsyncGenerator<Part, void>;
  /** Writes a value, and gives its kind. It has written nothing when it throws. */
  readonly #write: (raw: unknown) => number;

  constructor(
    private readonly file: ParquetFile,
    private readonly column: FileColumn,
    private readonly member: Member,
  ) {
    this.#parts = this.#read();
    this.#write = this.#writer();
  }

  /** Decodes the rows after those that are loaded, if there are any. What is wrong with them is told when they are loaded. */
  async prepare(): Promise<void> {
    if (this.#next !== null) return;
    this.#next = this.#parts.next();
    await this.#next.catch(() => {});
  }

  /** Loads the rows after those that are loaded. @throws InputError */
  async load(): Promise<void> {
    const next = this.#next ?? this.#parts.next();
    this.#next = null;
    this.part = (await next).value!;
  }

  /** Bytes of the values in loaded rows. */
  size(from: number, to: number): number {
    const { first, starts } = this.part;
    return starts[to - first]! - starts[from - first]!;
  }

  /** Copies the values of loaded rows into a batch, as its column `index`. @param at where @returns the offset after them */
  copy(from: number, to: number, batch: Rows, index: number, at: number): number {
    const { first, bytes, starts, kinds } = this.part;
    const { width } = batch;
    const [start, end] = [starts[from - first]!, starts[to - first]!];
    batch.bytes.set(bytes.subarray(start, end), at);
    for (let row = from - first, cell = index; row < to - first; row++, cell += width) {
      batch.starts[cell] = starts[row]! - start + at;
      batch.ends[cell] = starts[row + 1]! - start + at;
      batch.kinds[cell] = kinds[row]!;
    }
    return at + end - start;
  }

  /** Whole pages, so that none is decoded again. @throws where a column has no more rows than were read */
  async *#read(): AsyncGenerator<Part, void> {
    let before = 0;
    for (const group of this.file.groups) {
      const rows = Number(group.num_rows);
      if (rows === 0) continue; // its columns may have no pages and no valid offset
      const metadata = this.column.alone(group);
      const { columns } = metadata.row_groups[0]!;
      if (this.column.isMisread(group)) {
        throw new InputError(`the numbers of the column ${this.column.name} cannot be read`, {
          file: this.file.path,
          hint: `write the file again: ${rewriting(this.file.path)}`,
        });
      }
      /** The file says where the pages of this column are. */
      const isIndexed = columns.every((chunk) => chunk.offset_index_offset && chunk.offset_index_length);
      const values = columns.reduce((sum, { meta_data }) => sum + Number(meta_data!.num_values), 0);
      if (values > MOST_VALUES && !isIndexed) {
        throw new InputError(`a row group of ${grouped(rows)} rows is too large to be read at once`, {
          file: this.file.path,
          hint: `write the file with smaller ones: ${rewriting(this.file.path)}`,
        });
      }
      for (let first = 0; first < rows; ) {
        const part = this.#written(await this.#decode(metadata, first, rows, isIndexed), first, rows, before);
        yield part;
        first = part.end - before;
      }
      before += rows;
    }
  }

  async #decode(
    metadata: FileMetaData,
    first: number,
    rows: number,
    isIndexed: boolean,
  ): Promise<ColumnData[]> {
    const { isFlat, name } = this.column;
    // Of a nested column without an index, the library decodes all rows each time.
    const step = isFlat || isIndexed ? STEP_ROWS : rows;
    const chunks: ColumnData[] = [];
    const reading = parquetRead({
      file: this.file.bytes,
      metadata,
      columns: ['0'],
      // Without an index, a page that ends where the range begins would be decoded, too.
      rowStart: first === 0 || isIndexed ? first : Math.min(first + 1, rows - 1),
      rowEnd: Math.min(first + step, rows),
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

  /** @param first of the row group, which has so many `rows` @param before rows in earlier groups */
  #written(chunks: readonly ColumnData[], first: number, rows: number, before: number): Part {
    const end = chunks.at(-1)?.rowEnd ?? first;
    if (end <= first) throw new Error(`a column ends before row ${first + 1}`);
    if (end > rows) throw new Error('a column has too many values');
    const [starts, kinds] = [new Uint32Array(end - first + 1), new Uint8Array(end - first)];
    const bad = new Map<number, string>();
    const write = this.#write;
    out.length = 0;
    let row = first;
    for (const { columnData, rowStart, rowEnd } of chunks) {
      if (rowStart > row) throw new Error('a column has too few values');
      for (; row < rowEnd; row++) {
        try {
          kinds[row - first] = write(columnData[row - rowStart]);
        } catch (error) {
          const [why, shown] = this.#unfit(error, before + row);
          if (this.member.rejects) bad.set(before + row, why);
          out.write(jsonString(shown));
          kinds[row - first] = OTHER;
        }
        starts[row - first + 1] = out.length;
      }
    }
    const bytes = new Uint8Array(out.bytes.subarray(0, out.length));
    return { first: before + first, end: before + end, bytes, starts, kinds, bad };
  }

  /** Why a value cannot be sent, and its text. @throws the error of one that cannot be read */
  #unfit(error: unknown, row: number): [reason: string, shown: string] {
    if (!(error instanceof BadValueError)) throw error;
    const { message, shown } = error;
    if (shown !== null) return [`${this.column.name}: ${message}`, shown];
    const hint = 'fix the value, and export the file again';
    throw new InputError(message, { file: this.file.path, line: row + 1, hint });
  }

  #writer(): (raw: unknown) => number {
    const { asText, missing, spread, wide } = this.member;
    const { node, isFlat } = this.column;
    const write = (text: string | null): number => {
      out.write(text ?? missing ?? '');
      return OTHER;
    };
    if (!isFlat) {
      const read = readerOf(node);
      return (raw) => {
        const value = read(raw);
        return write(value === null ? null : JSON.stringify(value));
      };
    }
    if (spread || isJson(node.element)) return (raw) => write(jsonText(raw, spread));
    const copies = isText(node.element);
    const convert = converterOf(node.element, wide);
    return (raw) => {
      if (raw === undefined) throw new Error(NO_VALUE);
      if (copies && raw !== null && out.copyText(raw as Uint8Array)) return PLAIN;
      const value = raw === null ? null : convert(raw);
      const quotes = asText === 'all' || (asText === 'integers' && Number.isSafeInteger(value));
      if (typeof value !== 'string')
        return write(value === null ? null : quotes ? `"${value}"` : JSON.stringify(value));
      out.writeJson(value);
      return OTHER;
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
