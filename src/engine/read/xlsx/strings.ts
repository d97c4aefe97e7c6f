/**
 * The shared strings of a workbook: in memory while they are few, on disk if they are many. A sheet may refer to any of
 * them at any time.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Strings are kept in blocks, which are read back as a whole. */
const BLOCK_BYTES = 64 * 1024;
/** Blocks in memory: 6 MiB. The others are on disk. */
const BLOCKS_IN_MEMORY = 96;
/** How many decoded strings to cache. */
const RECENT = 2048;
const MAX_STRINGS = 50_000_000;
const MAX_BYTES = 2 ** 32 - 1;

export class StringTable {
  /** Where each string begins, as if all blocks were stored end to end. A long string has its own block. */
  #starts = new Uint32Array(1024);
  #count = 0;
  /** `start` is the block's first byte among all strings; `place` its offset on disk, -1 if it is not there. */
  readonly #blocks: { bytes: Buffer | null; start: number; place: number; length: number }[] = [];
  #open = Buffer.allocUnsafe(BLOCK_BYTES);
  #openStart = 0;
  #openLength = 0;
  #folder: string | undefined;
  #file: number | undefined;
  #written = 0;
  readonly #inMemory: number[] = [];
  readonly #recent: ({ index: number; text: string } | undefined)[] = new Array(RECENT);

  add(text: string): void {
    if (this.#count === MAX_STRINGS) throw new Error(`it has more than ${MAX_STRINGS} texts`);
    const bytes = text.length * 3;
    if (this.#openStart + this.#openLength + bytes > MAX_BYTES) throw new Error('its texts are too large');
    if (this.#openLength + bytes > this.#open.length) this.#seal(bytes);
    if (this.#count + 1 >= this.#starts.length) {
      const grown = new Uint32Array(this.#starts.length * 2);
      grown.set(this.#starts);
      this.#starts = grown;
    }
    this.#starts[this.#count++] = this.#openStart + this.#openLength;
    this.#openLength += this.#open.write(text, this.#openLength);
    this.#starts[this.#count] = this.#openStart + this.#openLength;
  }

  /** Ends the open block. The next one has room for at least `bytes`. */
  #seal(bytes: number): void {
    const length = this.#openLength;
    if (length > 0) {
      const whole = Buffer.from(this.#open.subarray(0, length));
      this.#blocks.push({ bytes: whole, start: this.#openStart, place: -1, length });
      this.#keep(this.#blocks.length - 1);
      this.#openStart += length;
      this.#openLength = 0;
    }
    if (bytes > this.#open.length || this.#open.length > BLOCK_BYTES) {
      this.#open = Buffer.allocUnsafe(Math.max(bytes, BLOCK_BYTES));
    }
  }

  /** Keeps a block in memory, and drops the oldest one if there are too many. */
  #keep(number: number): void {
    this.#inMemory.push(number);
    if (this.#inMemory.length <= BLOCKS_IN_MEMORY) return;
    const block = this.#blocks[this.#inMemory.shift()!]!;
    if (block.place < 0) {
      block.place = this.#written;
      const file = this.#spool();
      for (let at = 0; at < block.length; ) {
        at += writeSync(file, block.bytes!, at, block.length - at, this.#written + at);
      }
      this.#written += block.length;
    }
    block.bytes = null;
  }

  #spool(): number {
    if (this.#file === undefined) {
      this.#folder = mkdtempSync(join(tmpdir(), 'profiles-'));
      this.#file = openSync(join(this.#folder, 'strings'), 'wx+', 0o600);
    }
    return this.#file;
  }

  /** @throws Error if there is no such string */
  get(index: number): string {
    const slot = index % RECENT;
    const recent = this.#recent[slot];
    if (recent?.index === index) return recent.text;
    if (!(index >= 0 && index < this.#count)) throw new Error(`it has no text number ${index}`);
    const text = this.#read(this.#starts[index]!, this.#starts[index + 1]!);
    if (text.length < 1024) this.#recent[slot] = { index, text };
    return text;
  }

  #read(start: number, end: number): string {
    if (start >= this.#openStart) {
      return this.#open.toString('utf8', start - this.#openStart, end - this.#openStart);
    }
    const number = this.#blockAt(start);
    const block = this.#blocks[number]!;
    // An empty string at the end of a block has the same offset as the next block.
    if (start === end) return '';
    if (block.bytes === null) {
      const bytes = Buffer.allocUnsafe(block.length);
      for (let at = 0; at < block.length; ) {
        const read = readSync(this.#file!, bytes, at, block.length - at, block.place + at);
        if (read === 0) throw new Error('its texts cannot be read back');
        at += read;
      }
      block.bytes = bytes;
      this.#keep(number);
    }
    return block.bytes.toString('utf8', start - block.start, end - block.start);
  }

  #blockAt(start: number): number {
    let [low, high] = [0, this.#blocks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#blocks[middle]!.start <= start) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#file = this.#folder = undefined;
  }
}
