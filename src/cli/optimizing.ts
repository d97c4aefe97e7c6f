/** Limits what V8 optimizes on Node 20. Later versions decide by other measures. */
import { setFlagsFromString } from 'node:v8';

/**
 * The client's HTTP parser is one large WebAssembly function. Node 20 optimizes it after a few replies, which takes
 * 100 ms of processor time and 30 MB, more than faster replies save. What is compiled in here is never optimized; all
 * of it is compiled at once, because functions that are compiled later would be. The flags are reset after that,
 * because V8 refuses cached code that was compiled with other flags, including Node's own.
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

/** How many bytes of bytecode a function runs before V8 considers optimizing it: the default, and ours. */
const USUAL = 67_584;
const MORE = 1_000_000;

/**
 * Each thread optimizes separately: 370 functions in a run of a million rows, most of which never save the time that
 * it took. With a larger budget, it is 130 (figures: bench/README.md). Meanwhile, V8 refuses cached code that was
 * compiled with the default (bin/load.js).
 * @returns a function that restores the default
 */
export function optimizeLess(): () => void {
  const set = (bytes: number): void => setFlagsFromString(`--interrupt-budget=${bytes}`);
  set(MORE);
  return () => set(USUAL);
}
