/** The beginning of an input: enough of it to tell how it is packed, encoded and formed. */
import { InputError } from '../../errors.js';
import type { Compression } from '../types.js';
import { BadTextError, encodingLabel, encodingOfBom, toUtf8 } from './encoding.js';
import { compressionOf, type FileStamp, openFile, readBytes, type SourceFile } from './source.js';

/** Text that is looked at. */
const HEAD_BYTES = 256 * 1024;
/** A header must end within so much text. */
export const HEADER_BYTES = 4 * 1024 * 1024;

export interface Head {
  stamp: FileStamp;
  compression: Compression | null;
  encoding: string;
  /** UTF-8, without byte order mark. */
  text: Buffer;
  /** `text` is all there is. */
  whole: boolean;
  /** As much text as a header may take. */
  longer(): Promise<Pick<Head, 'text' | 'whole'>>;
}

/**
 * @throws InputError for files that are missing, empty, no text, spreadsheets or archives; UsageError for
 * an unknown `--encoding`
 */
export async function readHead(
  file: SourceFile,
  asked: string | undefined,
  signal?: AbortSignal,
): Promise<Head> {
  const wanted = asked === undefined ? undefined : encodingLabel(asked);
  const { stamp, magic } = await firstBytes(file);
  if (stamp.size === 0) throw empty(file);
  refuseSpreadsheet(file, magic);
  const compression = compressionOf(magic);
  const packed = { ...file, compression };
  const bom = encodingOfBom(await firstUnpacked(packed, signal));
  // A byte order mark is sure, where an encoding may have been set for other files: a rejects file has one.
  const encoding = bom ?? wanted ?? 'utf-8';
  const first = (bytes: number): ReturnType<Head['longer']> => firstText(packed, encoding, bytes, signal);
  const { text, whole } = await first(HEAD_BYTES);
  if (whole && text.length === 0) throw empty(file);
  return { stamp, compression, encoding, text, whole, longer: () => first(HEADER_BYTES) };
}

const empty = (file: SourceFile): InputError =>
  new InputError('the file is empty', { file: file.path, hint: 'export it again' });

async function firstBytes(file: SourceFile): Promise<{ stamp: FileStamp; magic: Buffer }> {
  const { handle, stamp } = await openFile(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(8), 0, 8, 0);
    return { stamp, magic: buffer.subarray(0, bytesRead) };
  } finally {
    await handle.close();
  }
}

function refuseSpreadsheet(file: SourceFile, magic: Buffer): void {
  const hex = magic.toString('hex');
  if (hex.startsWith('504b0304')) {
    throw /\.(?:xlsx|xlsm|xlsb|ods|numbers)$/i.test(file.path)
      ? spreadsheet(file)
      : new InputError('is a zip archive or an Excel workbook, not text', {
          file: file.path,
          hint: 'unpack it; in Excel, save as CSV UTF-8',
        });
  }
  if (hex === 'd0cf11e0a1b11ae1') throw spreadsheet(file);
}

const spreadsheet = (file: SourceFile): InputError =>
  new InputError('is a spreadsheet, not text', {
    file: file.path,
    hint: 'save as CSV UTF-8 and import that',
  });

async function firstUnpacked(
  file: SourceFile & { compression: Compression | null },
  signal: AbortSignal | undefined,
): Promise<Buffer> {
  for await (const chunk of readBytes(file, signal)) return Buffer.from(chunk.subarray(0, 4));
  return Buffer.alloc(0);
}

async function firstText(
  file: SourceFile & { compression: Compression | null },
  encoding: string,
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<{ text: Buffer; whole: boolean }> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of toUtf8(readBytes(file, signal), encoding)) {
      parts.push(Buffer.from(part));
      length += part.length;
      if (length >= bytes) return { text: Buffer.concat(parts), whole: false };
    }
  } catch (error) {
    if (!(error instanceof BadTextError)) throw error;
    const line = lineEnds(Buffer.concat(parts)) + 1;
    throw new InputError(error.sentence, { file: file.path, line, hint: error.hint });
  }
  return { text: Buffer.concat(parts), whole: true };
}

/** How many there are: CR LF, LF and CR, also mixed. */
export function lineEnds(text: Buffer): number {
  return text.toString('latin1').match(/\r\n|\n|\r/g)?.length ?? 0;
}
