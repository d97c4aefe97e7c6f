/** Reads the parts of a workbook, which are XML files in a zip archive, as streams and within limits. */
import type { Readable } from 'node:stream';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { InputError, ProfilesError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import type { SourceFile } from '../text/source.js';
import { MAX_TOKEN, type Place, TokenTooLong, XmlReader } from './xml.js';

/** Workbooks have dozens of parts. */
const MAX_PARTS = 10_000;
/** XML compresses 10 to 50 times; only pure repetition compresses much better. */
const MAX_RATIO = 250;
const HARMLESS_BYTES = 64 * 1024 * 1024;
/** Limit for all parts except sheets and shared strings. */
const MAX_SMALL_PART = 64 * 1024 * 1024;

const AGAIN = 'open it in a spreadsheet program and save it again, or save it as CSV UTF-8';

export class Archive {
  readonly #zip: ZipFile;
  readonly #entries: Map<string, Entry>;
  readonly #path: string;
  readonly #maxToken: number;

  private constructor(zip: ZipFile, entries: Map<string, Entry>, path: string, maxToken: number) {
    this.#zip = zip;
    this.#entries = entries;
    this.#path = path;
    this.#maxToken = maxToken;
  }

  /**
   * @param maxCellBytes longer cells than by default need longer texts
   * @throws InputError for a damaged or truncated file
   */
  static async open({ path, location }: SourceFile, maxCellBytes = 0): Promise<Archive> {
    let zip: ZipFile | undefined;
    try {
      zip = await openPromise(location, { autoClose: false, lazyEntries: true });
      if (zip.entryCount > MAX_PARTS) throw new Error(`it has ${zip.entryCount} parts`);
      const entries = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) {
        const name = entry.fileName.toLowerCase();
        if (entries.has(name)) throw new Error(`it has two parts ${entry.fileName}`);
        entries.set(name, entry);
      }
      return new Archive(zip, entries, path, Math.max(MAX_TOKEN, 8 * maxCellBytes));
    } catch (error) {
      zip?.close();
      throw damaged(path, error);
    }
  }

  close(): void {
    this.#zip.close();
  }

  has(part: string): boolean {
    return this.#entries.has(part.toLowerCase());
  }

  /** Reads a part that must be small. */
  async readSmall(part: string, root: Place): Promise<void> {
    const size = this.#entries.get(part.toLowerCase())?.uncompressedSize ?? 0;
    if (size > MAX_SMALL_PART) throw this.#bomb(part);
    for await (const _ of this.read(part, root));
  }

  /**
   * Reads a part by its places, a piece at a time; yields after each, so that the caller can take the results.
   * @throws InputError for a part that is missing, damaged, or a zip bomb; the signal's reason when aborted
   */
  async *read(part: string, root: Place, signal?: AbortSignal): AsyncGenerator<void> {
    const entry = this.#entries.get(part.toLowerCase());
    if (!entry) throw damaged(this.#path, new Error(`its part ${part} is missing`));
    const { uncompressedSize: size, compressedSize: packed } = entry;
    if (size > HARMLESS_BYTES && size > packed * MAX_RATIO) throw this.#bomb(part);
    const parser = new XmlReader(root, this.#maxToken);
    let stream: Readable | undefined;
    try {
      if (entry.isEncrypted()) throw new Error('its parts are encrypted');
      stream = await this.#zip.openReadStreamPromise(entry);
      for await (const chunk of stream) {
        signal?.throwIfAborted();
        parser.push(chunk as Buffer);
        yield;
      }
      parser.end();
      yield;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof TokenTooLong) throw this.#tooLong(part);
      throw damaged(this.#path, error);
    } finally {
      stream?.destroy();
    }
  }

  #tooLong(part: string): InputError {
    const longest = formatSize(this.#maxToken);
    return new InputError(`the workbook's part ${part} has a text or a tag longer than ${longest}`, {
      file: this.#path,
      hint: 'shorten it, or allow longer cells',
      problem: { code: 'cell_too_long', maxBytes: this.#maxToken },
    });
  }

  #bomb(part: string): InputError {
    return new InputError(`the workbook's part ${part} is suspiciously large when it is unpacked`, {
      file: this.#path,
      hint: AGAIN,
    });
  }
}

export function damaged(path: string, error: unknown): ProfilesError {
  if (error instanceof ProfilesError) return error;
  return new InputError(`the workbook is damaged: ${(error as Error).message}`, {
    file: path,
    hint: AGAIN,
    cause: error,
  });
}
