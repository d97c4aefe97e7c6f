import { InterruptedError, type ProfilesError, WaitTimeoutError } from '../errors.js';
import type { Clock } from '../util/clock.js';
import { formatDuration } from '../util/duration.js';

/** A signal that is aborted when `stop` is, or with a `WaitTimeoutError` when the time is over. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #cleared = new AbortController();
  readonly #stop: AbortSignal;

  /** @param ms milliseconds from now; null for no limit */
  constructor(ms: number | null, { clock, stop }: { clock: Clock; stop: AbortSignal }) {
    this.#stop = stop;
    const over = new AbortController();
    this.signal = ms === null ? stop : AbortSignal.any([stop, over.signal]);
    if (ms === null) return;
    const message = `timed out after ${formatDuration(ms)}; jobs that were submitted continue`;
    const end = (): void => over.abort(new WaitTimeoutError(message));
    clock.sleep(ms, this.#cleared.signal).then(end, () => {}); // it was cleared
  }

  /** The error of a session that the signal has ended. */
  get failure(): ProfilesError {
    const { reason } = this.signal;
    return reason instanceof WaitTimeoutError ? reason : InterruptedError.of(this.#stop);
  }

  /** Stops the timer. */
  clear(): void {
    this.#cleared.abort();
  }
}
