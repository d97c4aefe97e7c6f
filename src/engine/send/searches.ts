/**
 * Begins searches for the rows at fault (contract §4 "The rows at fault"), unless several requests failed
 * alike and none completed: then single rows are not the cause. `narrow.ts` carries out a search.
 */
import type { RequestRecord } from '../state/requests.js';
import { type Failed, rejectWhole } from './deliver.js';
import type { DeliverDeps } from './follow.js';
import { failureOf, mayIsolate } from './isolate.js';
import { narrow } from './narrow.js';

/** The searches of one sender, with the totals of failures that they share. */
export class Searches {
  /** Number of failed requests by failure (`failureOf`). */
  readonly #alike = new Map<string | null, number>();
  /** A promise for each running search, which resolves when it has ended. */
  readonly #underWay = new Set<Promise<void>>();
  #isGivenUp = false;

  /**
   * Does what is left to do for a failed request. If a search may not begin, a refused request ends the run,
   * or with `onFailure: 'continue'` its rows are rejected.
   */
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

  /**
   * Whether a search may begin. Waits for running searches: if one completes a request, single rows are at
   * fault.
   */
  async #mayBegin(root: RequestRecord, { requests }: DeliverDeps): Promise<boolean> {
    const failure = failureOf(root);
    const alike = (this.#alike.get(failure) ?? 0) + 1;
    this.#alike.set(failure, alike);
    while (!mayIsolate(alike, requests)) {
      if (this.#underWay.size === 0) return false;
      await Promise.race(this.#underWay);
    }
    return true;
  }

  /**
   * Reports once that no search begins, and rejects the rows of a refused request or ends the run.
   * @throws ServiceError
   */
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
    if (failed.error) await rejectWhole(failed, deps, deps.options.onFailure === 'continue');
  }
}
