/** Reads the parts of a workbook, which are XML files in a zip archive, as streams and within limits. */
import type { Readable } from 'node:stream';
import { Parser } from 'saxen';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { InputError, ProfilesError } from '../../errors.js';
import type { SourceFile } from '../text/source.js';

/** Workbooks have dozens of parts. */
const MAX_PARTS = 10_000;
/** XML compresses 10 to 50 times; only pure repetition compresses much better. */
const MAX_RATIO = 250;
const HARMLESS_BYTES = 64 * 1024 * 1024;
/** Limit for all parts except sheets and shared strings. */
const MAX_SMALL_PART = 64 * 1024 * 1024;
/** Most text between two tags, or within one. */
const MAX_TOKEN = 16 * 1024 * 1024;

const AGAIN = 'open it in a spreadsheet program and save it again, or save it as CSV UTF-8';

/** Callbacks of the parser. Names come without a prefix. */
export interface Hooks {
  open?(name: string, attributes: () => Record<string, string>): void;
  text?(text: string): void;
  close?(name: string): void;
}

export class Archive {
  readonly #zip: ZipFile;
  readonly #entries: Map<string, Entry>;
  readonly #path: string;

  private constructor(zip: ZipFile, entries: Map<string, Entry>, path: string) {
    this.#zip = zip;
    this.#entries = entries;
    this.#path = path;
  }

  /** @throws InputError for a damaged or truncated file */
  static async open({ path, location }: SourceFile): Promise<Archive> {
    let zip: ZipFile | undefined;
    try {
      zip = await openPromise(location, { autoClose: false, lazyEntries: true });
      if (zip.entryCount > MAX_PARTS) throw new Error(`it has ${zip.entryCount} parts`);
      const entries = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) entries.set(entry.fileName.toLowerCase(), entry);
      return new Archive(zip, entries, path);
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
  async readSmall(part: string, hooks: Hooks): Promise<void> {
    const size = this.#entries.get(part.toLowerCase())?.uncompressedSize ?? 0;
    if (size > MAX_SMALL_PART) throw this.#bomb(part);
    for await (const _ of this.read(part, hooks));
  }

  /**
   * Feeds a part to the hooks, a piece at a time; yields after each, so that the caller can take the results.
   * @throws InputError for a part that is missing, damaged, or a zip bomb; the signal's reason when aborted
   */
  async *read(part: string, hooks: Hooks, signal?: AbortSignal): AsyncGenerator<void> {
    const entry = this.#entries.get(part.toLowerCase());
    if (!entry) throw damaged(this.#path, new Error(`its part ${part} is missing`));
    const { uncompressedSize: size, compressedSize: packed } = entry;
    if (size > HARMLESS_BYTES && size > packed * MAX_RATIO) throw this.#bomb(part);
    const parser = new XmlParser(hooks);
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
      throw damaged(this.#path, error);
    } finally {
      stream?.destroy();
    }
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

/** Parses the stream of a part, and throws errors as exceptions. */
class XmlParser {
  readonly #parser = new Parser();
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #error: Error | undefined;
  /** Length of the text since the last complete token. */
  #pending = 0;
  #begun = false;

  constructor(hooks: Hooks) {
    const parser = this.#parser;
    parser.on('openTag', (name, attributes) => {
      this.#pending = 0;
      hooks.open?.(localName(name), attributes);
    });
    parser.on('closeTag', (name) => {
      this.#pending = 0;
      hooks.close?.(localName(name));
    });
    if (hooks.text) {
      parser.on('text', (value) => hooks.text!(value.includes('&') ? decoded(value) : value));
      parser.on('cdata', (value) => hooks.text!(value));
    }
    parser.on('error', (error) => {
      this.#error ??= error;
    });
  }

  push(chunk: Buffer): void {
    if (!this.#begun && chunk.length > 1 && (chunk[0] === 0xff || chunk[0] === 0xfe)) {
      throw new Error('it is written in UTF-16');
    }
    this.#begun = true;
    this.#pending += chunk.length;
    const before = this.#pending;
    this.#parser.write(this.#decode(chunk));
    if (this.#error) throw this.#error;
    if (this.#pending === before && before > MAX_TOKEN) throw new Error('a text in it has no end');
  }

  end(): void {
    this.#parser.write(this.#decode());
    this.#parser.end();
    if (this.#error) throw this.#error;
  }

  /** Without a chunk, ends the text. */
  #decode(chunk?: Buffer): string {
    try {
      return chunk ? this.#decoder.decode(chunk, { stream: true }) : this.#decoder.decode();
    } catch {
      throw new Error('it contains text that is not valid UTF-8');
    }
  }
}

/** Removes the prefix that some programs write before each name. */
const localName = (name: string): string => {
  const colon = name.indexOf(':');
  return colon < 0 ? name : name.slice(colon + 1);
};

/** Decodes character references. Hooks get text decoded, but attributes as they are written. */
export const decoded = (text: string): string =>
  text.replace(/&(?:#(\d+)|#x([\da-f]+)|(amp|lt|gt|quot|apos));/gi, (_, decimal, hex, name) => {
    if (name) return { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }[String(name).toLowerCase()]!;
    return String.fromCodePoint(Math.min(decimal ? Number(decimal) : Number.parseInt(hex, 16), 0x10ffff));
  });
