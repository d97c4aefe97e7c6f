/**
 * The code of `siphash.ts`, as a WebAssembly module: many items in one call. It is assembled when it is needed: no
 * build step, and the source is what runs.
 */
import { assembler, I32, I64, signed, unsigned, type Value, wasmModule } from './wasm-module.js';

/** Bytes at the beginning of the memory: the four words of a key. The rest is the caller's. */
export const KEY_BYTES = 32;
/** Items are read eight bytes at a time, so the memory must be this much larger than they are. */
export const BEYOND = 8;

/** Parameters: number of items left; where the next item's end is stored, where its hash goes, and the first item. */
const [LEFT, END, HASH, FIRST] = [0, 1, 2, 3] as const;
/** Locals: the offset in the item, and that of its last word, which may be empty; then words. */
const [AT, LAST, LENGTH, WORD, V0, V1, V2, V3] = [4, 5, 6, 7, 8, 9, 10, 11] as const;

/** Ends are relative to the first item, and include the comma after the item. There must be at least one item. */
export function siphashModule(): Uint8Array<ArrayBuffer> {
  const { code, emit, get, set, number, sum, less, ifSo, loop, again, againUnlessZero, end } = assembler();
  const difference = (_: Value, __: Value): Value => emit(0x6b);
  const masked = (_: Value, __: Value): Value => emit(0x71);
  const numberAt = (_: Value): Value => emit(0x28, 2, 0);
  const move = (local: number, by: number) => set(local, sum(get(local), number(by)));

  const word = (value: number): Value => emit(0x42, ...signed(value));
  const wide = (_: Value): Value => emit(0xad);
  const add = (_: Value, __: Value): Value => emit(0x7c);
  const subtract = (_: Value, __: Value): Value => emit(0x7d);
  const and = (_: Value, __: Value): Value => emit(0x83);
  const or = (_: Value, __: Value): Value => emit(0x84);
  const xor = (_: Value, __: Value): Value => emit(0x85);
  const shift = (_: Value, __: Value): Value => emit(0x86);
  const rotate = (_: Value, __: Value): Value => emit(0x89);
  const wordAt = (_: Value, offset = 0): Value => emit(0x29, 0, ...unsigned(offset));
  const store = (_: Value, __: Value): Value => emit(0x37, 0, 0);

  const half = (to: number, from: number, bits: number) => {
    set(to, add(get(to), get(from)));
    set(from, xor(rotate(get(from), word(bits)), get(to)));
  };
  const rounds = (count: number) => {
    for (; count > 0; count--) {
      half(V0, V1, 13);
      set(V0, rotate(get(V0), word(32)));
      half(V2, V3, 16);
      half(V0, V3, 21);
      half(V2, V1, 17);
      set(V2, rotate(get(V2), word(32)));
    }
  };
  const compress = () => {
    set(V3, xor(get(V3), get(WORD)));
    rounds(2);
    set(V0, xor(get(V0), get(WORD)));
  };

  set(AT, get(FIRST));
  loop();
  for (const [index, local] of [V0, V1, V2, V3].entries()) set(local, wordAt(number(0), 8 * index));
  set(LAST, sum(get(FIRST), sum(numberAt(get(END)), number(-1))));
  set(LENGTH, wide(difference(get(LAST), get(AT))));
  set(LAST, sum(get(AT), masked(difference(get(LAST), get(AT)), number(-8))));
  loop();
  ifSo(less(get(AT), get(LAST)));
  set(WORD, wordAt(get(AT)));
  compress();
  move(AT, 8);
  again(1);
  end();
  end();
  const bitsLeft = () => shift(and(get(LENGTH), word(7)), word(3));
  const bytesLeft = () => and(wordAt(get(LAST)), subtract(shift(word(1), bitsLeft()), word(1)));
  set(WORD, or(bytesLeft(), shift(get(LENGTH), word(56))));
  compress();
  set(V2, xor(get(V2), word(0xff)));
  rounds(4);
  store(get(HASH), xor(xor(get(V0), get(V1)), xor(get(V2), get(V3))));
  set(AT, sum(get(FIRST), numberAt(get(END))));
  move(END, 4);
  move(HASH, 8);
  move(LEFT, -1);
  againUnlessZero(get(LEFT));
  end();
  end();
  const locals = [[2, I32] as const, [6, I64] as const];
  return wasmModule({ parameters: 4, locals, code });
}
