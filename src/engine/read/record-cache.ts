/**
 * Records of files that take long to read (Parquet files and workbooks), kept on disk from the scan for the passes
 * after it. Reading them back takes a fraction of the time.
 */
import { readSync } from 'node:fs';
import { type FileHandle, open, rm, rmdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { textMemory } from './spare-memory.js';
import type { OpenedInput, RecordBatch } from './types.js';

/** A smaller file is read again in less time than it takes to make another. */
const LEAST_BYTES = 1024 * 1024;
/** For all inputs together. */
const MOST_BYTES = 1024 ** 3;
/** The share of the free space that may be used. */
const MOST_OF_FREE = 1 / 4;

/** A batch on disk, which any thread of the process can read: where it is, and how long each of its lists is. */
export interface StoredBatch {
  fd: number;
  at: number;
  size: number;
  first: number;
  records: number;
  values: number | null;
  kinds: number | null;
}

/** An input that does not fit is not kept; its file is then read again. */
export class RecordCache {
  readonly #folder: () => string;
  readonly #leastBytes: number;
  readonly #kept = new Map<OpenedInput, StoredBatch[]>();
  #file: Promise<FileHandle | null> | undefined;
  #end = 0;
  #mostBytes: number;
  /** Batches go to the end of the file, so one input is kept at a time. */
  #isKeeping = false;

  /** @param folder a private folder on disk, made when it is needed */
  constructor(folder: () => string, { leastBytes = LEAST_BYTES, mostBytes = MOST_BYTES } = {}) {
    this.#folder = folder;
    this.#leastBytes = leastBytes;
    this.#mostBytes = mostBytes;
  }

  /** The records of an input, if all of them are here: in the batches in which they came. */
  of(input: OpenedInput): readonly StoredBatch[] | undefined {
    return this.#kept.get(input);
  }

  /** Gives the records as they come, and keeps them if they are read to the end. */
  async *keep(input: OpenedInput, records: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch> {
    const file = this.#isKeeping || input.stamp.size < this.#leastBytes ? null : await this.#opened();
    if (!file) return yield* records;
    this.#isKeeping = true;
    const start = this.#end;
    let kept: StoredBatch[] | null = [];
    try {
      for await (const batch of records) {
        const stored: StoredBatch | null = kept && (await this.#store(file, batch));
        if (stored) kept!.push(stored);
        else if (kept) {
          kept = null;
          this.#end = start;
          await file.truncate(start).catch(() => {});
        }
        yield batch;
      }
      if (kept) this.#kept.set(input, kept);
    } finally {
      this.#isKeeping = false;
    }
  }

  /** Lets go of everything. Nobody may be reading any more. */
  async close(): Promise<void> {
    this.#kept.clear();
    const file = await this.#file;
    this.#file = Promise.resolve(null);
    await file?.close();
  }

  #opened(): Promise<FileHandle | null> {
    this.#file ??= this.#open();
    return this.#file;
  }

  /**
   * Null if no file can be made. It loses its name at once, and its folder goes if nothing else is there, so that nothing
   * outlives the process.
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
  async #store(file: FileHandle, batch: RecordBatch): Promise<StoredBatch | null> {
    const { first, lines, values, kinds } = batch;
    const lists = listsOf(batch);
    const size = lists.reduce((sum, { length }) => sum + length, 0);
    const at = this.#end;
    if (at + size > this.#mostBytes) return null;
    try {
      const { bytesWritten } = await file.writev(lists, at);
      if (bytesWritten < size) return null;
    } catch {
      return null;
    }
    this.#end += size;
    const lengths = { records: lines.length, values: values?.length ?? null, kinds: kinds?.length ?? null };
    return { fd: file.fd, at, size, first, ...lengths };
  }
}

/**
 * All of them, on the calling thread, which may do other work before each: a file that is read in blocks leaves time for
 * it, too. @throws as `readBack` does; the signal's reason when aborted
 */
export async function* readAllBack(
  stored: readonly StoredBatch[],
  signal?: AbortSignal,
): AsyncGenerator<RecordBatch> {
  for (const batch of stored) {
    await setImmediate();
    signal?.throwIfAborted();
    yield readBack(batch);
  }
}

/** What is on disk of a batch, in this order: numbers are aligned. */
const listsOf = ({ values, lines, spans, kinds, bytes }: RecordBatch): Uint8Array[] =>
  [values, lines, spans, kinds, bytes].flatMap((list) =>
    list ? new Uint8Array(list.buffer, list.byteOffset, list.byteLength) : [],
  );

/** Reads a batch back. Its lists share memory, which may be used again (`textMemory`). @throws the error of the file system */
export function readBack({ fd, at, size, first, records, values, kinds }: StoredBatch): RecordBatch {
  const all = textMemory.take(size);
  for (let done = 0; done < size; ) {
    const read = readSync(fd, all, done, size - done, at + done);
    if (read === 0) throw new Error('the records of an input cannot be read back');
    done += read;
  }
  let next = 0;
  const part = (bytes: number): [ArrayBuffer, number] => {
    const from = next;
    next += bytes;
    return [all.buffer, from];
  };
  const numbers = (count: number) => new Uint32Array(...part(4 * count), count);
  return {
    ...(values !== null && { values: numbers(values) }),
    lines: numbers(records),
    spans: numbers(2 * records),
    ...(kinds !== null && { kinds: new Uint8Array(...part(kinds), kinds) }),
    bytes: new Uint8Array(...part(0), size - next),
    fileLines: null,
    first,
  };
}
