/**
 * Calls all closers in order, even if some fail.
 * @throws the first error, after all were called
 */
export async function closeAll(closers: Iterable<() => unknown>): Promise<void> {
  const errors: unknown[] = [];
  for (const close of closers) {
    try {
      await close();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
