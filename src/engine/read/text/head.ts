/** The beginning of an input: enough to tell its compression, encoding, and format. */
import type { FileHandle } from 'node:fs/promises';
import { InputError } from '../../errors.js';
import { badText, kindOfText, otherKind, type PackedFile } from './bad-text.js';
import { BadTextError, encodingLabel, encodingOfBom, toUtf8 } from './encoding.js';
import {
  type Compression,
  compressionOf,
  type FileStamp,
  type OpenFile,
  openFile,
  readBytes,
  type SourceFile,
  unreadable,
} from './source.js';

/** How much text to examine. */
const HEAD_BYTES = 256 * 1024;
/** A header must end within this much text. */
export const HEADER_BYTES = 4 * 1024 * 1024;

export interface Head {
  stamp: FileStamp;
  compression: Compression | null;
  encoding: string;
  /** UTF-8, without a byte order mark. */
  text: Buffer;
  /** Whether `text` is the whole input. */
  whole: boolean;
  /** Reads as much text as a header may take. */
  longer(): Promise<Pick<Head, 'text' | 'whole'>>;
  /** Reads the whole text. */
  again(): AsyncIterable<Buffer>;
}

/**
 * @throws InputError for files that are missing, empty, or not text, such as spreadsheets and archives; UsageError for
 * an unknown encoding
 */
export async function readHead(
  file: SourceFile,
  asked: string | undefined,
  signal?: AbortSignal,
): Promise<Head> {
  const opened = file.opened ?? (await openFile(file));
  try {
    const wanted = asked === undefined ? undefined : encodingLabel(asked);
    return await headOf({ ...file, opened }, wanted, signal);
  } finally {
    await opened.handle.close(); // unless reading it has closed it
  }
}

async function headOf(
  file: SourceFile & { opened: OpenFile },
  wanted: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Head> {
  const { handle, stamp } = file.opened;
  if (stamp.size === 0) throw empty(file);
  const compression = compressionOf(await firstBytes(file, handle));
  const { path, location } = file;
  const chunks = readBytes({ ...file, compression }, signal);
  const first = await chunks.next();
  // A byte order mark, as in rejects files, is certain; the encoding may have been set for other files.
  const encoding = encodingOfBom(first.done ? NOTHING : first.value) ?? wanted ?? 'utf-8';
  const packed = { ...file, compression, encoding };
  const { text, whole } = await firstText(
    packed,
    toUtf8(resumed(first, chunks), encoding),
    HEAD_BYTES,
    signal,
  );
  if (whole && text.length === 0) throw empty(file);
  const kind = kindOfText(text.subarray(0, 200).toString().trimStart());
  if (kind) throw otherKind(path, kind);
  const again = () => toUtf8(readBytes({ path, location, stamp, compression }, signal), encoding);
  const longer = () => firstText(packed, again(), HEADER_BYTES, signal);
  return { stamp, compression, encoding, text, whole, longer, again };
}

const NOTHING = Buffer.alloc(0);

/** All chunks, including the first, which was already taken. */
async function* resumed(first: IteratorResult<Buffer>, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (!first.done) yield first.value;
    yield* rest;
  } finally {
    await rest.return(undefined); // a consumer may stop at the first chunk
  }
}

const empty = (file: SourceFile): InputError =>
  file.path === '-'
    ? new InputError('stdin is empty', { file: '-', hint: 'check the command before the pipe' })
    : new InputError('the file is empty', { file: file.path, hint: 'export it again' });

/** Enough bytes to recognize files that are not text. @throws InputError */
export async function firstBytes(file: SourceFile, handle: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(8), 0, 8, 0).catch(async (error) => {
    throw await unreadable(file, error);
  });
  return buffer.subarray(0, bytesRead);
}

async function firstText(
  file: PackedFile & { encoding: string },
  chunks: AsyncIterable<Buffer>,
  bytes: number,
  signal?: AbortSignal,
): Promise<{ text: Buffer; whole: boolean }> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of chunks) {
      parts.push(Buffer.from(part));
      length += part.length;
      if (length >= bytes) return { text: Buffer.concat(parts), whole: false };
    }
  } catch (error) {
    if (!(error instanceof BadTextError)) throw error;
    const line = lineEnds(Buffer.concat(parts)) + 1;
    throw await badText(file, error, line, file.encoding, signal);
  }
  return { text: Buffer.concat(parts), whole: true };
}

/** Counts line ends: CR LF, LF, and CR, also mixed. */
export function lineEnds(text: Buffer): number {
  return text.toString('latin1').match(/\r\n|\n|\r/g)?.length ?? 0;
}
