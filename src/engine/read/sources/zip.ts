/** Reads zip archives, of inputs and of workbooks: their entries, and the checked bytes of one. */
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';

export type { Entry } from 'yauzl';

/** Why an archive, or an entry of it, cannot be trusted; `message` says it. Broken off by a signal, its reason is thrown. */
export class ZipError extends Error {}

/** An archive of more files than are looked at. */
export class TooManyFiles extends ZipError {}

/** An archive with more entries is refused. */
const MOST_ENTRIES = 10_000;
/** An entry that expands to more than this many times its size must be small. */
const MAX_RATIO = 250;

export class Zip {
  readonly #file: ZipFile;

  private constructor(
    file: ZipFile,
    readonly entries: readonly Entry[],
  ) {
    this.#file = file;
  }

  /** @throws ZipError for an archive that is damaged, has too many entries, or one whose name leads out of it */
  static async open(location: string, signal?: AbortSignal): Promise<Zip> {
    const { default: yauzl } = await import('yauzl');
    let file: ZipFile | undefined;
    try {
      file = await yauzl.openPromise(location, { autoClose: false, lazyEntries: true });
      const { entryCount } = file;
      if (entryCount > MOST_ENTRIES) {
        throw new TooManyFiles(`contains ${entryCount} files, more than ${MOST_ENTRIES}`);
      }
      const entries: Entry[] = [];
      for await (const entry of file.eachEntry()) {
        signal?.throwIfAborted();
        entries.push(entry);
      }
      return new Zip(file, entries);
    } catch (error) {
      file?.close();
      throw asZipError(error, signal);
    }
  }

  /** Whether an entry expands suspiciously. @param harmless how many bytes it may have in any case */
  static isBomb({ uncompressedSize, compressedSize }: Entry, harmless: number): boolean {
    return uncompressedSize > Math.max(harmless, MAX_RATIO * compressedSize);
  }

  /** The bytes of an entry, in order. @throws ZipError at its end, if its size or its checksum is another one */
  async *read(entry: Entry, signal?: AbortSignal): AsyncGenerator<Buffer> {
    let stream: Readable | undefined;
    let sum = 0;
    try {
      stream = await this.#file.openReadStreamPromise(entry);
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        signal?.throwIfAborted();
        sum = crc32(chunk, sum);
        yield chunk;
      }
    } catch (error) {
      throw asZipError(error, signal);
    } finally {
      stream?.destroy();
    }
    if (sum !== entry.crc32) throw new ZipError('its checksum does not match');
  }

  close(): void {
    this.#file.close();
  }
}

function asZipError(error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  return error instanceof ZipError ? error : new ZipError((error as Error).message, { cause: error });
}
