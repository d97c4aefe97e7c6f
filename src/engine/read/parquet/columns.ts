/** Reads one column of a row group after the other, some rows at a time, as the JSON text of its values. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import {
  type ColumnChunk,
  type ColumnData,
  type Compressors,
  type FileMetaData,
  parquetRead,
  type SchemaTree,
} from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { InputError } from '../../errors.js';
import { grouped } from '../../util/numbers.js';
import { JSON_TYPES, jsonTypeOf } from '../json/fields.js';
import { jsonString } from '../json/text.js';
import type { Rows } from '../rows.js';
import type { Output } from '../text/output.js';
import { columnFile, hasColumns, type ParquetFile } from './file.js';
import { readerOf } from './nested.js';
import { BadValueError, converterOf, isJson, isText, textOf } from './values.js';

/** How a column goes into items. */
export interface Member {
  node: SchemaTree;
  /** For its text: one row group after the other is as large. */
  out: Output;
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

/** The kind of a cell: the type of its JSON. That of structures, and of JSON as it is in the file, must be looked at. */
const kindOf = (value: unknown): number => JSON_TYPES.indexOf(jsonTypeOf(value));
const [TEXT, OBJECT] = [kindOf(''), kindOf({})];

/** A column of a row group: its values in the next rows, as text. */
export class Column {
  /** Rows of the group: the first that is not loaded. */
  end = 0;
  /** Why values cannot be sent, by row of the group. */
  readonly bad = new Map<number, BadValueError>();
  readonly member: Member;
  readonly #file: ParquetFile;
  readonly #isFlat: boolean;
  readonly #metadata: FileMetaData | null;
  readonly #rows: number;
  readonly #step: number;
  /** The file says where the pages of this column are. */
  readonly #isIndexed: boolean;
  /** Writes a value. @returns its kind */
  readonly #write: (raw: unknown) => number;
  readonly #out: Output;
  /** Where the values of the loaded rows begin, from row `first` on, and their kinds. */
  #starts = new Uint32Array(1);
  #kinds = new Uint8Array(0);
  #first = 0;

  constructor(file: ParquetFile, member: Member, rows: number, chunks: readonly ColumnChunk[]) {
    this.member = member;
    this.#out = member.out;
    const { node } = member;
    this.#rows = rows;
    this.#metadata = hasColumns(node) ? columnFile(node, BigInt(rows), chunks) : null;
    this.#isIndexed = chunks.every((chunk) => chunk.offset_index_offset && chunk.offset_index_length);
    const values = chunks.reduce((sum, { meta_data }) => sum + Number(meta_data?.num_values ?? 0), 0);
    if (values > MOST_VALUES && !this.#isIndexed) {
      throw new InputError(`a row group of ${grouped(rows)} rows is too large to be read at once`, {
        file: file.path,
        hint: `write the file with smaller ones: ${rewriting(file.path)}`,
      });
    }
    const isFlat = node.children.length === 0 && node.element.repetition_type !== 'REPEATED';
    this.#isFlat = isFlat;
    this.#file = file;
    // Of a nested column without an index, the library decodes all rows each time.
    this.#step = isFlat || this.#isIndexed ? STEP_ROWS : rows;
    this.#write = this.#writer(member);
  }

  /** Loads rows from `end` on: whole pages, so that none is decoded again. @throws if there are none */
  async load(): Promise<void> {
    const first = this.end;
    const chunks = await this.#decode(first);
    const end = chunks.at(-1)?.rowEnd ?? first;
    if (end <= first) throw new Error(`a column ends before row ${first + 1}`);
    if (end > this.#rows) throw new Error('a column has too many values');
    if (this.#starts.length <= end - first) {
      this.#starts = new Uint32Array(end - first + 1);
      this.#kinds = new Uint8Array(end - first);
    }
    this.#out.length = 0;
    this.bad.clear();
    let row = first;
    for (const { columnData, rowStart, rowEnd } of chunks) {
      if (rowStart > row) throw new Error('a column has too few values');
      for (; row < rowEnd; row++) this.#add(row, columnData[row - rowStart], first);
    }
    this.#first = first;
    this.end = end;
  }

  #startOf(row: number): number {
    return this.#starts[row - this.#first]!;
  }

  /** Bytes of the rows from `first` up to `end`, which are loaded. */
  size(first: number, end: number): number {
    return this.#startOf(end) - this.#startOf(first);
  }

  /** Copies the values of loaded rows into a batch, as its column `index`. @param at where @returns the offset after them */
  copy(
    first: number,
    end: number,
    { bytes, starts, ends, kinds, width }: Rows,
    index: number,
    at: number,
  ): number {
    const shift = at - this.#startOf(first);
    bytes.set(this.#out.bytes.subarray(this.#startOf(first), this.#startOf(end)), at);
    for (let row = first, cell = index; row < end; row++, cell += width) {
      starts[cell] = this.#startOf(row) + shift;
      ends[cell] = this.#startOf(row + 1) + shift;
      kinds[cell] = this.#kinds[row - this.#first]!;
    }
    return this.#startOf(end) + shift;
  }

  async #decode(first: number): Promise<ColumnData[]> {
    const rowEnd = Math.min(first + this.#step, this.#rows);
    if (!this.#metadata) {
      const columnData = new Array(rowEnd - first).fill(null);
      return [{ columnName: '', columnData, rowStart: first, rowEnd }];
    }
    const chunks: ColumnData[] = [];
    const reading = parquetRead({
      file: this.#file.bytes,
      metadata: this.#metadata,
      columns: ['0'],
      // Without an index, a page that ends where the range begins would be decoded, too.
      rowStart: first === 0 || this.#isIndexed ? first : Math.min(first + 1, this.#rows - 1),
      rowEnd,
      useOffsetIndex: true,
      compressors: COMPRESSORS,
      utf8: false,
      parsers: { timestampFromNanoseconds: (nanos) => nanos },
      onChunk: (chunk) => chunks.push(chunk),
    });
    await reading.catch((error: unknown) => {
      if (this.#isFlat || !(error instanceof RangeError)) throw error;
      // The library takes the number of nulls in a page of version 2 for more than Arrow counts.
      const { name } = this.member.node.element;
      throw new InputError(`the lists of the column ${name} cannot be read`, {
        file: this.#file.path,
        hint: `write the file again: ${rewriting(this.#file.path)}`,
        cause: error,
      });
    });
    return chunks;
  }

  #add(row: number, raw: unknown, first: number): void {
    const out = this.#out;
    const start = out.length;
    this.#starts[row - first] = start;
    try {
      this.#kinds[row - first] = this.#write(raw);
    } catch (error) {
      if (!(error instanceof BadValueError)) throw error;
      this.bad.set(row, error);
      out.length = start;
      out.write(jsonString(error.shown ?? ''));
      this.#kinds[row - first] = TEXT;
    }
    this.#starts[row - first + 1] = out.length;
  }

  #writer({ node, asText, missing, spread, wide }: Member): (raw: unknown) => number {
    const { element } = node;
    const out = this.#out;
    const none = (): number => {
      if (missing !== null) out.write(missing);
      return missing === 'null' ? kindOf(null) : TEXT;
    };
    if (!this.#isFlat || spread || isJson(element)) {
      const json = this.#isFlat ? jsonText(spread) : nestedText(node);
      return (raw) => {
        const text = json(raw);
        if (text === null) none();
        else out.write(text);
        return OBJECT;
      };
    }
    const copies = isText(element);
    const convert = converterOf(element, wide);
    let page: DataView = new DataView(new ArrayBuffer(0));
    return (raw) => {
      if (raw === undefined) throw new Error(NO_VALUE);
      if (raw === null) return none();
      if (copies) {
        const { buffer, byteOffset, length } = raw as Uint8Array;
        if (page.buffer !== buffer) page = new DataView(buffer);
        if (out.copyText(page, byteOffset, byteOffset + length)) return TEXT;
      }
      const value = convert(raw);
      if (value === null) return none();
      const quotes = asText === 'all' || (asText === 'integers' && Number.isSafeInteger(value));
      const sent = quotes ? String(value) : value;
      out.write(typeof sent === 'string' ? jsonString(sent) : JSON.stringify(sent));
      return kindOf(sent);
    };
  }
}

const NO_VALUE = 'a value is not in its dictionary';

/** The JSON text of a value; null for none. */
type TextOf = (raw: unknown) => string | null;

function nestedText(node: SchemaTree): TextOf {
  const read = readerOf(node);
  return (raw) => {
    const value = read(raw);
    return value === null ? null : JSON.stringify(value);
  };
}

/** JSON stays as it is in the file: parsed and written again, a number could lose digits. */
const jsonText =
  (spread: boolean): TextOf =>
  (raw) => {
    if (raw === undefined) throw new Error(NO_VALUE);
    if (raw === null) return null;
    const text = textOf(raw as Uint8Array, true);
    try {
      const value: unknown = JSON.parse(text);
      if (!spread || (typeof value === 'object' && value !== null)) return text;
    } catch {} // sent as text, or rejected with the same reason as in other formats
    return jsonString(text);
  };

/** A command that writes a file again, with pages and row groups that the library reads. */
function rewriting(path: string): string {
  const sql = `COPY (FROM '${path.replaceAll("'", "''")}') TO 'rewritten.parquet' (ROW_GROUP_SIZE 100000)`;
  return `duckdb -c "${sql.replace(/["$`\\]/g, '\\$&')}"`;
}
