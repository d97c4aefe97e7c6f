/** Decompresses replies. No compression is asked for, but some proxies compress them anyway. */
import { promisify } from 'node:util';
import type { CompressCallback, InputType } from 'node:zlib';

/** Node supports zstd since 22.15 and 23.8. */
interface Zstd {
  zstdDecompress?: Decoder;
}
type Decoder = (bytes: InputType, limit: { maxOutputLength: number }, done: CompressCallback) => void;

const MOST_CODINGS = 3;

/** A reply's bytes. `coding`: what they are compressed with, if that cannot be undone. */
export interface Content {
  bytes: Buffer;
  coding?: string;
}

export const isCoded = (contentEncoding: string): boolean => /[^\s,]/.test(contentEncoding);

/**
 * Decompresses a reply by its `content-encoding`, as far as that is possible: some proxies decompress it and keep the
 * header. It streams through the thread pool, and ends as soon as there is more than allowed.
 * @param maxOutputLength for each encoding
 * @throws an error if there is more
 */
export async function decoded(
  bytes: Buffer,
  contentEncoding: string,
  maxOutputLength: number,
): Promise<Content> {
  if (bytes.length === 0) return { bytes };
  const names = contentEncoding.toLowerCase().split(/[\s,]+/);
  // Each may cost as much as the longest reply.
  if (names.filter((name) => name !== 'identity').length > MOST_CODINGS) {
    return { bytes, coding: `more than ${MOST_CODINGS} encodings` };
  }
  // Loaded only when it is needed, because that takes time.
  const zlib: typeof import('node:zlib') & Zstd = await import('node:zlib');
  let rest = bytes;
  let coding: string | undefined;
  for (const name of names.reverse()) {
    try {
      let decoder: Decoder | undefined;
      if (/^(?:x-)?gzip$/.test(name)) decoder = zlib.gunzip;
      // Some servers leave out the header of zlib, whose low four bits are 8.
      else if (name === 'deflate') decoder = (rest[0]! & 15) === 8 ? zlib.inflate : zlib.inflateRaw;
      else if (name === 'br') decoder = zlib.brotliDecompress;
      else if (name === 'zstd') decoder = zlib.zstdDecompress;
      if (decoder) rest = await promisify(decoder)(rest, { maxOutputLength });
      else if (/^(?:zstd|(?:x-)?compress)$/.test(name))
        coding = `${name}, which this version of Node cannot read`;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw error;
    }
  }
  return { bytes: rest, ...(coding && { coding }) };
}
