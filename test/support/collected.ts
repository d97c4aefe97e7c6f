/** All values of an iterable. Node 20 has no `Array.fromAsync`. */
export async function collected<T>(values: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}
