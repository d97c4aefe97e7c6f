/**
 * The code of `sha256-lanes.ts`, as a WebAssembly module: SHA-256 (FIPS 180-4) of four blocks at a time, one in each
 * vector lane. It is assembled when it is needed, in a few milliseconds: no build step, and the source is what runs.
 */
import { assembler, I32, unsigned, V128, type Value, wasmModule } from './wasm-module.js';

/** The most blocks per call. */
export const MAX_BLOCKS = 256;

/** Offsets in the module's memory, in bytes. */
export const AT = {
  /** 64 words: the constants of the rounds. */
  constants: 0,
  /** 8 words: the state before the blocks. */
  state: 256,
  /** 8 vectors: the states after the last four blocks. */
  states: 288,
  /** For each block: the first eight bytes of the state after it. */
  hashes: 512,
  blocks: 512 + 8 * MAX_BLOCKS,
} as const;

/** Locals: groups of four blocks left, offsets of block and hash, offset into the constants; then vectors. */
const [LEFT, BLOCK, HASH, ROUND, W, S, T, U, V, VECTORS] = [0, 1, 2, 3, 4, 20, 28, 29, 30, 27] as const;

export function sha256Module(): Uint8Array<ArrayBuffer> {
  const { code, emit, get, set, number, sum, less, ifSo, loop, again, againUnlessZero, end } = assembler();
  const vector = (operation: number, ...rest: number[]): Value => emit(0xfd, ...unsigned(operation), ...rest);
  const fold =
    (operation: number) =>
    (...values: Value[]): Value => {
      for (let left = values.length; left > 1; left--) vector(operation);
    };
  const [and, or, xor, add] = [fold(0x4e), fold(0x50), fold(0x51), fold(0xae)];
  const shiftLeft = (_: Value, __: Value): Value => vector(0xab);
  const shiftRight = (_: Value, __: Value): Value => vector(0xad);
  const shift = (local: number, bits: number): Value => shiftRight(get(local), number(bits));
  const rotate = (local: number, bits: number): Value =>
    or(shift(local, bits), shiftLeft(get(local), number(32 - bits)));
  /** Selects bytes of two vectors; those of the second count from 16. */
  const pick = (first: number, second: number, bytes: number[]): Value => {
    get(first);
    get(second);
    vector(0x0d, ...bytes);
  };
  const load = (_: Value, offset: number): Value => vector(0x00, 0, ...unsigned(offset));
  /** Loads a word into every lane. */
  const spread = (_: Value, offset: number): Value => vector(0x09, 0, ...unsigned(offset));
  const store = (_: Value, offset: number, __: Value): Value => vector(0x0b, 0, ...unsigned(offset));
  const w = (index: number) => W + (index & 15);

  /** Loads the sixteen words of each lane's block, by transposing four at a time. */
  const loadBlocks = () => {
    for (let index = 0; index < 16; index += 4) {
      for (let lane = 0; lane < 4; lane++) set(S + lane, load(get(BLOCK), 64 * lane + 4 * index));
      for (const [half, words] of [inOrder(0, 4, 1, 5), inOrder(2, 6, 3, 7)].entries()) {
        set(T, pick(S, S + 1, words));
        set(U, pick(S + 2, S + 3, words));
        for (const [odd, pairs] of [inOrder(0, 1, 4, 5), inOrder(2, 3, 6, 7)].entries()) {
          set(V, pick(T, U, pairs));
          set(w(index + 2 * half + odd), pick(V, V, swapped(0, 1, 2, 3)));
        }
      }
    }
  };

  /** Instead of moving the variables of the standard, each round renames them. */
  const round = (index: number) => {
    const name = (letter: number) => S + ((letter - index) & 7);
    const [a, b, d, e, f, g, h] = [name(0), name(1), name(3), name(4), name(5), name(6), name(7)];
    const big = (of: number, one: number, two: number, three: number): Value =>
      xor(rotate(of, one), rotate(of, two), rotate(of, three));
    const choice = () => xor(get(g), and(get(e), xor(get(f), get(g))));
    const known = () => add(spread(get(ROUND), AT.constants + 4 * index), get(w(index)), get(h));
    set(T, add(big(e, 6, 11, 25), choice(), known()));
    set(d, add(get(d), get(T)));
    // This round's a ^ b is the next one's b ^ c.
    const [now, before] = index & 1 ? [V, U] : [U, V];
    set(now, xor(get(a), get(b)));
    const majority = () => xor(get(b), and(get(now), get(before)));
    set(h, add(big(a, 2, 13, 22), majority(), get(T)));
  };

  const nextWord = (index: number) => {
    const small = (of: number, one: number, two: number, bits: number): Value =>
      xor(rotate(of, one), rotate(of, two), shift(of, bits));
    const late = small(w(index + 14), 17, 19, 10);
    const early = small(w(index + 1), 7, 18, 3);
    set(w(index), add(late, early, get(w(index + 9)), get(w(index))));
  };

  set(BLOCK, number(AT.blocks));
  set(HASH, number(AT.hashes));
  loop();
  loadBlocks();
  for (let name = 0; name < 8; name++) set(S + name, spread(number(0), AT.state + 4 * name));
  set(V, xor(get(S + 1), get(S + 2)));
  set(ROUND, number(0));
  loop();
  for (let index = 0; index < 16; index++) round(index);
  set(ROUND, sum(get(ROUND), number(4 * 16)));
  ifSo(less(get(ROUND), number(4 * 64)));
  for (let index = 0; index < 16; index++) nextWord(index);
  again(1);
  end();
  end();
  for (let name = 0; name < 8; name++) {
    set(S + name, add(get(S + name), spread(number(0), AT.state + 4 * name)));
    store(number(0), AT.states + 16 * name, get(S + name));
  }
  store(get(HASH), 0, pick(S, S + 1, swapped(0, 4, 1, 5)));
  store(get(HASH), 16, pick(S, S + 1, swapped(2, 6, 3, 7)));
  set(BLOCK, sum(get(BLOCK), number(4 * 64)));
  set(HASH, sum(get(HASH), number(4 * 8)));
  set(LEFT, sum(get(LEFT), number(-1)));
  againUnlessZero(get(LEFT));
  end();
  end();

  return wasmModule({
    parameters: 1,
    locals: [
      [3, I32],
      [VECTORS, V128],
    ],
    code,
  });
}

/** The byte indexes of words. */
const inOrder = (...words: number[]): number[] =>
  words.flatMap((word) => [4 * word, 4 * word + 1, 4 * word + 2, 4 * word + 3]);
const swapped = (...words: number[]): number[] =>
  words.flatMap((word) => [4 * word + 3, 4 * word + 2, 4 * word + 1, 4 * word]);
