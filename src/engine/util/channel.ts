/** How many values may wait before `room` makes a sender wait. */
const ROOM = 1_000;

/**
 * Passes values from concurrent tasks to one consumer, as an async iterable. A sender of many values should
 * await `room` after each, so that a slow consumer slows it down. A sender of few values can only push.
 */
export class Channel<T> {
  #values: T[] = [];
  #wake: (() => void) | undefined;
  #closed = false;
  #taken: (() => void)[] = [];
  #waiting = 0;
  /** Whether the consumer has stopped. */
  #left = false;

  push(value: T): void {
    this.#values.push(value);
    this.#waiting++;
    this.#wake?.();
  }

  /** Resolves when fewer than `ROOM` values wait, or the consumer has stopped. */
  async room(): Promise<void> {
    while (this.#waiting >= ROOM && !this.#left)
      await new Promise<void>((resolve) => this.#taken.push(resolve));
  }

  /** Ends the iteration after the values that were pushed. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      yield* this.#drain();
    } finally {
      this.#left = true;
      this.#release(this.#waiting);
    }
  }

  #release(taken: number): void {
    this.#waiting -= taken;
    if (this.#waiting >= ROOM) return;
    for (const resume of this.#taken.splice(0)) resume();
  }

  async *#drain(): AsyncGenerator<T> {
    for (;;) {
      // All at once: shifting them from the array one by one would take quadratic time.
      const values = this.#values;
      this.#values = [];
      for (const value of values) {
        yield value;
        this.#release(1);
      }
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
