/**
 * Keeps the rows of files that take long to read (Parquet files and workbooks) on disk, for the passes after the scan.
 * Reading them back takes a fraction of the time.
 */
import { type FileHandle, open, rm, rmdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { Rows } from './rows.js';
import type { OpenedInput } from './types.js';

/** A smaller file is faster to read again than to keep. */
const LEAST_BYTES = 1024 * 1024;
/** Limit for all inputs together. */
const MOST_BYTES = 1024 ** 3;
/** The share of free disk space that may be used. */
const MOST_OF_FREE = 1 / 4;

/** Where a batch is. */
interface Place {
  at: number;
  size: number;
}

/** If an input does not fit, it is not kept, and its file is read again. */
export class RecordCache {
  readonly #folder: () => string;
  readonly #leastBytes: number;
  readonly #kept = new Map<OpenedInput, Place[]>();
  #file: Promise<FileHandle | null> | undefined;
  #end = 0;
  #mostBytes: number;

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

  /** The rows of an input, in their original batches, if all of them were kept. @throws the signal's reason when aborted */
  of(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<Rows> | undefined {
    const places = this.#kept.get(input);
    return places && this.#read(places, signal);
  }

  async *#read(places: readonly Place[], signal?: AbortSignal): AsyncGenerator<Rows> {
    const file = await this.#file;
    for (const { at, size } of places) {
      signal?.throwIfAborted();
      const { buffer, bytesRead } = await file!.read(Buffer.allocUnsafeSlow(size), 0, size, at);
      if (bytesRead < size) throw new Error('the rows of an input cannot be read back');
      yield deserialize(buffer) as Rows;
    }
  }

  /** Yields the rows as they come, and keeps them if they are read to the end. */
  async *keep(input: OpenedInput, batches: AsyncIterable<Rows>): AsyncGenerator<Rows> {
    if (input.stamp.size < this.#leastBytes) return yield* batches;
    this.#file ??= this.#open();
    const file = await this.#file;
    let places: Place[] | null = file && [];
    for await (const batch of batches) {
      const place: Place | null = places && (await this.#store(file!, serialize(batch)));
      if (place) places!.push(place);
      else places = null;
      yield batch;
    }
    if (places) this.#kept.set(input, places);
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
  async #store(file: FileHandle, batch: Buffer): Promise<Place | null> {
    const place = { at: this.#end, size: batch.length };
    if (place.at + place.size > this.#mostBytes) return null;
    this.#end += place.size;
    const written = await file.write(batch, 0, batch.length, place.at).catch(() => null);
    return written?.bytesWritten === batch.length ? place : null;
  }
}
