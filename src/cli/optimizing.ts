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
