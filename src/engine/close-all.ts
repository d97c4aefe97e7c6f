/**
 * Closes all of them in order, even if some fail.
 * @throws the first error, once all are closed
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
