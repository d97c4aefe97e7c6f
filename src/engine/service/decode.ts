/** Decompresses replies. No compression is asked for, but some proxies compress them anyway. */
import { createRequire as requireFrom } from 'node:module';

/** Node supports zstd since 22.15 and 23.8. */
interface Zstd {
  zstdDecompressSync?: (bytes: Buffer, limit: { maxOutputLength: number }) => Buffer;
}

const MOST_CODINGS = 3;

/** The decompressed reply would have more bytes than allowed. */
export class TooLongError extends Error {}

/**
 * Decompresses a reply by its `content-encoding`, as far as that is possible: some proxies decompress it and keep the
 * header.
 * @param maxOutputLength for each encoding
 * @returns `coding`: what it is compressed with, if that cannot be undone
 * @throws TooLongError
 */
export function decoded(
  bytes: Buffer,
  contentEncoding: string,
  maxOutputLength: number,
): { bytes: Buffer; coding?: string } {
  if (contentEncoding === '' || bytes.length === 0) return { bytes };
  const names = contentEncoding.toLowerCase().split(/[\s,]+/);
  // Each may cost as much as the longest reply, and all are decoded in one turn.
  if (names.filter((name) => name !== 'identity').length > MOST_CODINGS) {
    return { bytes, coding: `more than ${MOST_CODINGS} encodings` };
  }
  // Loaded only when it is needed, because that takes time.
  const zlib = requireFrom(import.meta.url)('node:zlib') as typeof import('node:zlib') & Zstd;
  const limit = { maxOutputLength };
  let rest = bytes;
  let coding: string | undefined;
  for (const name of names.reverse()) {
    try {
      if (/^(?:x-)?gzip$/.test(name)) rest = zlib.gunzipSync(rest, limit);
      // Some servers leave out the header of zlib, whose low four bits are 8.
      else if (name === 'deflate')
        rest = (rest[0]! & 15) === 8 ? zlib.inflateSync(rest, limit) : zlib.inflateRawSync(rest, limit);
      else if (name === 'br') rest = zlib.brotliDecompressSync(rest, limit);
      else if (name === 'zstd' && zlib.zstdDecompressSync) rest = zlib.zstdDecompressSync(rest, limit);
      else if (/^(?:zstd|(?:x-)?compress)$/.test(name))
        coding = `${name}, which this version of Node cannot read`;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw new TooLongError();
    }
  }
  return { bytes: rest, ...(coding && { coding }) };
}
