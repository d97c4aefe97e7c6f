/** The beginning of an input: enough to tell its compression, encoding, and format. */
import { InputError } from '../../errors.js';
import { badText, kindOfText, otherKind } from './bad-text.js';
import { BadTextError, encodingLabel, encodingOfBom, toUtf8 } from './encoding.js';
import { type Compression, compressionOf, type firstBytes, readBytes, type SourceFile } from './source.js';

/** How much text to examine. The header of a CSV must end within it. */
export const HEAD_BYTES = 1024 * 1024;

export interface Head {
  compression: Compression | null;
  encoding: string;
  /** UTF-8, without a byte order mark. */
  text: Buffer;
  /** Whether `text` is the whole input. */
  whole: boolean;
  /** Reads the whole text. */
  again(): AsyncIterable<Buffer>;
}

/**
 * @param asked the encoding, unless the text has a byte order mark
 * @throws InputError for files that are empty or not text, such as images and archives; UsageError for an unknown
 * encoding
 */
export async function readHead(
  { path, location }: SourceFile,
  { bytes, stamp }: Awaited<ReturnType<typeof firstBytes>>,
  asked: string | undefined,
  signal?: AbortSignal,
): Promise<Head> {
  const wanted = asked === undefined ? 'utf-8' : encodingLabel(asked);
  if (stamp.size === 0) throw empty(path);
  const compression = compressionOf(bytes);
  const read = () => readBytes({ path, location, stamp, compression }, signal);
  const encoding = (await bomOf(read())) ?? wanted;
  const again = () => toUtf8(read(), encoding);
  const { text, whole } = await firstText(again(), { path, encoding });
  if (whole && text.length === 0) throw empty(path);
  const kind = kindOfText(text.subarray(0, 200).toString().trimStart());
  if (kind) throw otherKind(path, kind);
  return { compression, encoding, text, whole, again };
}

/** A byte order mark, as in rejects files, is certain; an encoding may have been asked for other files. */
async function bomOf(chunks: AsyncIterable<Buffer>): Promise<string | null> {
  for await (const chunk of chunks) return encodingOfBom(chunk);
  return null;
}

const empty = (file: string): InputError =>
  file === '-'
    ? new InputError('stdin is empty', { file, hint: 'check the command before the pipe' })
    : new InputError('the file is empty', { file, hint: 'export it again' });

async function firstText(
  chunks: AsyncIterable<Buffer>,
  file: { path: string; encoding: string },
): Promise<Pick<Head, 'text' | 'whole'>> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of chunks) {
      parts.push(Buffer.from(part));
      length += part.length;
      if (length >= HEAD_BYTES) return { text: Buffer.concat(parts), whole: false };
    }
  } catch (error) {
    if (!(error instanceof BadTextError)) throw error;
    throw await badText(file, error, lineEnds(Buffer.concat(parts)) + 1);
  }
  return { text: Buffer.concat(parts), whole: true };
}

/** Counts line ends: CR LF, LF, and CR, also mixed. */
export function lineEnds(text: Buffer): number {
  return text.toString('latin1').match(/\r\n|\n|\r/g)?.length ?? 0;
}
