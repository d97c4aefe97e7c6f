/** Reads the bytes of a file: with understandable errors, unpacked, and counted. */
import { constants, type FileHandle, open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import { InputError } from '../../errors.js';
import { MORE_FILES, troubleOf } from '../../util/file-trouble.js';
import { nearest } from '../../util/nearest.js';
import { ByteTotals, checkStamp, type DigestedFile, type FileStamp } from './unchanged.js';

export type Compression = 'gzip' | 'zstd';

/** About the size of a batch of records. */
const BLOCK_BYTES = 256 * 1024;
/** Bytes read at once: each read costs a round trip to the thread pool. */
const READ_BYTES = 2 * BLOCK_BYTES;

export interface SourceFile {
  /** As the user wrote it. */
  path: string;
  location: string;
  /** The file's stamp when it was first opened. If it differs now, the file is refused. */
  stamp?: FileStamp;
}

/** Without O_NONBLOCK, opening a pipe without a writer would block, even for signals. Windows has no such flag. */
const READ_AT_ONCE = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Opens a regular file for reading.
 * @throws InputError for a missing or unreadable file, a folder, or a pipe (an input is read twice)
 */
export async function openFile(file: SourceFile): Promise<{ handle: FileHandle; stamp: FileStamp }> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file.location, READ_AT_ONCE);
    const stat = await handle.stat();
    if (stat.isDirectory()) {
      throw new InputError('is a folder', { file: file.path, hint: 'name the files in it' });
    }
    if (!stat.isFile()) {
      throw new InputError('is not a regular file, and an import reads its input twice', {
        file: file.path,
        hint: 'pipe it in and name the input -',
      });
    }
    return { handle, stamp: { size: stat.size, mtimeMs: stat.mtimeMs } };
  } catch (error) {
    await handle?.close();
    throw error instanceof InputError ? error : await unreadable(file, error as NodeJS.ErrnoException);
  }
}

/** The first bytes of a file. @throws InputError as `openFile` does, and for one that cannot be read */
export async function firstBytes(
  file: SourceFile,
  length: number,
): Promise<{ bytes: Buffer; stamp: FileStamp }> {
  const { handle, stamp } = await openFile(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, 0);
    return { bytes: buffer.subarray(0, bytesRead), stamp };
  } catch (error) {
    throw await unreadable(file, error as NodeJS.ErrnoException);
  } finally {
    await handle.close();
  }
}

/** The error of a file that cannot be opened or read. */
async function unreadable(file: SourceFile, error: NodeJS.ErrnoException): Promise<InputError> {
  const isMissing = error.code === 'ENOENT';
  const more = error.code === 'EMFILE' ? MORE_FILES : undefined;
  return new InputError(`${isMissing ? '' : 'cannot be read: '}${troubleOf(error)}`, {
    file: file.path,
    hint: isMissing ? await nearestFile(file) : more,
    cause: error,
  });
}

async function nearestFile({ path, location }: SourceFile): Promise<string> {
  const names = await readdir(dirname(location)).catch((): string[] => []);
  const name = basename(location);
  // It is there, and yet it cannot be found.
  if (names.includes(name)) {
    return name.includes('\ufffd')
      ? 'its name is not valid UTF-8: rename it'
      : 'it is a link to a file that does not exist';
  }
  const like = nearest(name, names);
  return like === undefined ? 'check the path' : `did you mean ${join(dirname(path), like)}?`;
}

/** Reads a file to its end. @throws InputError, and the signal's reason when aborted */
export async function digestFile(file: SourceFile, signal?: AbortSignal): Promise<DigestedFile> {
  const totals = new ByteTotals();
  for await (const _ of totals.of(blocks(file, signal), file.path));
  return totals.digested();
}

/** The compression of a file, from its first bytes. */
export function compressionOf(head: Uint8Array): Compression | null {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  if (head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd) return 'zstd';
  return null;
}

/**
 * The bytes of a file, unpacked. A chunk is valid until the next one is pulled: its memory is reused. Closes the file
 * when the consumer stops early.
 * @param byteTotals receives the packed bytes
 * @throws InputError if the packed data is damaged, and for bytes that differ from the planned pass of `byteTotals`;
 * the signal's reason when aborted
 */
export function readBytes(
  file: SourceFile & { compression: Compression | null },
  signal?: AbortSignal,
  byteTotals?: ByteTotals,
): AsyncGenerator<Buffer> {
  const { compression, path } = file;
  const packed = blocks(file, signal);
  const bytes = byteTotals?.of(packed, path) ?? packed;
  return compression === null ? bytes : unpacked(bytes, { ...file, compression }, signal);
}

async function* unpacked(
  bytes: AsyncIterable<Buffer>,
  file: SourceFile & { compression: Compression },
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  const unpack = decompressor(file, file.compression);
  const packed = async function* (): AsyncGenerator<Buffer> {
    for await (const block of bytes) yield Buffer.from(block);
  };
  pipeline(Readable.from(packed(), { objectMode: false }), unpack, () => {});
  try {
    for await (const chunk of unpack) {
      signal?.throwIfAborted(); // a block of the file may unpack to a thousand times its size
      yield chunk as Buffer;
    }
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof InputError) throw error;
    throw new InputError(`the ${file.compression} data is damaged or cut off`, {
      file: file.path,
      hint: `test it with ${file.compression} -t`,
      cause: error,
    });
  } finally {
    unpack.destroy();
  }
}

function decompressor(file: SourceFile, compression: Compression): zlib.Gunzip {
  if (compression === 'gzip') return zlib.createGunzip({ chunkSize: BLOCK_BYTES });
  // Node supports zstd since 22.15 and 23.8.
  const create = (zlib as { createZstdDecompress?: (options: object) => zlib.Gunzip }).createZstdDecompress;
  if (create) return create({ chunkSize: BLOCK_BYTES });
  throw new InputError('is compressed with zstd, which this version of Node does not support', {
    file: file.path,
    hint: 'unpack it with zstd -d, or use Node 22.15 or newer',
  });
}

async function* blocks(file: SourceFile, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const { handle, stamp } = await openFile(file);
  try {
    if (file.stamp) checkStamp(file.path, file.stamp, stamp);
    let [memory, ahead] = [Buffer.allocUnsafeSlow(READ_BYTES), Buffer.allocUnsafeSlow(READ_BYTES)];
    const readAhead = (): Promise<number> => {
      const length = fill(ahead, handle);
      length.catch(() => {}); // thrown when its turn comes, if it does
      return length;
    };
    let next = readAhead();
    for (;;) {
      signal?.throwIfAborted();
      const length = await next.catch(async (error) => {
        throw await unreadable(file, error);
      });
      if (length === 0) break;
      [memory, ahead] = [ahead, memory];
      next = readAhead();
      for (let start = 0; start < length; start += BLOCK_BYTES) {
        signal?.throwIfAborted();
        yield memory.subarray(start, Math.min(start + BLOCK_BYTES, length));
      }
    }
  } finally {
    await handle.close();
  }
}

/** Reads until the memory is full or the file ends, so that all passes set their marks at the same offsets. */
async function fill(memory: Buffer, handle: FileHandle): Promise<number> {
  let length = 0;
  while (length < memory.length) {
    const { bytesRead } = await handle.read(memory, length, memory.length - length, null);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}
