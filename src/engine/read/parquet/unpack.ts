/** Unpacks the compressions of Parquet. */
import * as zlib from 'node:zlib';
import type { CompressionCodec } from 'hyparquet';
import { compressors, decompressZstd } from 'hyparquet-compressors';
import { unpackSnappy } from './snappy.js';

/**
 * Unpacks the bytes of a page.
 * @param room returns memory of a size, for compressions that can unpack into it
 * @throws Error if the result does not have the `size` that the page claims
 */
export function unpack(bytes: Uint8Array, size: number, codec: CompressionCodec, room: Room): Uint8Array {
  // A page with only nulls is empty, which not every unpacker accepts.
  const unpacked = size === 0 ? new Uint8Array(0) : unpackerOf(codec, room)(bytes, size);
  if (unpacked.length !== size) throw new Error(`a page has ${unpacked.length} bytes instead of ${size}`);
  return unpacked;
}

type Room = (size: number) => Uint8Array;
type Unpack = (bytes: Uint8Array, size: number) => Uint8Array;

/** Node's unpackers if it has one: they are faster, and stop at the size that the page claims. */
function unpackerOf(codec: CompressionCodec, room: Room): Unpack {
  switch (codec) {
    case 'UNCOMPRESSED':
      return (bytes) => bytes;
    case 'SNAPPY':
      return (bytes, size) => {
        const unpacked = room(size);
        unpackSnappy(bytes, unpacked);
        return unpacked;
      };
    case 'GZIP':
      return (bytes, size) => zlib.gunzipSync(bytes, { maxOutputLength: size });
    case 'BROTLI':
      return (bytes, size) => zlib.brotliDecompressSync(bytes, { maxOutputLength: size });
    case 'ZSTD':
      return (bytes, size) => decompressZstd(bytes, room(size));
    default: {
      const known = compressors[codec];
      if (!known) throw new Error(`the compression ${codec} is not supported`);
      return known;
    }
  }
}
