/** Keyed 64-bit hashes of identifiers, items, records and cells: SHA-256 over a key and the text, its first eight bytes. */
import { createHash, hash } from 'node:crypto';
import { copy, Output } from './text/bytes.js';

/** How many bytes of a hash are kept. */
const KEPT = 8;
/** The key takes half a block of SHA-256, so that a short text needs no second one. */
const KEY = 32;
/** Views for texts up to this many bytes are cached: creating one takes as long as a short hash. */
const READY = 1024;

/** Collects hashes. Equal UTF-8 has equal hashes, whether it comes as text or as bytes. */
export class Hashes {
  /** The key, and a text after it. */
  readonly #text = new Output(KEY + READY);
  /** Of the beginning of `#viewed`, by length. */
  #views: Buffer[] = [];
  #viewed = this.#text.bytes;
  #hashes = new Uint8Array(1024 * KEPT);
  #length = 0;

  /** `domain` keeps hashes of different things apart. */
  constructor(key: Uint8Array, domain: 'id' | 'item' | 'merged' | 'record' | 'row' | 'cell') {
    this.#text.bytes.set(createHash('sha256').update(`${domain}:`).update(key).digest());
    this.#text.length = KEY;
  }

  add(text: string): void {
    this.#text.write(text);
    this.#hash();
  }

  /** Adds a text that is in memory as UTF-8. */
  addBytes(text: DataView, start: number, end: number): void {
    const to = this.#text;
    to.reserve(end - start);
    to.length = copy(text, start, end, to.view, KEY);
    this.#hash();
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

  /** Hashes what is in the memory, and leaves the key. */
  #hash(): void {
    const start = this.#length++ * KEPT;
    if (start === this.#hashes.length) {
      const larger = new Uint8Array(2 * start);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    const { bytes, length } = this.#text;
    this.#text.length = KEY;
    // One character for each byte is the fastest form of the digest.
    const digest = hash('sha256', this.#view(bytes, length), 'binary');
    for (let at = 0; at < KEPT; at++) this.#hashes[start + at] = digest.charCodeAt(at);
  }

  #view(bytes: Buffer, length: number): Buffer {
    if (length >= READY) return bytes.subarray(0, length);
    if (this.#viewed !== bytes) {
      this.#viewed = bytes;
      this.#views = [];
    }
    this.#views[length] ??= bytes.subarray(0, length);
    return this.#views[length];
  }
}

/** Hashes identifiers that are not from a file in the same way as those of items. */
export function idHashes(key: Uint8Array, ids: readonly string[]): BigUint64Array<ArrayBuffer> {
  const hashes = new Hashes(key, 'id');
  for (const id of ids) hashes.add(id);
  return hashes.take();
}
