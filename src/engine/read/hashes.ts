/** Keyed 64-bit hashes of identifiers and records, and of items as version 0.1.0 hashed them: SHA-256 over key and text, its first eight bytes. */
import { hash } from 'node:crypto';
import { ShortTexts } from './sha256-lanes.js';

/** How many bytes of a hash are kept. */
const KEPT = 8;
/** Views for texts up to this many bytes are cached: creating one takes as long as a short hash. */
const READY = 1024;

/** Collects hashes. Equal UTF-8 has equal hashes, whether it comes as text or as bytes. */
export class Hashes {
  /** The key, and room for a text after it. */
  #memory: Buffer;
  #views: Buffer[] = [];
  readonly #key: number;
  #hashes = new Uint8Array(1024 * KEPT);
  #length = 0;
  /** Short texts, which are hashed together once there have been many; each of the others takes a call. */
  #short: ShortTexts | null;

  /** `domain` keeps hashes of different things apart. */
  constructor(key: Uint8Array, domain: 'id' | 'item' | 'merged' | 'record' | 'row') {
    const prefix = Buffer.from(`${domain}:${Buffer.from(key).toString('hex')}:`);
    this.#key = prefix.length;
    this.#memory = Buffer.concat([prefix, Buffer.alloc(READY)]);
    this.#short = ShortTexts.after(0, prefix);
  }

  add(text: string): void {
    // No UTF-16 code unit takes more than three bytes of UTF-8.
    const most = text.length * 3;
    if (this.#short && most <= this.#short.limit) {
      this.#short.add(text, this.#next());
      return;
    }
    this.#reserve(most);
    this.#hash(this.#memory.write(text, this.#key));
  }

  /** Adds a text that is in memory as UTF-8. */
  addBytes(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    if (this.#short && length <= this.#short.limit) {
      this.#short.addBytes(bytes, start, end, this.#next());
      return;
    }
    this.#reserve(length);
    const memory = this.#memory;
    if (length > 64) memory.set(bytes.subarray(start, end), this.#key);
    else for (let at = 0; at < length; at++) memory[this.#key + at] = bytes[start + at]!;
    this.#hash(length);
  }

  /** Returns the hashes in the order of their texts, and empties the collection. */
  take(): BigUint64Array<ArrayBuffer> {
    this.#takeShort();
    const taken = this.#hashes.slice(0, this.#length * KEPT);
    this.#short ??= ShortTexts.after(this.#length, this.#memory.subarray(0, this.#key));
    this.#length = 0;
    return new BigUint64Array(taken.buffer);
  }

  #takeShort(): void {
    this.#short?.takeInto(new Uint32Array(this.#hashes.buffer));
  }

  /** The index of the next hash. */
  #next(): number {
    if (this.#short?.isFull) this.#takeShort();
    if (this.#length * KEPT === this.#hashes.length) {
      const larger = new Uint8Array(2 * this.#hashes.length);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    return this.#length++;
  }

  #hash(length: number): void {
    // One character per byte is the fastest form of the digest.
    const digest = hash('sha256', this.#view(this.#key + length), 'binary');
    const start = this.#next() * KEPT;
    for (let at = 0; at < KEPT; at++) this.#hashes[start + at] = digest.charCodeAt(at);
  }

  #view(length: number): Buffer {
    if (length >= READY) return this.#memory.subarray(0, length);
    this.#views[length] ??= this.#memory.subarray(0, length);
    return this.#views[length];
  }

  #reserve(bytes: number): void {
    if (this.#key + bytes <= this.#memory.length) return;
    const larger = Buffer.alloc(2 * (this.#key + bytes));
    larger.set(this.#memory.subarray(0, this.#key));
    this.#memory = larger;
    this.#views = [];
  }
}

/** Hashes identifiers that are not from a file in the same way as those of items. */
export function idHashes(key: Uint8Array, ids: readonly string[]): BigUint64Array<ArrayBuffer> {
  const hashes = new Hashes(key, 'id');
  for (const id of ids) hashes.add(id);
  return hashes.take();
}
