/**
 * The shared strings of a workbook, to which a sheet may refer in any order: blocks of text, of which the first are in
 * memory, and the others in a private file.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Output } from '../text/output.js';

/** A block ends after this many bytes. */
const BLOCK_BYTES = 64 * 1024;
/** How many blocks are kept in memory, and how many of the others at a time. */
const FIRST_BLOCKS = 128;
const MOST_BLOCKS = FIRST_BLOCKS + 64;
/** How many decoded strings are kept. */
const RECENT = 2048;
const MOST_STRINGS = 50_000_000;
const MOST_BYTES = 2 ** 32 - 1;

export class StringTable {
  /** Of each string: its block, and where it begins and ends, as if all were in one text. */
  readonly #blockOf: number[] = [];
  readonly #ends: number[] = [];
  /** Where the blocks begin. */
  readonly #starts = [0];
  readonly #blocks = new Map<number, Buffer>();
  readonly #last = new Output(BLOCK_BYTES);
  #file: { folder: string; fd: number } | undefined;
  readonly #recent: ({ index: number; text: string } | undefined)[] = new Array(RECENT);

  add(text: string): void {
    const block = this.#starts.length - 1;
    this.#last.write(text);
    const end = this.#starts[block]! + this.#last.length;
    if (this.#ends.length === MOST_STRINGS || end > MOST_BYTES) throw new Error('its texts are too large');
    this.#ends.push(end);
    this.#blockOf.push(block);
    if (this.#last.length < BLOCK_BYTES) return;
    const bytes = this.#last.bytes.subarray(0, this.#last.length);
    if (block < FIRST_BLOCKS) this.#blocks.set(block, Buffer.from(bytes));
    else this.#write(bytes, this.#starts[block]!);
    this.#starts.push(end);
    this.#last.length = 0;
  }

  #write(bytes: Buffer, from: number): void {
    if (!this.#file) {
      const folder = mkdtempSync(join(tmpdir(), 'profiles-'));
      this.#file = { folder, fd: openSync(join(folder, 'strings'), 'wx+', 0o600) };
    }
    for (let at = 0; at < bytes.length; ) {
      at += writeSync(this.#file.fd, bytes, at, bytes.length - at, from + at);
    }
  }

  /** @throws Error if there is no such string */
  get(index: number): string {
    const recent = this.#recent[index % RECENT];
    if (recent?.index === index) return recent.text;
    if (!(Number.isInteger(index) && index >= 0 && index < this.#ends.length))
      throw new Error(`it has no text number ${index}`);
    const number = this.#blockOf[index]!;
    const from = this.#starts[number]!;
    const isFirst = index === 0 || this.#blockOf[index - 1]! !== number;
    const start = isFirst ? 0 : this.#ends[index - 1]! - from;
    const text = this.#block(number).toString('utf8', start, this.#ends[index]! - from);
    if (text.length < 1024) this.#recent[index % RECENT] = { index, text };
    return text;
  }

  #block(number: number): Buffer {
    if (number === this.#starts.length - 1) return this.#last.bytes;
    const known = this.#blocks.get(number);
    if (known) return known;
    const from = this.#starts[number]!;
    const bytes = Buffer.allocUnsafe(this.#starts[number + 1]! - from);
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(this.#file!.fd, bytes, at, bytes.length - at, from + at);
      if (read === 0) throw new Error('its texts cannot be read back');
      at += read;
    }
    // The oldest of those that are on disk.
    if (this.#blocks.size >= MOST_BLOCKS) this.#blocks.delete([...this.#blocks.keys()][FIRST_BLOCKS]!);
    this.#blocks.set(number, bytes);
    return bytes;
  }

  close(): void {
    if (!this.#file) return;
    closeSync(this.#file.fd);
    rmSync(this.#file.folder, { recursive: true, force: true });
    this.#file = undefined;
  }
}
