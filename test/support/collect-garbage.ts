/**
 * Collects garbage to free shared memory. V8 does not count such memory, so it would not free it soon by
 * itself.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Less memory is not worth the time, which is about 10 ms. */
const WORTH_BYTES = 16 * 1024 * 1024;

/** @param bytes of shared memory that nothing refers to anymore */
export function collectGarbage(bytes: number): void {
  if (bytes < WORTH_BYTES) return;
  // V8 defines `gc` in every context that is created while this flag is set.
  setFlagsFromString('-expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('-no-expose-gc');
  if (typeof collect === 'function') collect();
}
