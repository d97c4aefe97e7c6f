/** Reads the footer of a Parquet file: its columns and its row groups. */
import { type FileMetaData, parquetMetadataAsync, parquetSchema, type SchemaTree } from 'hyparquet';
import { InputError } from '../../errors.js';
import { type OpenFile, openFile, type SourceFile } from '../text/source.js';

/** The footer must fit into memory. */
const MAX_FOOTER_BYTES = 64 * 1024 * 1024;

export interface Footer {
  metadata: FileMetaData;
  schema: SchemaTree;
  fileBytes: number;
}

/** @throws InputError */
export async function footerOf({ path }: SourceFile, { handle, stamp }: OpenFile): Promise<Footer> {
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
    return { metadata, schema: parquetSchema(metadata), fileBytes };
  } catch (error) {
    throw damaged(path, error);
  }
}

/** The error for a damaged file, from what a reader that trusts its input threw. */
export function damaged(path: string, error: unknown): Error {
  if (error instanceof InputError) return error;
  const why = (error as Error).message.replace(/^parquet /, '');
  return new InputError(`the Parquet file is damaged: ${why}`, { file: path, hint: AGAIN, cause: error });
}

const AGAIN = 'copy or export it again';

/** The columns of a file, in its order. @throws InputError for a damaged file */
export async function parquetColumns(file: SourceFile): Promise<string[]> {
  const opened = await openFile(file);
  try {
    const { schema } = await footerOf(file, opened);
    return schema.children.map(({ element }) => element.name);
  } finally {
    await opened.handle.close();
  }
}
