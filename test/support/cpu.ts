/**
 * How many times as much processor time ten times the work takes: about 10 where time grows with the work, about 100
 * where it grows with its square. A ratio of two measurements says the same on a slow machine and on a busy one.
 */
export async function growth(work: (size: number) => unknown, size: number): Promise<number> {
  const cpuMs = async (amount: number): Promise<number> => {
    const before = process.cpuUsage();
    await work(amount);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  await cpuMs(size); // compiles it
  const small = await cpuMs(size);
  // What takes less than this is noise.
  return (await cpuMs(10 * size)) / Math.max(small, 5);
}
