/** WebAssembly modules that have one function `r` and one memory `m`: written in the order of the source, assembled when needed. */

/** A value on the stack. Arguments are evaluated first, so the code that makes them stands before that which takes them. */
export type Value = undefined;

/** What code of both modules is written with. `number`, `sum` and `less` are of 32 bits. */
export function assembler() {
  const code: number[] = [];
  const emit = (...bytes: number[]): Value => void code.push(...bytes);
  return {
    code: code as readonly number[],
    emit,
    get: (local: number): Value => emit(0x20, local),
    set: (local: number, _: Value): Value => emit(0x21, local),
    number: (value: number): Value => emit(0x41, ...signed(value)),
    sum: (_: Value, __: Value): Value => emit(0x6a),
    less: (_: Value, __: Value): Value => emit(0x48),
    ifSo: (_: Value): Value => emit(0x04, 0x40),
    loop: (): Value => emit(0x03, 0x40),
    /** To the beginning of the loop that is so many blocks around. */
    again: (depth: number): Value => emit(0x0c, depth),
    againUnlessZero: (_: Value): Value => emit(0x0d, 0),
    end: (): Value => emit(0x0b),
  };
}

/** Types of values. */
export const [I32, I64, V128] = [0x7f, 0x7e, 0x7b] as const;

interface WasmFunction {
  /** How many it takes, all of them 32-bit numbers. It returns nothing. */
  parameters: number;
  /** How many of which type come after these. */
  locals: readonly (readonly [count: number, type: number])[];
  code: readonly number[];
}

/** As far as it is used; Node's types do not describe it. */
interface WebAssemblyApi {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: WasmExports };
}

export interface WasmExports {
  r: (...parameters: number[]) => void;
  m: { readonly buffer: ArrayBuffer; grow: (pages: number) => void };
}

/** @throws TypeError and others where there is no WebAssembly, or it does not know the code */
export function instantiate(module: Uint8Array): WasmExports {
  const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;
  return new Instance(new Module(module)).exports;
}

/** @returns the module, with a memory of 64 KiB that can grow */
export function wasmModule({ parameters, locals, code }: WasmFunction): Uint8Array<ArrayBuffer> {
  const body = [locals.length, ...locals.flat(), ...code];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, parameters, ...new Array(parameters).fill(I32), 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, [2, 1, 0x6d, 2, 0, 1, 0x72, 0, 0]), // their names
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ]);
}

const section = (id: number, content: readonly number[]): number[] => [
  id,
  ...unsigned(content.length),
  ...content,
];

/** LEB128: seven bits a byte, the lowest first. */
export function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >> 7)];
}

/** The same for numbers with a sign: the last byte's highest bit. */
export function signed(value: number): number[] {
  return value >> 6 === value >> 7 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
