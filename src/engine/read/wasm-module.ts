/** Assembles WebAssembly modules with one function `r` and one memory `m`, when they are needed. */

/** A value on the stack. Arguments are evaluated first, so their code comes before the code that uses them. */
export type Value = undefined;

/** The instructions that both modules use. `number`, `sum`, and `less` are 32-bit. */
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
    /** Jumps to the beginning of the loop `depth` blocks out. */
    again: (depth: number): Value => emit(0x0c, depth),
    againUnlessZero: (_: Value): Value => emit(0x0d, 0),
    end: (): Value => emit(0x0b),
  };
}

/** Value types. */
export const [I32, I64, V128] = [0x7f, 0x7e, 0x7b] as const;

interface WasmFunction {
  /** Number of parameters, all 32-bit. The function returns nothing. */
  parameters: number;
  /** The locals after the parameters: how many of which type. */
  locals: readonly (readonly [count: number, type: number])[];
  code: readonly number[];
}

/** The part that is used here. Node's types do not include it. */
interface WebAssemblyApi {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: WasmExports };
}

export interface WasmExports {
  r: (...parameters: number[]) => void;
  m: { readonly buffer: ArrayBuffer; grow: (pages: number) => void };
}

/** @throws TypeError and other errors if there is no WebAssembly, or it does not support the code */
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
    ...section(7, [2, 1, 0x6d, 2, 0, 1, 0x72, 0, 0]), // the names of `m` and `r`
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ]);
}

const section = (id: number, content: readonly number[]): number[] => [
  id,
  ...unsigned(content.length),
  ...content,
];

/** LEB128: seven bits per byte, lowest first. */
export function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >> 7)];
}

/** Signed LEB128: the highest of the last byte's seven bits is the sign. */
export function signed(value: number): number[] {
  return value >> 6 === value >> 7 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
