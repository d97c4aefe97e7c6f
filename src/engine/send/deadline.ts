import type { Clock } from '../clock.js';
import { formatDuration } from '../duration.js';
import { WaitTimeoutError } from '../errors.js';

/** A signal that is aborted when the run is stopped, or with `WaitTimeoutError` when the time to wait is over. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #cleared = new AbortController();

  /** @param ms for the whole run, from now; null for none */
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

  clear(): void {
    this.#cleared.abort();
  }
}
