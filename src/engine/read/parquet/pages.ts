/** Reads the values of a column with hyparquet, some rows of a row group at a time. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type ColumnData, type Compressors, type FileMetaData, parquetRead, type RowGroup } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { InputError } from '../../errors.js';
import { grouped } from '../../util/numbers.js';
import type { FileColumn, ParquetFile } from './file.js';

/** How many rows of a column to decode at a time. The library decodes the column's dictionary again each time. */
const STEP_ROWS = 1 << 16;
/** Values of a column that may have to be decoded at once: some hundred bytes each. */
const MOST_VALUES = 1 << 22;

/** A page with only nulls is empty, which not every decompressor accepts. Node's own ones are faster. */
const COMPRESSORS = Object.fromEntries(
  Object.entries({ ...compressors, GZIP: gunzipSync, BROTLI: brotliDecompressSync } as Compressors).map(
    ([codec, unpack]) => [
      codec,
      (bytes: Uint8Array, size: number) => (size === 0 ? new Uint8Array(0) : unpack(bytes, size)),
    ],
  ),
);

/** A column of a row group. */
export class ColumnPages {
  readonly #metadata: FileMetaData;
  /** The file says where the pages are. */
  readonly #isIndexed: boolean;

  /** @throws InputError for numbers and sizes that the library cannot read */
  constructor(
    private readonly file: ParquetFile,
    private readonly column: FileColumn,
    group: RowGroup,
  ) {
    this.#metadata = column.alone(group);
    const { columns, num_rows } = this.#metadata.row_groups[0]!;
    if (column.isMisread(group))
      throw this.#unread(`the numbers of the column ${column.name} cannot be read`);
    this.#isIndexed = columns.every((chunk) => chunk.offset_index_offset && chunk.offset_index_length);
    const values = columns.reduce((sum, { meta_data }) => sum + Number(meta_data!.num_values), 0);
    if (values > MOST_VALUES && !this.#isIndexed) {
      const what = `a row group of ${grouped(Number(num_rows))} rows is too large to be read at once`;
      throw this.#unread(what, 'write the file with smaller ones');
    }
  }

  /**
   * The values from a row of the group on: whole pages, so that none is decoded again.
   * @returns how many rows they are, and the value of each, counted from the first
   * @throws where a column has no more rows than were read
   */
  async from(first: number): Promise<{ count: number; value(row: number): unknown }> {
    const chunks = await this.#decode(first);
    const rows = Number(this.#metadata.num_rows);
    let end = first;
    for (const { rowStart, rowEnd } of chunks) {
      if (rowStart > end) throw new Error('a column has too few values');
      end = Math.max(end, rowEnd);
    }
    if (end === first) throw new Error(`a column ends before row ${first + 1}`);
    if (end > rows) throw new Error('a column has too many values');
    let at = 0;
    const value = (row: number): unknown => {
      while (first + row >= chunks[at]!.rowEnd) at++;
      const { columnData, rowStart } = chunks[at]!;
      return columnData[first + row - rowStart];
    };
    return { count: end - first, value };
  }

  async #decode(first: number): Promise<ColumnData[]> {
    const { isFlat, name } = this.column;
    const isIndexed = this.#isIndexed;
    const rows = Number(this.#metadata.num_rows);
    // Of a nested column without an index, the library decodes all rows each time.
    const step = isFlat || isIndexed ? STEP_ROWS : rows;
    const chunks: ColumnData[] = [];
    const reading = parquetRead({
      file: this.file.bytes,
      metadata: this.#metadata,
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
      throw this.#unread(`the lists of the column ${name} cannot be read`, undefined, error);
    });
    return chunks;
  }

  #unread(what: string, advice = 'write the file again', cause?: unknown): InputError {
    const { path } = this.file;
    return new InputError(what, { file: path, hint: `${advice}: ${rewriting(path)}`, cause });
  }
}

/** A command that writes a file again, with pages and row groups that the library reads. */
function rewriting(path: string): string {
  const sql = `COPY (FROM '${path.replaceAll("'", "''")}') TO 'rewritten.parquet' (ROW_GROUP_SIZE 100000)`;
  return `duckdb -c "${sql.replace(/["$`\\]/g, '\\$&')}"`;
}
