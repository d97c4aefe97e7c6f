/** Keyed 64-bit hashes of identifiers, items, records and cells: SHA-256 over a key and the text, its first eight bytes. */
import { createHash, hash } from 'node:crypto';
import { copy, viewOf } from './text/fours.js';

/** How many bytes of a hash are kept. */
const KEPT = 8;
/** The key takes half a block of SHA-256, so that a short text needs no second one. */
const KEY = 32;
/** Views for texts up to this many bytes are cached: creating one takes as long as a short hash. */
const READY = 1024;

/** Longer texts are written by Node. */
const SHORT = 64;

/** Collects hashes. Equal UTF-8 has equal hashes, whether it comes as text or as bytes. */
export class Hashes {
  /** The key, and room for a text after it. */
  #memory: Buffer;
  #target: DataView;
  #views: Buffer[] = [];
  #hashes = new Uint8Array(1024 * KEPT);
  #length = 0;

  /** `domain` keeps hashes of different things apart. */
  constructor(key: Uint8Array, domain: 'id' | 'item' | 'merged' | 'record' | 'row' | 'cell') {
    const own = createHash('sha256').update(`${domain}:`).update(key).digest();
    this.#memory = Buffer.concat([own, Buffer.alloc(READY)]);
    this.#target = viewOf(this.#memory);
  }

  add(text: string): void {
    // No UTF-16 code unit takes more than three bytes of UTF-8.
    this.#reserve(text.length * 3);
    const memory = this.#memory;
    const { length } = text;
    for (let at = 0; at < length; at++) {
      const code = text.charCodeAt(at);
      if (code >= 0x80 || at === SHORT) {
        this.#hash(memory.write(text, KEY));
        return;
      }
      memory[KEY + at] = code;
    }
    this.#hash(length);
  }

  /** Adds a text that is in memory as UTF-8. */
  addBytes(text: DataView, start: number, end: number): void {
    this.#reserve(end - start);
    copy(text, start, end, this.#target, KEY);
    this.#hash(end - start);
  }

  /** Returns the hashes in the order of their texts, and empties the collection. */
  take(): BigUint64Array<ArrayBuffer> {
    const taken = this.#hashes.slice(0, this.#length * KEPT);
    this.#length = 0;
    return new BigUint64Array(taken.buffer);
  }

  /** The hash of one text. Only for an empty collection. */
  of(text: string): bigint {
    this.add(text);
    return this.take()[0]!;
  }

  #hash(length: number): void {
    const start = this.#length++ * KEPT;
    if (start === this.#hashes.length) {
      const larger = new Uint8Array(2 * start);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    // One character for each byte is the fastest form of the digest.
    const digest = hash('sha256', this.#view(KEY + length), 'binary');
    for (let at = 0; at < KEPT; at++) this.#hashes[start + at] = digest.charCodeAt(at);
  }

  #view(length: number): Buffer {
    if (length >= READY) return this.#memory.subarray(0, length);
    this.#views[length] ??= this.#memory.subarray(0, length);
    return this.#views[length];
  }

  #reserve(bytes: number): void {
    if (KEY + bytes <= this.#memory.length) return;
    const larger = Buffer.alloc(2 * (KEY + bytes));
    larger.set(this.#memory.subarray(0, KEY));
    this.#memory = larger;
    this.#target = viewOf(larger);
    this.#views = [];
  }
}

/** Hashes identifiers that are not from a file in the same way as those of items. */
export function idHashes(key: Uint8Array, ids: readonly string[]): BigUint64Array<ArrayBuffer> {
  const hashes = new Hashes(key, 'id');
  for (const id of ids) hashes.add(id);
  return hashes.take();
}
