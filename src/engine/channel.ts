/** Values that may wait before a sender who asks for `room` is held up. */
const ROOM = 1_000;

/**
 * Carries values from tasks that run side by side into one async generator, for one consumer. A sender of few
 * values just pushes; one of many awaits `room` after each, so that a slow consumer holds it up.
 */
export class Channel<T> {
  #values: T[] = [];
  #wake: (() => void) | undefined;
  #closed = false;
  #taken: (() => void)[] = [];
  #waiting = 0;
  /** The consumer reads no more. */
  #left = false;

  push(value: T): void {
    this.#values.push(value);
    this.#waiting++;
    this.#wake?.();
  }

  /** Resolves when few values wait, or nobody reads any more. */
  async room(): Promise<void> {
    while (this.#waiting >= ROOM && !this.#left)
      await new Promise<void>((resolve) => this.#taken.push(resolve));
  }

  /** No more values; what was pushed is still read. */
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
      // Taken together: to shift them off one by one takes a time that grows with the square of their number.
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
