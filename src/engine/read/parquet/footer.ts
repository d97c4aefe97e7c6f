/** Reads the footer of a Parquet file: its columns and its row groups. */
import {
  type FileMetaData,
  parquetMetadataAsync,
  parquetSchema,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet';
import { InputError } from '../../errors.js';
import { type Limits, tooManyColumns } from '../limits.js';
import { type OpenFile, openFile, type SourceFile } from '../text/source.js';

/** The footer must fit into memory. */
const MAX_FOOTER_BYTES = 64 * 1024 * 1024;

export interface Footer {
  metadata: FileMetaData;
  schema: SchemaTree;
  fileBytes: number;
}

type File = SourceFile & Pick<Limits, 'maxColumns'>;

/** @throws InputError */
export async function footerOf({ path, maxColumns }: File, { handle, stamp }: OpenFile): Promise<Footer> {
  const fileBytes = stamp.size;
  const read = async (start: number, end: number): Promise<ArrayBuffer> => {
    if (end - start > MAX_FOOTER_BYTES) throw new Error('its footer is too large');
    const bytes = new Uint8Array(end - start);
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
    if (bytesRead < bytes.length) throw new Error('it is cut off');
    return bytes.buffer;
  };
  try {
    const end = Buffer.from(await read(Math.max(fileBytes - 4, 0), fileBytes)).toString('latin1');
    if (end === 'PARE') {
      throw new InputError('is an encrypted Parquet file', {
        file: path,
        hint: 'export it without encryption',
      });
    }
    if (end !== 'PAR1') {
      throw new InputError('the Parquet file is cut off: its end is missing', {
        file: path,
        hint: AGAIN,
      });
    }
    const file = { byteLength: fileBytes, slice: (start: number, stop = fileBytes) => read(start, stop) };
    const metadata = await parquetMetadataAsync(file, { geoparquet: false });
    const columns = metadata.schema.filter(({ type }) => type !== undefined).length;
    if (columns > maxColumns) throw tooManyColumns({ path, maxColumns }, columns);
    return { metadata, schema: parquetSchema(metadata), fileBytes };
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

const AGAIN = 'copy or export it again';

export interface ParquetColumn {
  name: string;
  /** A floating-point number so large that whole numbers near it are rounded to it; null if there is none. */
  rounded: () => number | null;
}

/** The columns of a file, in its order. @throws InputError for a damaged file */
export async function parquetColumns(file: File): Promise<ParquetColumn[]> {
  const opened = await openFile(file);
  try {
    const { schema, metadata } = await footerOf(file, opened);
    return schema.children.map(({ element }) => ({
      name: element.name,
      rounded: () => roundedOf(metadata, element),
    }));
  } finally {
    await opened.handle.close();
  }
}

/** The whole numbers below it are exact. */
const EXACT_BELOW: Readonly<Record<string, number>> = { FLOAT: 2 ** 24, DOUBLE: 2 ** 53 };

/** As far as the file's statistics say. */
function roundedOf({ row_groups }: FileMetaData, { name, type }: SchemaElement): number | null {
  const limit = EXACT_BELOW[type ?? ''];
  if (limit === undefined) return null;
  for (const { columns } of row_groups) {
    for (const { meta_data } of columns) {
      if (meta_data?.path_in_schema.length !== 1 || meta_data.path_in_schema[0] !== name) continue;
      const { min_value, max_value, min, max } = meta_data.statistics ?? {};
      for (const bound of [max_value, min_value, max, min]) {
        if (typeof bound === 'number' && Number.isFinite(bound) && Math.abs(bound) >= limit) return bound;
      }
    }
  }
  return null;
}
