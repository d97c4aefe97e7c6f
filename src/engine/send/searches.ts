/**
 * Searches for the rows at fault, and whether one may begin (contract §4 "The rows at fault"): not if so many requests
 * failed alike, and none completed, that single rows are not the cause. How a search continues is in `narrow.ts`.
 */
import type { RequestRecord } from '../state/requests.js';
import { type Failed, rejectWhole } from './deliver.js';
import type { DeliverDeps } from './follow.js';
import { failureOf, mayIsolate } from './isolate.js';
import { narrow } from './narrow.js';

/** The searches of one sender. They share how many requests failed, and how. */
export class Searches {
  /** How many requests failed in each way. */
  readonly #alike = new Map<string | null, number>();
  /** Each resolves when a search has ended. */
  readonly #underWay = new Set<Promise<void>>();
  #isGivenUp = false;

  /** Carries out what is left to do for a request that failed, unless no search for its rows at fault may begin. */
  async search(failed: Failed, deps: DeliverDeps): Promise<void> {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    try {
      const began = await narrow(failed, deps, async () => {
        const may = await this.#mayBegin(failed.root, deps);
        if (may) this.#underWay.add(ended);
        return may;
      });
      if (!began) await this.#giveUp(failed, deps);
    } finally {
      this.#underWay.delete(ended);
      end();
    }
  }

  /** Whether a search may begin. Waits for searches under way: one that completes a request shows that rows are at fault. */
  async #mayBegin(root: RequestRecord, { records }: DeliverDeps): Promise<boolean> {
    const failure = failureOf(root);
    const alike = (this.#alike.get(failure) ?? 0) + 1;
    this.#alike.set(failure, alike);
    while (!mayIsolate(alike, records)) {
      if (this.#underWay.size === 0) return false;
      await Promise.race(this.#underWay);
    }
    return true;
  }

  /** So many requests failed alike, and none completed, that single rows are not the cause. */
  async #giveUp(failed: Failed, deps: DeliverDeps): Promise<void> {
    if (!this.#isGivenUp) {
      deps.emit({
        type: 'warning',
        message:
          'did not look for the rows at fault: no request of this run has completed, and three or more failed in the same way; the service or the mapping is at fault',
        problem: { code: 'isolation_not_started' },
      });
    }
    this.#isGivenUp = true;
    if (failed.error) await rejectWhole(failed, deps, deps.options.continueOnError);
  }
}
