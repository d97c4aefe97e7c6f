/** The compressions of Parquet. */
import * as zlib from 'node:zlib';
import type { CompressionCodec } from 'hyparquet';
import { compressors, decompressZstd } from 'hyparquet-compressors';

/** The bytes of a page. @throws Error where they are not of the `size` that it claims */
export function unpack(bytes: Uint8Array, size: number, codec: CompressionCodec): Uint8Array {
  const unpacked = unpackerOf(codec)(bytes, size);
  if (unpacked.length !== size) throw new Error(`a page has ${unpacked.length} bytes instead of ${size}`);
  return unpacked;
}

type Unpack = (bytes: Uint8Array, size: number) => Uint8Array;

/** Node's own where it has one: they are faster, and stop at the size that the page claims. */
function unpackerOf(codec: CompressionCodec): Unpack {
  switch (codec) {
    case 'UNCOMPRESSED':
      return (bytes) => bytes;
    case 'GZIP':
      return (bytes, size) => zlib.gunzipSync(bytes, { maxOutputLength: Math.max(size, 1) });
    case 'BROTLI':
      return (bytes, size) => zlib.brotliDecompressSync(bytes, { maxOutputLength: Math.max(size, 1) });
    case 'ZSTD':
      return (bytes, size) => decompressZstd(bytes, new Uint8Array(size));
    default: {
      const known = compressors[codec];
      if (!known) throw new Error(`the compression ${codec} is not supported`);
      return known;
    }
  }
}
