/** Reads the parts of a workbook, which are XML files in a zip archive, as streams and within limits. */
import { InputError, ProfilesError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import { type Entry, Zip } from '../sources/zip.js';
import type { SourceFile } from '../text/source.js';
import { MAX_TOKEN, type Place, TokenTooLong, XmlReader } from './xml.js';

const MIB = 1024 ** 2;
/** Limit for all parts except sheets and shared strings. */
const MAX_SMALL_PART = 64 * MIB;

const AGAIN = 'open it in a spreadsheet program and save it again, or save it as CSV UTF-8';

export class Parts {
  readonly #entries = new Map<string, Entry>();
  readonly #maxToken: number;

  private constructor(
    private readonly zip: Zip,
    private readonly path: string,
    maxCellBytes: number,
  ) {
    this.#maxToken = Math.max(MAX_TOKEN, 8 * maxCellBytes);
    for (const entry of zip.entries) {
      const name = entry.fileName.toLowerCase();
      if (this.#entries.has(name)) throw new Error(`it has two parts ${entry.fileName}`);
      this.#entries.set(name, entry);
    }
  }

  /**
   * @param maxCellBytes longer cells than by default need longer texts
   * @throws InputError for a damaged or truncated file
   */
  static async open({ path, location }: SourceFile, maxCellBytes = 0): Promise<Parts> {
    let zip: Zip | undefined;
    try {
      zip = await Zip.open(location);
      return new Parts(zip, path, maxCellBytes);
    } catch (error) {
      zip?.close();
      throw damaged(path, error);
    }
  }

  close(): void {
    this.zip.close();
  }

  has(part: string): boolean {
    return this.#entries.has(part.toLowerCase());
  }

  /** Reads a part that must be small. */
  async readSmall(part: string, root: Place): Promise<void> {
    for await (const _ of this.read(part, root, undefined, MAX_SMALL_PART));
  }

  /**
   * Reads a part by its places, a piece at a time; yields after each, so that the caller can take the results.
   * @throws InputError for a part that is missing, damaged, or a zip bomb; the signal's reason when aborted
   */
  async *read(
    part: string,
    root: Place,
    signal?: AbortSignal,
    most = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<void> {
    const entry = this.#entries.get(part.toLowerCase());
    if (!entry) throw damaged(this.path, new Error(`its part ${part} is missing`));
    if (entry.uncompressedSize > most || Zip.isBomb(entry, 64 * MIB)) {
      throw new InputError(`the workbook's part ${part} is suspiciously large when it is unpacked`, {
        file: this.path,
        hint: AGAIN,
      });
    }
    const parser = new XmlReader(root, this.#maxToken);
    try {
      if (entry.isEncrypted()) throw new Error('its parts are encrypted');
      for await (const chunk of this.zip.read(entry, signal)) {
        parser.push(chunk);
        yield;
      }
      parser.end();
      yield;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw error instanceof TokenTooLong ? this.#tooLong(part) : damaged(this.path, error);
    }
  }

  #tooLong(part: string): InputError {
    const longest = formatSize(this.#maxToken);
    return new InputError(`the workbook's part ${part} has a text or a tag longer than ${longest}`, {
      file: this.path,
      hint: 'shorten it, or allow longer cells',
      problem: { code: 'cell_too_long', maxBytes: this.#maxToken },
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
