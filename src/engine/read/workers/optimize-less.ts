/** Leaves it to fewer functions to be optimized, where V8 is quick with that. */
import { setFlagsFromString } from 'node:v8';

/** Node 20. Later versions have another measure. */
const IS_QUICK = process.versions.v8.startsWith('11.');

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
  const set = (bytes: number): void => {
    if (IS_QUICK) setFlagsFromString(`-interrupt-budget=${bytes}`);
  };
  set(MORE);
  return () => set(USUAL);
}
