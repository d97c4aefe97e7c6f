/** What V8 of Node 20 is kept from optimizing. Later versions have another measure. */
import { setFlagsFromString } from 'node:v8';

/**
 * The client's HTTP parser is one large function of WebAssembly. Node 20 optimizes it after a few replies, which takes
 * 100 ms of processor time and 30 MB, more than faster replies give back. What is compiled in here stays as it is: all
 * of it is compiled at once, since what is compiled later would be optimized. The flags do not stay: V8 refuses code
 * that was kept under other flags, Node's own too.
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

/** Bytecode that a function runs until V8 looks whether to optimize it, in bytes: what is usual, and here. */
const USUAL = 67_584;
const MORE = 1_000_000;

/**
 * Each thread optimizes for itself: in a run of a million rows 370 functions, most of which never give back the time it
 * took. With a larger budget it is 130 (figures: bench/README.md). While it holds, V8 refuses code that was kept under
 * the usual one (bin/load.js).
 * @returns makes it as usual again
 */
export function optimizeLess(): () => void {
  const set = (bytes: number): void => setFlagsFromString(`--interrupt-budget=${bytes}`);
  set(MORE);
  return () => set(USUAL);
}
