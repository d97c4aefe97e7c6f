/** The formats of input files. A new one is an object like those below, and an entry in the list. */
import type { Format } from '../model.js';
import { csvFormat } from './csv/reader.js';
import { type InputFormat, originalsOf } from './format.js';
import { jsonFormat } from './json/reader.js';
import { parquetFormat } from './parquet/reader.js';
import type { SourceFile } from './text/source.js';
import type { InputOptions, OpenedInput } from './types.js';
import { xlsxFormat } from './xlsx/reader.js';

/** In the order in which they are tried. CSV comes last, because any text may be CSV. */
const FORMATS = [parquetFormat, xlsxFormat, jsonFormat, csvFormat] as unknown as readonly InputFormat[];

/** File extensions, and the formats that they promise. */
export const EXTENSIONS = new Map(FORMATS.flatMap(({ extensions }) => Object.entries(extensions)));
const BY_NAME = new Map(
  FORMATS.flatMap((format) => Object.values(format.extensions).map((name) => [name, format] as const)),
);

export const formatOf = ({ format }: { format: Format }): InputFormat => BY_NAME.get(format)!;

/** Returns the function that gives the rows of a batch as they are in the file. */
export const originalsIn = (input: OpenedInput) => originalsOf(formatOf(input).writer(input, null));

/** What messages call the lines of an input: in a workbook, rows; in a JSON array, items. */
export const placeWord = (input: OpenedInput): string => formatOf(input).placeOf(input);

/**
 * The format of a file that is not text: the requested one, otherwise by the file's first bytes; null for a text.
 * @throws InputError for a file whose name promises another format
 */
export async function binaryFormat(
  file: SourceFile & { format?: Format | undefined },
  start: Buffer,
): Promise<Format | null> {
  for (const { sniff, extensions } of FORMATS) {
    if (!sniff) continue;
    const [name] = Object.values(extensions);
    if (file.format === undefined ? await sniff(start, file) : file.format === name) return name!;
  }
  return null;
}

/**
 * The format of a text: the requested one; otherwise by content, then by name.
 * @param text beginning of the input, UTF-8
 * @throws InputError for a file that is named as JSON but is not JSON
 */
export function textFormat({ path, format }: Pick<InputOptions, 'path' | 'format'>, text: Buffer): Format {
  if (format) return format;
  const named = formatOfName(path);
  const begin = text.findIndex((byte) => byte > 0x20 || byte === 0x1e); // a JSON text sequence begins with 0x1E
  const start = text.subarray(Math.max(begin, 0), Math.max(begin, 0) + 4096).toString();
  for (const { recognize } of FORMATS) {
    const found = recognize?.(start, named, path);
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
