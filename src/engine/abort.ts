/** Waiting that a signal ends. */

/** The value, unless the signal is aborted before it comes. @throws the signal's reason */
export async function orAborted<T>(value: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return value;
  signal.throwIfAborted();
  let leave = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason);
  });
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
