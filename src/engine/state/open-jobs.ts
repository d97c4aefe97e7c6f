/** Unfinished jobs of other runs, and which of them hold an id (contract §4 "Across runs"). */
import type { Fingerprints } from './fingerprints.js';
import { IdTable } from './id-table.js';
import type { OpenSend } from './sends.js';

export interface OpenJob {
  job_id: string;
  /** The run that submitted it; null where that is not known. */
  run: string | null;
}

export class OpenJobs {
  /** From an id to the place of the newest job that holds it, counted from 1. */
  readonly #holders: IdTable;
  readonly #jobs: OpenJob[];

  /** @param stamp as long as it is the same, so are the jobs */
  constructor(
    readonly stamp: string,
    sends: readonly OpenSend[],
    fingerprints: Fingerprints,
  ) {
    this.#jobs = sends.map(({ job, run }) => ({ job_id: job!, run }));
    this.#holders = new IdTable(fingerprints.countOf(sends.map(({ send }) => send)));
    for (const [index, { send }] of sends.entries()) {
      for (const id of fingerprints.of(send).ids) this.#holders.set(id, index + 1);
    }
  }

  /**
   * Jobs that hold one of these ids, oldest first. Where several hold one id, the newest: the others are found once
   * that has ended.
   */
  holding(ids: BigUint64Array): OpenJob[] {
    if (this.#holders.size === 0) return [];
    const found = new Set<number>();
    for (const id of ids) found.add(this.#holders.get(id));
    found.delete(0);
    const jobs = [...found].sort((a, b) => a - b).map((place) => this.#jobs[place - 1]!);
    return [...new Map(jobs.map((job) => [job.job_id, job])).values()];
  }
}

/** What others have sent since a run read its data. */
export class LaterSends {
  readonly #last = new IdTable();

  constructor(
    private readonly sends: readonly { send: number; run: string }[],
    fingerprints: Fingerprints,
  ) {
    for (const [index, { send }] of sends.entries()) {
      for (const id of fingerprints.of(send).ids) this.#last.set(id, index + 1);
    }
  }

  /** Who sent this id last, after the send of that number; null where nobody did. */
  by(id: bigint, after: number): string | null {
    const place = this.#last.get(id);
    if (place === 0) return null;
    const { send, run } = this.sends[place - 1]!;
    return send > after ? run : null;
  }
}
