/** How much time and memory something takes. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Frees memory that V8 does not count, such as shared memory, which it would not free soon by itself. */
export function collectGarbage(): void {
  // V8 defines `gc` in every context that is created while this flag is set.
  setFlagsFromString('-expose-gc');
  const collect = runInNewContext('globalThis.gc') as () => void;
  setFlagsFromString('-no-expose-gc');
  collect();
}

/**
 * Returns how many times as much processor time ten times the work takes: about 10 if time grows linearly,
 * about 100 if it grows quadratically. A ratio of two measurements is the same on slow and on busy machines.
 */
export async function growth(work: (size: number) => unknown, size: number): Promise<number> {
  const cpuMs = async (amount: number): Promise<number> => {
    const before = process.cpuUsage();
    await work(amount);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  await cpuMs(size); // warms up the compiler
  const small = await cpuMs(size);
  // Less than 5 ms cannot be measured.
  return (await cpuMs(10 * size)) / Math.max(small, 5);
}
