/** Reads the footer of a Parquet file: its columns, its row groups, and what their statistics say. */
import {
  type AsyncBuffer,
  type FileMetaData,
  parquetMetadataAsync,
  parquetSchema,
  type RowGroup,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet';
import { InputError } from '../../errors.js';
import { openFile, type SourceFile } from '../text/source.js';
import { MOST_COLUMNS, tooManyColumns } from '../wording.js';
import { isUnsigned32 } from './values.js';

export interface ParquetFile {
  path: string;
  /** Its bytes, for the library. */
  bytes: AsyncBuffer;
  groups: RowGroup[];
  rows: number;
  columns: FileColumn[];
  fd: number;
  size: number;
  close(): Promise<void>;
}

const AGAIN = 'copy or export it again';

/** @throws InputError */
export async function openParquet(source: SourceFile): Promise<ParquetFile> {
  const { path } = source;
  const { handle, stamp } = await openFile(source);
  const { size } = stamp;
  const read = async (start: number, end: number): Promise<ArrayBuffer> => {
    if (!(start >= 0 && start <= end && end <= size)) throw new Error('a part lies outside the file');
    const bytes = new Uint8Array(end - start);
    for (let at = 0; at < bytes.length; ) {
      const { bytesRead } = await handle.read(bytes, at, bytes.length - at, start + at);
      if (bytesRead === 0) throw new Error('it is cut off');
      at += bytesRead;
    }
    return bytes.buffer;
  };
  const slice = (start: number, end = size): Promise<ArrayBuffer> => {
    const bytes = read(start, end);
    bytes.catch(() => {}); // after another error, the library does not wait for it
    return bytes;
  };
  try {
    const mark = Buffer.from(await slice(Math.max(size - 4, 0))).toString('latin1');
    if (mark === 'PARE') {
      const hint = 'export it without encryption';
      throw new InputError('is an encrypted Parquet file', { file: path, hint });
    }
    if (mark !== 'PAR1') {
      throw new InputError('the Parquet file is cut off: its end is missing', { file: path, hint: AGAIN });
    }
    const bytes = { byteLength: size, slice };
    const metadata = await parquetMetadataAsync(bytes, { geoparquet: false });
    const stored = metadata.schema.filter(({ type }) => type !== undefined).length;
    if (stored > MOST_COLUMNS) throw tooManyColumns(path);
    const { row_groups: groups } = metadata;
    const counts = groups.map(({ num_rows }) => Number(num_rows));
    const rows = counts.reduce((sum, count) => sum + count, 0);
    if (counts.some((count) => !(count >= 0)) || rows !== Number(metadata.num_rows))
      throw new Error('its numbers of rows do not fit together');
    let first = 0;
    const columns = withValues(parquetSchema(metadata).children).map((node) => {
      const column = new FileColumn(node, first, groups);
      first += column.width;
      return column;
    });
    return { path, bytes, groups, columns, rows, fd: handle.fd, size, close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw damaged(path, error);
  }
}

/** How many rows to read at a time: as many as take about a megabyte, but some more of many columns. */
const STEP_ROWS = { most: 4096, bytes: 1024 ** 2 };
const WIDE_STEP_ROWS = { most: 1024, bytes: 8 * 1024 ** 2 };

/** How many rows of a group to read at a time. */
export function stepOf({ num_rows, total_byte_size }: RowGroup): number {
  const rowBytes = Number(total_byte_size) / Number(num_rows);
  if (!(rowBytes > 0)) return STEP_ROWS.most;
  const steps = [STEP_ROWS, WIDE_STEP_ROWS].map(({ most, bytes }) => Math.min(most, bytes / rowBytes));
  return Math.ceil(Math.max(...steps));
}

/** The error for a damaged file, from what a reader that trusts its input threw. */
export function damaged(path: string, error: unknown): Error {
  if (error instanceof InputError) return error;
  // The library takes for granted that the parts of a file fit together.
  const isSurprise = error instanceof TypeError || error instanceof RangeError;
  const why = isSurprise
    ? 'its parts do not fit together'
    : (error as Error).message.replace(/^parquet /, '');
  return new InputError(`the Parquet file is damaged: ${why}`, { file: path, hint: AGAIN, cause: error });
}

/** Without structures that have no members: the file holds nothing of them. */
const withValues = (nodes: readonly SchemaTree[]): SchemaTree[] =>
  nodes
    .map((node) => ({ ...node, children: withValues(node.children) }))
    .filter(({ element, children }) => children.length > 0 || element.type !== undefined);

/** Whether a node is a list in the form that is usual today or was before. */
export const isList = ({ element, children: [list, more] }: SchemaTree): boolean =>
  element.converted_type === 'LIST' &&
  list?.element.repetition_type === 'REPEATED' &&
  list.children.length <= 1 &&
  more === undefined;

/** The whole numbers below it are exact. */
const EXACT_BELOW: Readonly<Record<string, number>> = { FLOAT: 2 ** 24, DOUBLE: 2 ** 53 };

/** A column of a row, which may have columns below it. */
export class FileColumn {
  readonly name: string;
  readonly isFlat: boolean;
  /** The column alone, for the library. */
  readonly #schema: SchemaElement[] = [{ name: 'root', num_children: 1 }];
  /** The names that lead to the values of each leaf, in the file and for the library. */
  readonly #leaves: { path: string; names: string[]; isUnsigned32: boolean }[] = [];

  constructor(
    readonly node: SchemaTree,
    /** How many leaves of the file come before its own. */
    private readonly first: number,
    private readonly groups: readonly RowGroup[],
  ) {
    this.name = node.element.name;
    this.isFlat = node.children.length === 0 && node.element.repetition_type !== 'REPEATED';
    this.#add(node, ['0']);
  }

  /** How many leaves it has. */
  get width(): number {
    return this.#leaves.length;
  }

  /** Without the types that the library would round values of, and with numbers as names, since it loses `__proto__`. */
  #add(node: SchemaTree, names: string[]): void {
    const { type, type_length, repetition_type, logical_type } = node.element;
    const { children } = node;
    this.#schema.push({
      name: names.at(-1)!,
      ...(repetition_type && { repetition_type }),
      ...(children.length > 0 ? { num_children: children.length } : type && { type }),
      ...(type_length !== undefined && { type_length }),
      ...(isList(node) && { converted_type: 'LIST' as const }),
      ...(logical_type?.type === 'FLOAT16' && { logical_type }),
    });
    if (children.length === 0)
      this.#leaves.push({ path: node.path.join('.'), names, isUnsigned32: isUnsigned32(node.element) });
    for (const [at, child] of children.entries()) this.#add(child, [...names, String(at)]);
  }

  /** A file with only this column and one row group. @throws Error if the group has other columns than the schema */
  alone({ columns, num_rows }: RowGroup): FileMetaData {
    const chunks = this.#leaves.map(({ path, names }, at) => {
      const chunk = columns[this.first + at];
      if (chunk?.meta_data?.path_in_schema.join('.') !== path)
        throw new Error(`the column ${path} is missing`);
      if (chunk.file_path) throw new Error('its data is in another file');
      const { dictionary_page_offset: place, ...meta } = chunk.meta_data;
      // Some writers give a place that means nothing.
      const hasPlace = place !== undefined && place < meta.data_page_offset;
      const dictionary = hasPlace && { dictionary_page_offset: place };
      return { ...chunk, meta_data: { ...meta, ...dictionary, path_in_schema: names } };
    });
    const row_groups = [{ columns: chunks, num_rows, total_byte_size: 0n }];
    return { version: 2, schema: this.#schema, num_rows, row_groups, metadata_length: 0 };
  }

  /** Whether it is where it should be in a row group, with a value or a null in each row, as far as the file says. */
  isWhole({ columns, num_rows }: RowGroup): boolean {
    const { meta_data: meta, file_path } = columns[this.first] ?? {};
    const isThere = meta?.path_in_schema.join('.') === this.#leaves[0]?.path && !file_path;
    return this.isFlat && isThere && meta?.num_values === num_rows;
  }

  /**
   * Whether the library may misread a row group. DuckDB begins a page of differences with an unsigned number of 33 bits, of
   * which the library reads 32.
   */
  isMisread({ columns }: RowGroup): boolean {
    return this.#leaves.some(({ isUnsigned32 }, at) => {
      const { encodings, statistics } = columns[this.first + at]!.meta_data!;
      const most = statistics?.max_value as number | undefined;
      const isSmall = most !== undefined && most >= 0 && most < 2 ** 31;
      return isUnsigned32 && encodings.includes('DELTA_BINARY_PACKED') && !isSmall;
    });
  }

  /** The largest and smallest values in each row group, as far as the file says. */
  get bounds(): unknown[] {
    if (!this.isFlat) return [];
    return this.groups.flatMap(({ columns }) => {
      const { min_value, max_value, min, max } = columns[this.first]?.meta_data?.statistics ?? {};
      return [max_value, min_value, max, min];
    });
  }

  /** A floating-point number so large that whole numbers near it are rounded to it; null if there is none. */
  get rounded(): number | null {
    const limit = EXACT_BELOW[this.node.element.type ?? ''] ?? Number.POSITIVE_INFINITY;
    const isRounded = (bound: unknown) =>
      typeof bound === 'number' && Number.isFinite(bound) && Math.abs(bound) >= limit;
    return (this.bounds.find(isRounded) as number | undefined) ?? null;
  }
}
