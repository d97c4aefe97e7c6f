/** Bytes of a file: opened with errors that people understand, unpacked, and counted on the way. */
import { createHash } from 'node:crypto';
import { constants, type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import { InputError } from '../../errors.js';
import { nearest } from '../../nearest.js';
import type { Compression, Marks } from '../types.js';

/** About the size of a record batch. */
const BLOCK_BYTES = 128 * 1024;
/** Bytes read at once: each read costs a round trip to the thread pool. */
const READ_BYTES = 4 * BLOCK_BYTES;

export interface SourceFile {
  /** As the user wrote it. */
  path: string;
  location: string;
  /** Of the file when it was first opened: another one is refused. */
  stamp?: FileStamp;
  /** The file, where it is open already: it is read from its beginning and closed. */
  opened?: OpenFile;
}

export interface OpenFile {
  handle: FileHandle;
  stamp: FileStamp;
}

/** Bytes of a digest that a mark keeps, as hex digits. */
const MARK_DIGITS = 16;

/** Digest and size of the bytes that went by, as they are on disk. */
export class ByteTotals {
  readonly #hash = createHash('sha256');
  readonly #marks: string[] = [];
  size = 0;

  /** @param planned of the pass whose bytes these must be again */
  constructor(private readonly planned?: Marks) {}

  /** @returns false where the bytes so far are not those of the planned pass */
  add(bytes: Uint8Array): boolean {
    this.#hash.update(bytes);
    this.size += bytes.length;
    const mark = this.#hash.copy().digest('hex').slice(0, MARK_DIGITS);
    const number = this.#marks.push(mark);
    return !this.planned || this.planned[number - 1] === mark;
  }

  /** At the end of the file: whether this is where the planned pass ended, too. */
  isWhole(): boolean {
    return !this.planned || this.planned.length === this.#marks.length;
  }

  /** Of the bytes so far. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  get marks(): Marks {
    return this.#marks;
  }
}

/** A plan holds for the file that was planned: what is written to it later has not been checked by anyone. */
const changedDuringImport = (path: string): InputError =>
  new InputError('changed while it was being imported', {
    file: path,
    hint: 'import it again when nothing writes to it',
    problem: { code: 'input_changed', paths: [path] },
  });

/**
 * A plan holds for the file that was planned; one that is written to in the meantime would be sent half old, half new.
 * @throws InputError
 */
export async function refuseChanged({
  path,
  location,
  stamp,
}: Required<Pick<SourceFile, 'path' | 'location' | 'stamp'>>): Promise<void> {
  const now = await stat(location).catch(() => null);
  if (now?.size === stamp.size && now.mtimeMs === stamp.mtimeMs) return;
  throw changedDuringImport(path);
}

/** Where there is such a flag: opening a pipe that nobody writes to would wait for a writer, deaf to signals. */
const READ_AT_ONCE = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Opens a regular file for reading.
 * @throws InputError for a missing or unreadable file, a folder, and a pipe (an input is read twice)
 */
export async function openFile(file: SourceFile): Promise<OpenFile> {
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

export interface FileStamp {
  size: number;
  mtimeMs: number;
}

const sameStamp = (a: FileStamp, b: FileStamp): boolean => a.size === b.size && a.mtimeMs === b.mtimeMs;

const REASONS: Record<string, string> = {
  ENOENT: 'no such file',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  EISDIR: 'is a folder',
  ENOTDIR: 'no such file',
  ENAMETOOLONG: 'the name is too long',
};

async function unreadable(file: SourceFile, error: NodeJS.ErrnoException): Promise<InputError> {
  return new InputError(REASONS[error.code ?? ''] ?? `cannot be read: ${error.message}`, {
    file: file.path,
    hint: error.code === 'ENOENT' ? await nearestFile(file) : undefined,
    cause: error,
  });
}

async function nearestFile({ path, location }: SourceFile): Promise<string> {
  const names = await readdir(dirname(location)).catch((): string[] => []);
  const like = nearest(basename(location), names);
  return like === undefined ? 'check the path' : `did you mean ${join(dirname(path), like)}?`;
}

/** A file's bytes as they are on disk. */
export interface DigestedFile {
  /** SHA-256, hexadecimal. */
  digest: string;
  size: number;
  marks: Marks;
}

/** Reads a file to its end. @throws InputError, and the signal's reason when aborted */
export async function digestFile(file: SourceFile, signal?: AbortSignal): Promise<DigestedFile> {
  const totals = new ByteTotals();
  for await (const _ of blocks(file, signal, totals)) {
  }
  return { digest: totals.digest(), size: totals.size, marks: totals.marks };
}

/** How a file is packed, by its first bytes. */
export function compressionOf(head: Uint8Array): Compression | null {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  if (head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd) return 'zstd';
  return null;
}

/**
 * Bytes of the file, unpacked. A chunk is valid until the next one is pulled: its memory is used again.
 * `byteTotals` sees the packed bytes. `from` is for files that are not packed: the byte to begin with. Closes the file when the consumer stops early.
 * @throws InputError when the packed data is damaged, and for bytes that are not those of the byteTotals's planned pass; the
 * signal's reason when aborted
 */
export async function* readBytes(
  file: SourceFile & { compression: Compression | null },
  signal?: AbortSignal,
  byteTotals?: ByteTotals,
  from?: number,
): AsyncGenerator<Buffer> {
  if (file.compression === null) {
    yield* blocks(file, signal, byteTotals, from);
    return;
  }
  const unpack = decompressor(file, file.compression);
  const packed = async function* (): AsyncGenerator<Buffer> {
    for await (const block of blocks(file, signal, byteTotals)) yield Buffer.from(block);
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
  // Node has zstd from 22.15 and 23.8 on.
  const create = (zlib as { createZstdDecompress?: (options: object) => zlib.Gunzip }).createZstdDecompress;
  if (create) return create({ chunkSize: BLOCK_BYTES });
  throw new InputError('is compressed with zstd, which this version of Node does not support', {
    file: file.path,
    hint: 'unpack it with zstd -d, or use Node 22.15 or newer',
  });
}

/** @param from the byte to begin with; then there are no totals */
async function* blocks(
  file: SourceFile,
  signal?: AbortSignal,
  byteTotals?: ByteTotals,
  from?: number,
): AsyncGenerator<Buffer> {
  const { handle, stamp } = file.opened ?? (await openFile(file));
  try {
    if (file.stamp && !sameStamp(file.stamp, stamp)) throw changedDuringImport(file.path);
    const memory = Buffer.allocUnsafeSlow(READ_BYTES);
    let at = from ?? null;
    for (;;) {
      signal?.throwIfAborted();
      const length = await fill(memory, handle, at).catch(async (error) => {
        throw await unreadable(file, error);
      });
      if (length === 0) break;
      if (at !== null) at += length;
      for (let start = 0; start < length; start += BLOCK_BYTES) {
        signal?.throwIfAborted();
        const bytes = memory.subarray(start, Math.min(start + BLOCK_BYTES, length));
        if (byteTotals?.add(bytes) === false) throw changedDuringImport(file.path);
        yield bytes;
      }
    }
    if (byteTotals?.isWhole() === false) throw changedDuringImport(file.path);
  } finally {
    await handle.close();
  }
}

/** Reads until the memory is full or the file ends: marks of two passes must be those of the same places. */
async function fill(memory: Buffer, handle: FileHandle, from: number | null): Promise<number> {
  let length = 0;
  while (length < memory.length) {
    const { bytesRead } = await handle.read(
      memory,
      length,
      memory.length - length,
      from === null ? null : from + length,
    );
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}
