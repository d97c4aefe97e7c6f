/** Passes values from concurrent tasks to one consumer, as an async iterable. Values wait until they are taken. */
export class Channel<T> {
  #values: T[] = [];
  #wake: (() => void) | undefined;
  #closed = false;

  push(value: T): void {
    this.#values.push(value);
    this.#wake?.();
  }

  /** Ends the iteration after the values that were pushed. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      // All at once: shifting them from the array one by one would take quadratic time.
      const values = this.#values;
      this.#values = [];
      yield* values;
      if (this.#values.length > 0) continue;
      if (this.#closed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}

/** Yields what `source` yields, and calls `see` with each value before. */
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
