/** Limits what V8 optimizes on Node 20. Later versions of Node decide in another way. */
import { setFlagsFromString } from 'node:v8';

/**
 * Compiles WebAssembly so that it is never optimized. The HTTP parser of undici is one large function. Node
 * 20 optimizes it after a few replies, which takes 100 ms of processor time and 30 MB: more than it saves.
 * Everything is compiled at once, because functions that are compiled later would be optimized. Afterwards,
 * the flags are reset, because V8 rejects cached code that was compiled with other flags, including Node's
 * own.
 */
export function withoutOptimizing(compile: () => void): void {
  const set = (prefix: '' | 'no-'): void => {
    for (const flag of ['wasm-dynamic-tiering', 'wasm-tier-up', 'wasm-lazy-compilation']) {
      setFlagsFromString(`--${prefix}${flag}`);
    }
  };
  set('no-');
  try {
    compile();
  } finally {
    set('');
  }
}

/**
 * How many bytes of bytecode a function runs before V8 considers optimizing it: the default of Node 20, and
 * ours.
 */
const USUAL = 67_584;
const MORE = 1_000_000;

/**
 * Makes V8 optimize fewer functions. Each thread optimizes on its own: 370 functions in a run of a million
 * rows. Most of them never save the time that optimizing took. With the larger budget, there are 130. While
 * it is set, V8 rejects cached code that was compiled with the default (bin/load.js).
 * @returns a function that restores the default
 */
export function optimizeLess(): () => void {
  const set = (bytes: number): void => setFlagsFromString(`--interrupt-budget=${bytes}`);
  set(MORE);
  return () => set(USUAL);
}
