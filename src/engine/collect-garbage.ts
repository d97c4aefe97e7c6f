/** For memory that threads have shared: V8 does not count it, so it would stay until garbage is collected for another reason. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Less is not worth some ten milliseconds. */
const WORTH_BYTES = 16 * 1024 * 1024;

/** @param bytes that nothing refers to any more */
export function collectGarbage(bytes: number): void {
  if (bytes < WORTH_BYTES) return;
  // Node offers it to programs that were started with this flag, V8 to every context that is made while it is set.
  setFlagsFromString('-expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('-no-expose-gc');
  if (typeof collect === 'function') collect();
}
