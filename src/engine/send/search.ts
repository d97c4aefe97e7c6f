/**
 * The searches for rows at fault of one sender. No search begins if several requests failed alike and none completed: then
 * single rows are not the cause.
 */
import { placeOf, placeText, type RequestRecord } from '../model/requests.js';
import { isCompleted, type RunRequests } from '../model/run-requests.js';
import { count, grouped, sum } from '../util/numbers.js';
import { type DeliverDeps, pathsOf } from './follow.js';
import { failureOf, mayIsolate } from './next.js';

/** What the searches of one sender share. */
export class Searches {
  /** Number of failed requests by failure (`failureOf`). */
  readonly alike = new Map<string | null, number>();
  /** Each running search, until it has ended. */
  readonly underWay = new Set<Promise<void>>();
  /** Whether it was said that none begins. */
  isGivenUp = false;
}

/** The searches within the rows of one request. */
export class Search {
  readonly #allowed = new Set<number>();
  #isTold = false;
  /** Dependencies of requests that are sent for the search. */
  readonly deps: DeliverDeps;
  /** Call this when it has ended. */
  close = (): void => {};

  constructor(
    private readonly all: Searches,
    private readonly seq: number,
    private readonly given: DeliverDeps,
  ) {
    this.deps = {
      ...given,
      emit: (event) => given.emit(event.type === 'job' ? { ...event, searching: true as const } : event),
    };
  }

  /**
   * Whether a search may begin. Waits for running searches: if one completes a request, single rows are at
   * fault. Says once that none begins.
   * @param source the request that failed
   */
  async mayBegin(source: RequestRecord): Promise<boolean> {
    if (this.#allowed.has(source.seq)) return true;
    // A search that waits for others is not one that others wait for, nor one that it waits for itself.
    this.close();
    const { alike, underWay } = this.all;
    const failure = failureOf(source);
    const failed = (alike.get(failure) ?? 0) + 1;
    alike.set(failure, failed);
    while (!mayIsolate(failed, this.given.requests)) {
      if (underWay.size === 0) {
        this.#giveUp();
        return false;
      }
      await Promise.race(underWay);
    }
    const ended = new Promise<void>((resolve) => {
      this.close = () => {
        underWay.delete(ended);
        resolve();
      };
    });
    underWay.add(ended);
    this.#allowed.add(source.seq);
    return true;
  }

  #giveUp(): void {
    if (this.all.isGivenUp) return;
    this.all.isGivenUp = true;
    const message =
      'did not look for the rows at fault: no request of this run has completed, and three or more failed in the same way; the service or the mapping is at fault';
    this.given.emit({ type: 'warning', message, problem: { code: 'isolation_not_started' } });
  }

  /** Says once that the rows at fault are looked for. */
  tell(): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.given.emit({ type: 'notice', message: `looking for the rows at fault in ${this.#where}` });
  }

  /** Says what it has found. */
  tellEnd(root: RequestRecord): void {
    if (!this.#isTold) return;
    this.given.emit({ type: 'notice', message: `${this.#where}: ${foundIn(root, this.given.requests)}` });
  }

  get #where(): string {
    return placeText(placeOf(this.given.requests.of(this.seq)!, pathsOf(this.given)));
  }
}

/** `2 rows at fault, 998 completed, 19 requests`. */
function foundIn(root: RequestRecord, requests: RunRequests): string {
  const below = (of: RequestRecord): RequestRecord[] =>
    requests.partsOf(of).flatMap((part) => [part, ...below(part)]);
  const parts = below(root);
  const ends = parts.filter((part) => requests.partsOf(part).length === 0);
  const rowsOf = (is: (r: RequestRecord) => boolean): number => sum(ends.filter(is), ({ rows }) => rows);
  const [atFault, completed] = [rowsOf(({ state }) => state === 'rejected'), rowsOf(isCompleted)];
  const open = rowsOf(() => true) - atFault - completed;
  const sent = parts.filter(({ state }) => state !== 'divided' && state !== 'waiting');
  return [
    atFault === 0 ? 'no row at fault' : `${count(atFault, 'row')} at fault`,
    `${grouped(completed)} completed`,
    ...(open > 0 ? [`${grouped(open)} not sent again`] : []),
    count(sent.length, 'request'),
  ].join(', ');
}
