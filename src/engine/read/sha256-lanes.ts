/**
 * SHA-256 of many short texts, four in parallel, in the lanes of WebAssembly's vectors. One call of OpenSSL takes
 * several times as long as one text here (figures: bench/README.md).
 */
import { hash } from 'node:crypto';
import { AT, MAX_BLOCKS, sha256Module } from './sha256-module.js';
import { instantiate, type WasmExports } from './wasm-module.js';

/** Block size of SHA-256, in bytes. */
const BLOCK = 64;
/** If a thread hashes fewer texts than this, loading the module takes longer than it saves. */
const WORTH = 32_768;

/** The module and its memory. Each thread has one. */
class Lanes {
  readonly #run: WasmExports['r'];
  readonly #bytes: Uint8Array;
  readonly #words: Uint32Array;
  readonly #initial: Uint32Array;

  constructor() {
    const { r, m } = instantiate(sha256Module());
    this.#run = r;
    this.#bytes = new Uint8Array(m.buffer);
    this.#words = new Uint32Array(m.buffer);
    const primes: number[] = [];
    for (let next = 2; primes.length < 64; next++) {
      if (primes.every((prime) => next % prime > 0)) primes.push(next);
    }
    /** The first 32 bits of the fraction. */
    const fraction = (root: number): number => Math.floor((root % 1) * 2 ** 32);
    this.#words.set(
      primes.map((prime) => fraction(Math.cbrt(prime))),
      AT.constants / 4,
    );
    this.#initial = Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
  }

  /** The state after the whole blocks of a text. */
  stateAfter(text: Uint8Array): Uint32Array {
    let state = this.#initial;
    for (let at = 0; at + BLOCK <= text.length; at += BLOCK) {
      this.hash(state, text.subarray(at, at + BLOCK));
      state = state.map((_, word) => this.#words[AT.states / 4 + 4 * word]!);
    }
    return state;
  }

  /** Hashes blocks, each the last one after a state. @returns two words of hash per block. Valid until the next call */
  hash(state: Uint32Array, blocks: Uint8Array): Uint32Array {
    this.#bytes.set(blocks, AT.blocks);
    this.#words.set(state, AT.state / 4);
    const count = blocks.length / BLOCK;
    this.#run(Math.ceil(count / 4));
    return this.#words.subarray(AT.hashes / 4, AT.hashes / 4 + 2 * count);
  }
}

let texts = 0;
let lanes: Lanes | null | undefined;

/** Null if there is no WebAssembly with vectors, no memory for it, or its result differs from OpenSSL's. */
function load(): Lanes | null {
  try {
    const loaded = new Lanes();
    const [found, text] = [new Uint32Array(2), Buffer.alloc(BLOCK + 1, 'a')];
    const short = new ShortTexts(text.subarray(0, BLOCK), loaded);
    short.addBytes(text, BLOCK, BLOCK + 1, 0);
    short.takeInto(found);
    const known = hash('sha256', text, 'hex');
    return known.startsWith(Buffer.from(found.buffer).toString('hex')) ? loaded : null;
  } catch {
    return null;
  }
}

/** Collects texts that fit into the block after their common prefix, until they are hashed. */
export class ShortTexts {
  readonly #lanes: Lanes;
  /** The state after the whole blocks of the prefix. */
  readonly #state: Uint32Array;
  readonly #prefixBytes: number;
  /** Where a text begins in its block: after the rest of the prefix. */
  readonly #start: number;
  /** Blocks without a text. */
  readonly #empty: Buffer;
  readonly #blocks: Buffer;
  /** Where each hash goes. */
  readonly #places = new Uint32Array(MAX_BLOCKS);
  #length = 0;
  /** The longest text, in bytes; negative if none fits. */
  readonly limit: number;

  /** Null until it is worth it, or if it is not supported. @param more how many texts this thread hashed without it */
  static after(more: number, prefix: Uint8Array): ShortTexts | null {
    texts += more;
    if (lanes === undefined && texts >= WORTH) lanes = load();
    return lanes ? new ShortTexts(prefix, lanes) : null;
  }

  constructor(prefix: Uint8Array, lanes: Lanes) {
    this.#lanes = lanes;
    this.#state = lanes.stateAfter(prefix);
    this.#prefixBytes = prefix.length;
    this.#start = prefix.length % BLOCK;
    // A text is followed by an end byte, and by its length in the last eight bytes of the block.
    this.limit = BLOCK - this.#start - 9;
    const block = Buffer.alloc(BLOCK);
    block.set(prefix.subarray(prefix.length - this.#start));
    this.#empty = Buffer.alloc(BLOCK * MAX_BLOCKS, block);
    this.#blocks = Buffer.from(this.#empty);
  }

  get isFull(): boolean {
    return this.#length === MAX_BLOCKS;
  }

  /** @param text its UTF-8 must be within the limit @param place where its hash goes */
  add(text: string, place: number): void {
    const at = BLOCK * this.#length + this.#start;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) {
        this.#end(this.#blocks.write(text, at), place);
        return;
      }
      this.#blocks[at + index] = code;
    }
    this.#end(text.length, place);
  }

  addBytes(bytes: Uint8Array, start: number, end: number, place: number): void {
    const at = BLOCK * this.#length + this.#start;
    for (let index = 0; index < end - start; index++) this.#blocks[at + index] = bytes[start + index]!;
    this.#end(end - start, place);
  }

  #end(length: number, place: number): void {
    const blocks = this.#blocks;
    blocks[BLOCK * this.#length + this.#start + length] = 0x80;
    const bits = 8 * (this.#prefixBytes + length);
    const last = BLOCK * (this.#length + 1) - 1;
    blocks[last - 2] = bits >>> 16;
    blocks[last - 1] = bits >>> 8;
    blocks[last] = bits;
    this.#places[this.#length++] = place;
  }

  /** Writes each hash, two words, to its place, and removes all texts. */
  takeInto(hashes: Uint32Array): void {
    if (this.#length === 0) return;
    const blocks = this.#blocks.subarray(0, BLOCK * this.#length);
    const found = this.#lanes.hash(this.#state, blocks);
    for (let text = 0; text < this.#length; text++) {
      const place = 2 * this.#places[text]!;
      hashes[place] = found[2 * text]!;
      hashes[place + 1] = found[2 * text + 1]!;
    }
    blocks.set(this.#empty.subarray(0, blocks.length));
    this.#length = 0;
  }
}
