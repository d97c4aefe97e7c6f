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
