/** The formats of input files. A new one is an object like those below, and a line in the list. */
import type { Format } from '../model.js';
import { csvReader } from './csv/reader.js';
import type { FormatReader } from './format.js';
import { jsonReader } from './json/reader.js';
import type { InputOptions } from './types.js';

/** In the order in which they look at a text. CSV comes last: any text may be CSV. */
const READERS: readonly FormatReader[] = [jsonReader, csvReader];

/** Extensions of files, and the formats that they promise. */
export const EXTENSIONS = new Map(READERS.flatMap((reader) => Object.entries(reader.extensions)));
const READER_OF = new Map(
  READERS.flatMap((reader) => Object.values(reader.extensions).map((format) => [format, reader] as const)),
);

export const readerOf = ({ format }: { format: Format }): FormatReader => READER_OF.get(format)!;

/**
 * The format that was asked for; otherwise by the content, then by the name.
 * @param text beginning of the input, UTF-8
 * @throws InputError for a file that is called JSON and is not
 */
export function formatOf({ path, format }: Pick<InputOptions, 'path' | 'format'>, text: Buffer): Format {
  if (format) return format;
  const named = formatOfName(path);
  const begin = Math.max(
    text.findIndex((byte) => byte > 0x20 || byte === 0x1e), // a JSON text sequence begins with 0x1E
    0,
  );
  const start = text.subarray(begin, begin + 4096).toString();
  for (const reader of READERS) {
    const found = reader.recognize(start, named, path);
    if (found) return found;
  }
  return 'csv';
}

/** The format that a file's name tells, packed or not; undefined where it tells none. */
export function formatOfName(path: string): Format | undefined {
  const name = path.toLowerCase().replace(/\.(?:gz|gzip|zst|zstd)$/, '');
  const extension = /\.([a-z\d-]+)$/.exec(name)?.[1];
  return extension === undefined ? undefined : EXTENSIONS.get(extension);
}
