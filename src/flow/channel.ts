/**
 * Carries values from tasks that run side by side into one async generator, for one consumer. Unbounded: what is sent
 * through are a few events a request, and the requests themselves are bounded.
 */
export class Channel<T> {
  #values: T[] = [];
  #wake: (() => void) | undefined;
  #closed = false;

  push(value: T): void {
    this.#values.push(value);
    this.#wake?.();
  }

  /** No more values; what was pushed is still read. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      // Taken together: to shift them off one by one takes a time that grows with the square of their number.
      const values = this.#values;
      this.#values = [];
      for (const value of values) yield value;
      if (this.#values.length > 0) continue;
      if (this.#closed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}

/** Passes everything on, and shows each value to `see` first. */
export async function* tap<T, R>(
  source: AsyncGenerator<T, R>,
  see: (value: T) => void,
): AsyncGenerator<T, R> {
  try {
    for (;;) {
      const next = await source.next();
      if (next.done) return next.value;
      see(next.value);
      yield next.value;
    }
  } finally {
    await source.return(undefined as R);
  }
}
