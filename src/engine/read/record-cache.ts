/**
 * Keeps the records of files that take long to read (Parquet files and workbooks) on disk, for the passes after the
 * scan. Reading them back takes a fraction of the time.
 */
import { readSync } from 'node:fs';
import { type FileHandle, open, rm, rmdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { OddRow, Rows } from './rows.js';
import { textMemory } from './spare-memory.js';
import type { OpenedInput } from './types.js';

/** A smaller file is faster to read again than to cache. */
const LEAST_BYTES = 1024 * 1024;
/** Limit for all inputs together. */
const MOST_BYTES = 1024 ** 3;
/** The share of free disk space that may be used. */
const MOST_OF_FREE = 1 / 4;

/** A batch on disk: its place, and the bytes of each list (`listsOf`). Any thread of the process can read it. */
export interface StoredBatch {
  fd: number;
  at: number;
  sizes: number[];
  first: number;
  width: number;
}

/** If an input does not fit, it is not kept, and its file is read again. */
export class RecordCache {
  readonly #folder: () => string;
  readonly #leastBytes: number;
  readonly #kept = new Map<OpenedInput, StoredBatch[]>();
  #file: Promise<FileHandle | null> | undefined;
  #end = 0;
  #mostBytes: number;
  /** Batches go to the end of the file, so one input is kept at a time. */
  #isKeeping = false;

  /** @param folder returns a private folder on disk, when one is needed */
  constructor(
    folder: () => string,
    {
      leastBytes = LEAST_BYTES,
      mostBytes = MOST_BYTES,
    }: { leastBytes?: number | undefined; mostBytes?: number } = {},
  ) {
    this.#folder = folder;
    this.#leastBytes = leastBytes;
    this.#mostBytes = mostBytes;
  }

  /** The records of an input, in their original batches, if all of them were kept. */
  of(input: OpenedInput): readonly StoredBatch[] | undefined {
    return this.#kept.get(input);
  }

  /** Yields the records as they come, and keeps them if they are read to the end. */
  async *keep(input: OpenedInput, records: AsyncIterable<Rows>): AsyncGenerator<Rows> {
    if (this.#isKeeping || input.stamp.size < this.#leastBytes) return yield* records;
    this.#isKeeping = true;
    try {
      this.#file ??= this.#open();
      const file = await this.#file;
      const start = this.#end;
      let kept: StoredBatch[] | null = file && [];
      for await (const batch of records) {
        const stored: StoredBatch | null = kept && (await this.#store(file!, batch));
        if (stored) kept!.push(stored);
        else if (kept) {
          kept = null;
          this.#end = start;
          await file!.truncate(start).catch(() => {});
        }
        yield batch;
      }
      if (kept) this.#kept.set(input, kept);
    } finally {
      this.#isKeeping = false;
    }
  }

  /** Deletes everything. There must be no readers left. */
  async close(): Promise<void> {
    this.#kept.clear();
    const file = await this.#file;
    this.#file = Promise.resolve(null);
    await file?.close();
  }

  /**
   * Null if the file cannot be created. It is unlinked immediately, and its folder is removed unless it has other files,
   * so that neither outlives the process.
   */
  async #open(): Promise<FileHandle | null> {
    let file: FileHandle | undefined;
    try {
      const folder = this.#folder();
      const { bavail, bsize } = await statfs(folder);
      this.#mostBytes = Math.min(this.#mostBytes, bavail * bsize * MOST_OF_FREE);
      const path = join(folder, 'rows');
      file = await open(path, 'wx+', 0o600);
      await rm(path, { force: true });
      await rmdir(folder).catch(() => {});
      return file;
    } catch {
      await file?.close();
      return null;
    }
  }

  /** Null if there is no room for the batch. */
  async #store(file: FileHandle, batch: Rows): Promise<StoredBatch | null> {
    const { first, width } = batch;
    const lists = listsOf(batch);
    const sizes = lists.map(({ length }) => length);
    const size = totalOf(sizes);
    const at = this.#end;
    if (at + size > this.#mostBytes) return null;
    try {
      const { bytesWritten } = await file.writev(lists, at);
      if (bytesWritten < size) return null;
    } catch {
      return null;
    }
    this.#end += size;
    return { fd: file.fd, at, sizes, first, width };
  }
}

/**
 * Reads all batches back on the calling thread, which can do other work before each of them.
 * @throws as `readBack` does; the signal's reason when aborted
 */
export async function* readAllBack(
  stored: readonly StoredBatch[],
  signal?: AbortSignal,
): AsyncGenerator<Rows> {
  for (const batch of stored) {
    await setImmediate();
    signal?.throwIfAborted();
    yield readBack(batch);
  }
}

const NOTHING = new Uint32Array(0);

/** The lists of a batch that are on disk, in this order, which keeps numbers aligned. */
const listsOf = ({ lines, starts, ends, members = NOTHING, kinds, odd = [], bytes }: Rows): Uint8Array[] =>
  [lines, starts, ends, members, kinds, bytes, Buffer.from(JSON.stringify(odd))].map(
    (list) => new Uint8Array(list.buffer, list.byteOffset, list.byteLength),
  );

const totalOf = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0);

/** Reads a batch back. Its lists share memory, which can be reused (`textMemory`). @throws the file system's error */
export function readBack({ fd, at, sizes, first, width }: StoredBatch): Rows {
  const size = totalOf(sizes);
  const all = textMemory.take(size);
  for (let done = 0; done < size; ) {
    const read = readSync(fd, all, done, size - done, at + done);
    if (read === 0) throw new Error('the records of an input cannot be read back');
    done += read;
  }
  const part = (list: number) => [all.buffer, totalOf(sizes.slice(0, list)), sizes[list]!] as const;
  const [lines, starts, ends, members] = [0, 1, 2, 3].map((list) => {
    const [buffer, from, bytes] = part(list);
    return new Uint32Array(buffer, from, bytes / 4);
  }) as [Rows['lines'], Rows['starts'], Rows['ends'], Rows['lines']];
  const odd = JSON.parse(Buffer.from(...part(6)).toString()) as OddRow[];
  return {
    ...{
      lines,
      starts,
      ends,
      kinds: new Uint8Array(...part(4)),
      bytes: new Uint8Array(...part(5)),
      width,
      first,
    },
    ...(members.length > 0 && { members }),
    ...(odd.length > 0 && { odd }),
  };
}
