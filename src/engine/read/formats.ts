/** The formats of input files. A new one is an object like those below, and a line in the list. */
import type { Format } from '../model.js';
import { csvReader } from './csv/reader.js';
import type { BinaryReader, FormatReader, TextReader } from './format.js';
import { jsonReader } from './json/reader.js';
import { parquetReader } from './parquet/reader.js';
import type { SourceFile } from './text/source.js';
import type { InputOptions, OpenedInput } from './types.js';
import { xlsxReader } from './xlsx/reader.js';

/** In the order in which they are tried. CSV comes last, because any text may be CSV. */
const TEXT_READERS: readonly TextReader[] = [jsonReader, csvReader];
const BINARY_READERS: readonly BinaryReader[] = [parquetReader, xlsxReader];
const READERS: readonly FormatReader[] = [...TEXT_READERS, ...BINARY_READERS];

/** File extensions, and the formats that they promise. */
export const EXTENSIONS = new Map(READERS.flatMap((reader) => Object.entries(reader.extensions)));
const READER_OF = new Map(
  READERS.flatMap((reader) => Object.values(reader.extensions).map((format) => [format, reader] as const)),
);

/** What messages call the lines of an input: in a workbook, rows; in a JSON array, items. */
export const placeWord = (input: OpenedInput): string => readerOf(input).placeOf(input);

export const readerOf = ({ format }: { format: Format }): FormatReader => READER_OF.get(format)!;

/** The reader of a text. */
export function textReaderOf(input: { format: Format }): TextReader {
  const reader = readerOf(input);
  if ('records' in reader) throw new Error(`${input.format} is no text`);
  return reader;
}

/**
 * The reader of a file that is not text: for the requested format, otherwise by the file's first bytes.
 * @throws InputError for a file whose name promises another format
 */
export async function binaryReaderOf(
  file: SourceFile & { format?: Format | undefined },
  start: Buffer,
): Promise<[BinaryReader, Format] | null> {
  for (const reader of BINARY_READERS) {
    const [format] = Object.values(reader.extensions);
    const wanted = file.format === undefined ? await reader.recognize(start, file) : file.format === format;
    if (wanted) return [reader, format!];
  }
  return null;
}

/**
 * The format of a text: the requested one; otherwise by content, then by name.
 * @param text beginning of the input, UTF-8
 * @throws InputError for a file that is named as JSON but is not JSON
 */
export function formatOf({ path, format }: Pick<InputOptions, 'path' | 'format'>, text: Buffer): Format {
  if (format) return format;
  const named = formatOfName(path);
  const begin = Math.max(
    text.findIndex((byte) => byte > 0x20 || byte === 0x1e), // a JSON text sequence begins with 0x1E
    0,
  );
  const start = text.subarray(begin, begin + 4096).toString();
  for (const reader of TEXT_READERS) {
    const found = reader.recognize(start, named, path);
    if (found) return found;
  }
  return 'csv';
}

/** The format in a file's name, packed or not; undefined if it has none. */
export function formatOfName(path: string): Format | undefined {
  const name = path.toLowerCase().replace(/\.(?:gz|gzip|zst|zstd)$/, '');
  const extension = /\.([a-z\d-]+)$/.exec(name)?.[1];
  return extension === undefined ? undefined : EXTENSIONS.get(extension);
}
