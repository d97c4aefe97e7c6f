/** When a search for rows at fault may begin: several of them look at the same failures (contract §4 "The rows at fault"). */
import type { RequestRecord } from '../model/requests.js';
import { failureOf, mayIsolate } from './next.js';
import type { DeliverDeps } from './request-record.js';

/** The searches of one sender. */
export class Searches {
  /** Number of failed requests by failure (`failureOf`). */
  readonly #alike = new Map<string | null, number>();
  /** Each running search, until it has ended. */
  readonly #underWay = new Set<Promise<void>>();
  /** Whether it was said that none begins. */
  #isGivenUp = false;

  /**
   * Begins a search. Waits for running ones: if one completes a request, single rows are at fault. Says once that none
   * begins.
   * @param source the request that failed
   * @returns what ends the search; null if none may begin
   */
  async begin(
    source: RequestRecord,
    { requests, emit }: Pick<DeliverDeps, 'requests' | 'emit'>,
  ): Promise<(() => void) | null> {
    const failure = failureOf(source);
    const failed = (this.#alike.get(failure) ?? 0) + 1;
    this.#alike.set(failure, failed);
    while (!mayIsolate(failed, requests)) {
      if (this.#underWay.size > 0) {
        await Promise.race(this.#underWay);
        continue;
      }
      if (!this.#isGivenUp) emit(NOT_STARTED);
      this.#isGivenUp = true;
      return null;
    }
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#underWay.add(ended);
    return () => {
      this.#underWay.delete(ended);
      end();
    };
  }
}

const NOT_STARTED = {
  type: 'warning',
  message:
    'did not look for the rows at fault: no request of this run has completed, and three or more failed in the same way; the service or the mapping is at fault',
  problem: { code: 'isolation_not_started' },
} as const;
