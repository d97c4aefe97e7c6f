/** The requests of a run as one object with indexes, which is made once. Whoever adds or changes a request tells it. */
import { requestStatus } from '../states.js';
import type { RequestRecord } from './requests.js';

export class RunRequests {
  /** In the order of their numbers. */
  readonly all: RequestRecord[] = [];
  /** By number: the place in `all`. */
  readonly #places = new Map<number, number>();
  /** By number: the numbers of those that send its rows again. */
  readonly #parts = new Map<number, number[]>();
  #hasCompleted = false;

  constructor(records: readonly RequestRecord[] = []) {
    this.add(...records);
  }

  /** The number of the next request. */
  get next(): number {
    return (this.all.at(-1)?.seq ?? 0) + 1;
  }

  of(seq: number): RequestRecord | undefined {
    return this.all[this.#places.get(seq) ?? -1];
  }

  add(...records: readonly RequestRecord[]): void {
    for (const record of records) {
      const { seq, parent } = record;
      this.#places.set(seq, this.all.push(record) - 1);
      if (parent === null) continue;
      const parts = this.#parts.get(parent);
      if (parts) parts.push(seq);
      else this.#parts.set(parent, [seq]);
    }
  }

  /** Replaces the request with the same number. */
  replace(record: RequestRecord): void {
    this.all[this.#places.get(record.seq)!] = record;
  }

  /** The requests that send its rows again. */
  partsOf({ seq }: Pick<RequestRecord, 'seq'>): RequestRecord[] {
    return (this.#parts.get(seq) ?? []).map((part) => this.of(part)!);
  }

  /** The request, then the one whose rows it sends again, and so on. */
  chainOf(r: RequestRecord): RequestRecord[] {
    const chain = [r];
    for (let of = r; of.parent !== null; chain.push(of)) of = this.of(of.parent)!;
    return chain;
  }

  /** The requests whose rows no other request sends again. Together, they have the outcome of every row. */
  get ends(): RequestRecord[] {
    return this.#parts.size === 0 ? this.all : this.all.filter(({ seq }) => !this.#parts.has(seq));
  }

  /** Whether the service has all rows of any request. */
  get hasCompleted(): boolean {
    this.#hasCompleted ||= this.all.some(isCompleted);
    return this.#hasCompleted;
  }
}

/** Whether the service has all its rows. */
export const isCompleted = (r: RequestRecord): boolean => r.rows > 0 && requestStatus(r) === 'completed';
