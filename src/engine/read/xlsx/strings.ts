/**
 * The shared strings of a workbook: the first ones in memory, the others on disk. A sheet may refer to any of them at
 * any time.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Numbers } from '../rows.js';
import { Output } from '../text/output.js';

/** About how many bytes are kept in memory. */
const IN_MEMORY = 8 * 1024 * 1024;
/** How many bytes of the file are written, and read back, at once. */
const BLOCK_BYTES = 64 * 1024;
/** How many blocks, and how many decoded strings, to cache. */
const BLOCKS = 64;
const RECENT = 2048;
const MAX_STRINGS = 50_000_000;
const MAX_BYTES = 2 ** 32 - 1;

export class StringTable {
  /** Where each string ends, as if all were in one text. */
  readonly #ends = new Numbers();
  /** The text up to `#kept` bytes, which stays in memory. */
  readonly #first = new Output(BLOCK_BYTES);
  /** What follows it and is not on disk yet; `#written` bytes are. */
  readonly #last = new Output(BLOCK_BYTES);
  #written = 0;
  #file: { folder: string; fd: number } | undefined;
  readonly #blocks = new Map<number, Buffer>();
  readonly #recent: ({ index: number; text: string } | undefined)[] = new Array(RECENT);

  add(text: string): void {
    const isFirst = this.#first.length < IN_MEMORY;
    (isFirst ? this.#first : this.#last).write(text);
    const end = this.#first.length + this.#written + this.#last.length;
    if (this.#ends.length === MAX_STRINGS || end > MAX_BYTES) throw new Error('its texts are too large');
    this.#ends.push(end);
    if (this.#last.length >= BLOCK_BYTES) this.#write();
  }

  #write(): void {
    if (!this.#file) {
      const folder = mkdtempSync(join(tmpdir(), 'profiles-'));
      this.#file = { folder, fd: openSync(join(folder, 'strings'), 'wx+', 0o600) };
    }
    const { bytes, length } = this.#last;
    for (let at = 0; at < length; ) at += writeSync(this.#file.fd, bytes, at, length - at);
    this.#written += length;
    this.#last.length = 0;
  }

  /** @throws Error if there is no such string */
  get(index: number): string {
    const recent = this.#recent[index % RECENT];
    if (recent?.index === index) return recent.text;
    if (!(index >= 0 && index < this.#ends.length)) throw new Error(`it has no text number ${index}`);
    const text = this.#read(index === 0 ? 0 : this.#ends.at(index - 1), this.#ends.at(index));
    if (text.length < 1024) this.#recent[index % RECENT] = { index, text };
    return text;
  }

  #read(start: number, end: number): string {
    const { length } = this.#first;
    if (end <= length) return this.#first.bytes.toString('utf8', start, end);
    const from = start - length;
    const after = from - this.#written;
    if (after >= 0) return this.#last.bytes.toString('utf8', after, end - start + after);
    const number = Math.floor(from / BLOCK_BYTES);
    const at = from - number * BLOCK_BYTES;
    if (at + end - start > BLOCK_BYTES) return this.#onDisk(from, end - start).toString();
    return this.#block(number).toString('utf8', at, at + end - start);
  }

  #block(number: number): Buffer {
    let block = this.#blocks.get(number);
    if (!block) {
      const from = number * BLOCK_BYTES;
      block = this.#onDisk(from, Math.min(BLOCK_BYTES, this.#written - from));
      if (this.#blocks.size === BLOCKS) this.#blocks.delete(this.#blocks.keys().next().value!);
      this.#blocks.set(number, block);
    }
    return block;
  }

  #onDisk(from: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let at = 0; at < length; ) {
      const read = readSync(this.#file!.fd, bytes, at, length - at, from + at);
      if (read === 0) throw new Error('its texts cannot be read back');
      at += read;
    }
    return bytes;
  }

  close(): void {
    if (!this.#file) return;
    closeSync(this.#file.fd);
    rmSync(this.#file.folder, { recursive: true, force: true });
    this.#file = undefined;
  }
}
