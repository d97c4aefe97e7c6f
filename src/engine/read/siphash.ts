/** SipHash-2-4 (Aumasson and Bernstein, 2012), 64 bits, of many items at a time, in WebAssembly if available. */
import { BEYOND, KEY_BYTES, siphashModule } from './siphash-module.js';
import { instantiate, type WasmExports } from './wasm-module.js';

const PAGE = 65_536;
/** More memory than this, for a batch of huge items, is not kept. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** The constants that are combined with a key: "somepseudorandomlygeneratedbytes". */
const CONSTANTS = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n];

/** The state before the first word. @param key only its first 16 bytes are used */
export function keyWords(key: Buffer): BigUint64Array {
  const halves = [key.readBigUInt64LE(0), key.readBigUInt64LE(8)];
  return BigUint64Array.from(CONSTANTS, (constant, index) => constant ^ halves[index % 2]!);
}

/** @param items texts, with a comma after each; `ends`: the offset after each comma */
export function sipHashes(
  key: BigUint64Array,
  items: Uint8Array,
  ends: Uint32Array,
): BigUint64Array<ArrayBuffer> {
  const count = ends.length;
  if (count === 0) return new BigUint64Array();
  const hashes = KEY_BYTES;
  const places = hashes + 8 * count;
  const texts = places + 4 * count;
  const wasm = withMemory(texts + items.length + BEYOND);
  if (wasm === null) {
    return BigUint64Array.from(ends, (end, at) => sipHash(key, items, ends[at - 1] ?? 0, end - 1));
  }
  const { r, m } = wasm;
  new BigUint64Array(m.buffer).set(key);
  new Uint32Array(m.buffer, places, count).set(ends);
  new Uint8Array(m.buffer, texts).set(items);
  r(count, places, hashes, texts);
  const found = new BigUint64Array(m.buffer, hashes, count).slice();
  if (m.buffer.byteLength > KEPT_BYTES) loaded = null;
  return found;
}

/** Each thread has one. */
let loaded: WasmExports | null = null;

/** The module with this much memory; null if there is no WebAssembly, or not enough memory. */
function withMemory(bytes: number): WasmExports | null {
  try {
    loaded ??= instantiate(siphashModule());
    const missing = bytes - loaded.m.buffer.byteLength;
    if (missing > 0) loaded.m.grow(Math.ceil(missing / PAGE));
    return loaded;
  } catch {
    return null;
  }
}

const word = (value: bigint): bigint => BigInt.asUintN(64, value);
const turn = (value: bigint, bits: bigint): bigint => word(value << bits) | (value >> (64n - bits));

/** The same without WebAssembly, about a hundred times slower. @param key the result of `keyWords` */
function sipHash(key: BigUint64Array, bytes: Uint8Array, start: number, end: number): bigint {
  let [v0 = 0n, v1 = 0n, v2 = 0n, v3 = 0n] = key;
  const rounds = (count: number): void => {
    for (; count > 0; count--) {
      v0 = word(v0 + v1);
      v1 = turn(v1, 13n) ^ v0;
      v0 = turn(v0, 32n);
      v2 = word(v2 + v3);
      v3 = turn(v3, 16n) ^ v2;
      v0 = word(v0 + v3);
      v3 = turn(v3, 21n) ^ v0;
      v2 = word(v2 + v1);
      v1 = turn(v1, 17n) ^ v2;
      v2 = turn(v2, 32n);
    }
  };
  const last = Buffer.alloc(8);
  const whole = end - ((end - start) % 8);
  last.set(bytes.subarray(whole, end));
  last[7] = end - start;
  const text = Buffer.concat([bytes.subarray(start, whole), last]);
  for (let at = 0; at < text.length; at += 8) {
    const next = text.readBigUInt64LE(at);
    v3 ^= next;
    rounds(2);
    v0 ^= next;
  }
  v2 ^= 0xffn;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}
