/** Unfinished jobs of other runs, and which of them hold an id (contract §4 "Across runs"). */
import type { Fingerprints } from './fingerprints.js';
import { IdTable } from './id-table.js';
import type { OpenSend } from './sends.js';

export interface OpenJob {
  job_id: string;
  /** The run that submitted it; null where that is not known. */
  run: string | null;
}

/** A row of memory for each row of the jobs: 8 bytes, and 16 to 32 for each id. */
export class OpenJobs {
  /** From an id to the last row that has it, counted from 1. */
  readonly #last: IdTable;
  /** From a row to the one before it that has the same id, and to its job. */
  readonly #before: Uint32Array;
  readonly #jobOf: Uint32Array;
  readonly #jobs: OpenJob[];
  readonly #ended = new Set<number>();

  constructor(sends: readonly OpenSend[], fingerprints: Fingerprints) {
    const rows = fingerprints.countOf(sends.map(({ send }) => send));
    this.#jobs = sends.map(({ job, run }) => ({ job_id: job!, run }));
    this.#last = new IdTable(rows);
    this.#before = new Uint32Array(rows + 1);
    this.#jobOf = new Uint32Array(rows + 1);
    let row = 0;
    for (const [job, { send }] of sends.entries()) {
      for (const id of fingerprints.of(send).ids) {
        row++;
        this.#before[row] = this.#last.get(id);
        this.#jobOf[row] = job;
        this.#last.set(id, row);
      }
    }
  }

  /** Jobs that hold one of these ids, oldest first. */
  holding(ids: BigUint64Array): OpenJob[] {
    if (this.#last.size === 0) return [];
    const found = new Set<number>();
    for (const id of ids) {
      for (let row = this.#last.get(id); row !== 0; row = this.#before[row]!) found.add(this.#jobOf[row]!);
    }
    return [...found]
      .filter((job) => !this.#ended.has(job))
      .sort((a, b) => a - b)
      .map((job) => this.#jobs[job]!);
  }

  /** A job holds nothing any more. */
  end(job_id: string): void {
    for (const [job, open] of this.#jobs.entries()) if (open.job_id === job_id) this.#ended.add(job);
  }
}

/** What others have sent since a run read its data. */
export class LaterSends {
  readonly #last = new IdTable();

  constructor(
    /** In order. `place` is where they are in it, by default the number of the send. */
    private readonly sends: readonly { send: number; run: string; place?: number }[],
    fingerprints: Fingerprints,
  ) {
    for (const [index, { send }] of sends.entries()) {
      for (const id of fingerprints.of(send).ids) this.#last.set(id, index + 1);
    }
  }

  /** Who sent this id last, after that place; null where nobody did. */
  by(id: bigint, after: number): string | null {
    const place = this.#last.get(id);
    if (place === 0) return null;
    const { send, run, place: at = send } = this.sends[place - 1]!;
    return at > after ? run : null;
  }
}
