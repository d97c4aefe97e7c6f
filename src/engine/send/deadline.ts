import type { Clock } from '../clock.js';
import { formatDuration } from '../duration.js';
import { WaitTimeoutError } from '../errors.js';

/** A signal that is aborted when `stop` is, or with a `WaitTimeoutError` when the time is over. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #cleared = new AbortController();

  /** @param ms milliseconds from now; null for no limit */
  constructor(ms: number | null, { clock, stop }: { clock: Clock; stop: AbortSignal }) {
    if (ms === null) {
      this.signal = stop;
      return;
    }
    const over = new AbortController();
    this.signal = AbortSignal.any([stop, over.signal]);
    clock.sleep(ms, this.#cleared.signal).then(
      () =>
        over.abort(
          new WaitTimeoutError(`timed out after ${formatDuration(ms)}; jobs that were submitted continue`),
        ),
      () => {}, // cleared
    );
  }

  /** Stops the timer. */
  clear(): void {
    this.#cleared.abort();
  }
}
