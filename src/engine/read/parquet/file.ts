/** Reads the footer of a Parquet file: its columns, its row groups, and what their statistics say. */
import {
  type AsyncBuffer,
  type ColumnChunk,
  type ColumnMetaData,
  type FileMetaData,
  parquetMetadataAsync,
  parquetSchema,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet';
import { InputError } from '../../errors.js';
import { type Limits, tooManyColumns } from '../limits.js';
import { type OpenFile, openFile, type SourceFile } from '../text/source.js';

export interface ParquetFile {
  path: string;
  /** Its bytes, for the library. */
  bytes: AsyncBuffer;
  groups: FileMetaData['row_groups'];
  /** The columns of a row, which may have columns below them. */
  columns: SchemaTree[];
}

/** A footer is not larger than this: it must fit into memory. */
const MAX_FOOTER_BYTES = 64 * 1024 * 1024;
const AGAIN = 'copy or export it again';

type File = SourceFile & Pick<Limits, 'maxColumns'>;

/** @throws InputError */
export async function parquetFile(
  { path, maxColumns }: File,
  { handle, stamp }: OpenFile,
): Promise<ParquetFile> {
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
    const end = Buffer.from(await slice(Math.max(size - 8, 0)));
    const mark = end.toString('latin1').slice(-4);
    if (mark === 'PARE') {
      throw new InputError('is an encrypted Parquet file', {
        file: path,
        hint: 'export it without encryption',
      });
    }
    if (mark !== 'PAR1') {
      throw new InputError('the Parquet file is cut off: its end is missing', { file: path, hint: AGAIN });
    }
    if (end.length === 8 && end.readUInt32LE() > MAX_FOOTER_BYTES) throw new Error('its footer is too large');
    const bytes = { byteLength: size, slice };
    const metadata = await parquetMetadataAsync(bytes, { geoparquet: false });
    const stored = metadata.schema.filter(({ type }) => type !== undefined).length;
    if (stored > maxColumns) throw tooManyColumns({ path, maxColumns }, stored);
    return { path, bytes, groups: metadata.row_groups, columns: parquetSchema(metadata).children };
  } catch (error) {
    throw damaged(path, error);
  }
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

export interface ParquetColumn {
  name: string;
  /** A floating-point number so large that whole numbers near it are rounded to it; null if there is none. */
  rounded: () => number | null;
}

/** The columns of a file, in its order. @throws InputError for a damaged file */
export async function parquetColumns(file: File): Promise<ParquetColumn[]> {
  const opened = await openFile(file);
  try {
    const { columns, groups } = await parquetFile(file, opened);
    return columns.map(({ element }) => ({
      name: element.name,
      rounded() {
        const limit = EXACT_BELOW[element.type ?? ''];
        const isRounded = (bound: unknown) =>
          typeof bound === 'number' && Number.isFinite(bound) && Math.abs(bound) >= limit!;
        const found = limit === undefined ? undefined : boundsOf(groups, element).find(isRounded);
        return (found as number | undefined) ?? null;
      },
    }));
  } finally {
    await opened.handle.close();
  }
}

/** The whole numbers below it are exact. */
const EXACT_BELOW: Readonly<Record<string, number>> = { FLOAT: 2 ** 24, DOUBLE: 2 ** 53 };

/** The largest and smallest values of a flat column in each row group, as far as the file's statistics say. */
export const boundsOf = (groups: FileMetaData['row_groups'], { name }: SchemaElement): unknown[] =>
  groups.flatMap(({ columns }) =>
    columns.flatMap(({ meta_data: meta }) => {
      if (meta?.path_in_schema.length !== 1 || meta.path_in_schema[0] !== name) return [];
      const { min_value, max_value, min, max } = meta.statistics ?? {};
      return [max_value, min_value, max, min];
    }),
  );

/** Whether a node has any column: of a structure without members, the file holds nothing. */
export const hasColumns = ({ element, children }: SchemaTree): boolean =>
  children.length > 0 ? children.some(hasColumns) : element.type !== undefined;

/** Whether a node is a list in the form that is usual today or was before. */
export const isList = ({ element, children: [list, more] }: SchemaTree): boolean =>
  element.converted_type === 'LIST' &&
  list?.element.repetition_type === 'REPEATED' &&
  list.children.length <= 1 &&
  more === undefined;

/**
 * A file with one column in one row group, for the library: without the types it would round values of, and with
 * numbers as names, since it loses members such as `__proto__`.
 */
export function columnFile(
  column: SchemaTree,
  rows: bigint,
  chunks: readonly ColumnChunk[],
): FileMetaData & { row_groups: { columns: (ColumnChunk & { meta_data: ColumnMetaData })[] }[] } {
  const schema: SchemaElement[] = [{ name: 'root', num_children: 1 }];
  const paths = new Map<string, string[]>();
  const add = (node: SchemaTree, path: string[], names: string[]): void => {
    const { type, type_length, repetition_type, logical_type } = node.element;
    const below = [...path, node.element.name];
    const children = node.children.filter(hasColumns);
    schema.push({
      name: names.at(-1)!,
      ...(repetition_type && { repetition_type }),
      ...(type && node.children.length === 0
        ? { type, ...(type_length !== undefined && { type_length }) }
        : { num_children: children.length }),
      ...(isList(node) && { converted_type: 'LIST' as const }),
      ...(logical_type?.type === 'FLOAT16' && { logical_type }),
    });
    if (node.children.length === 0) paths.set(below.join('\0'), names);
    for (const [at, child] of children.entries()) add(child, below, [...names, String(at)]);
  };
  add(column, [], ['0']);
  const columns = chunks.flatMap((chunk) => {
    const { meta_data: meta, file_path } = chunk;
    if (!meta) return [];
    if (file_path) throw new Error('its data is in another file');
    const path = paths.get(meta.path_in_schema.join('\0'));
    if (!path) throw new Error(`the column ${meta.path_in_schema.join('.')} is not in its schema`);
    paths.delete(meta.path_in_schema.join('\0'));
    // Some writers give a place that means nothing.
    const { dictionary_page_offset: place, ...rest } = meta;
    const hasPlace = place !== undefined && place > 0n && place < meta.data_page_offset;
    const meta_data = { ...rest, path_in_schema: path, ...(hasPlace && { dictionary_page_offset: place }) };
    return [{ ...chunk, meta_data }];
  });
  for (const [path] of paths) throw new Error(`the column ${path.split('\0').join('.')} is missing`);
  const row_groups = [{ columns, num_rows: rows, total_byte_size: 0n }];
  return { version: 2, schema, num_rows: rows, row_groups, metadata_length: 0 };
}
