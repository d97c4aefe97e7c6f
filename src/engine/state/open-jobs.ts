/** Finds unfinished jobs, and later sends, by the ids of their rows (contract §4 "Across runs"). */

import type { Reader } from './database.js';
import { IdTable } from './id-table.js';
import { rowsOfEach } from './rows.js';

/** An open send. `job` is null if it is only in doubt. */
export interface OpenSend {
  send: number;
  run: string | null;
  job: string | null;
  /** Number of its rows. */
  rows: number;
}

export const rowsIn = (sends: readonly OpenSend[]): number => sends.reduce((sum, { rows }) => sum + rows, 0);

export interface OpenJob {
  job_id: string;
  /** The run that submitted it; null if it is not known. */
  run: string | null;
}

/** Unfinished jobs by id. Takes 8 bytes of memory for each row of the jobs, and 16 to 32 for each id. */
export class OpenJobs {
  /** For each id: its last row, counted from 1. */
  readonly #last: IdTable;
  /** For each row: the previous row with the same id (0: none), and the index of its job. */
  readonly #before: Uint32Array;
  readonly #jobOf: Uint32Array;
  readonly #jobs: OpenJob[];
  readonly #ended = new Set<number>();

  private constructor(sends: readonly OpenSend[]) {
    const rows = rowsIn(sends);
    this.#jobs = sends.map(({ job, run }) => ({ job_id: job!, run }));
    this.#last = new IdTable(rows);
    this.#before = new Uint32Array(rows + 1);
    this.#jobOf = new Uint32Array(rows + 1);
  }

  static async read(on: Reader, sends: readonly OpenSend[]): Promise<OpenJobs> {
    const numbers = sends.map(({ send }) => send);
    const open = new OpenJobs(sends);
    let row = 0;
    let job = 0;
    for await (const { ids } of rowsOfEach(on, numbers)) {
      for (const id of ids) open.#add(++row, id, job);
      job++;
    }
    return open;
  }

  #add(row: number, id: bigint, job: number): void {
    this.#before[row] = this.#last.get(id);
    this.#jobOf[row] = job;
    this.#last.set(id, row);
  }

  /** Jobs with one of these ids, oldest first. */
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

  /** Removes a job that has ended. */
  end(job_id: string): void {
    for (const [job, open] of this.#jobs.entries()) if (open.job_id === job_id) this.#ended.add(job);
  }
}

interface LaterSend {
  send: number;
  run: string;
  /** Its position, for `by`. Default: the number of the send. */
  place?: number;
}

/** Sends that are later than the data of a run, by id. */
export class LaterSends {
  readonly #last = new IdTable();

  private constructor(private readonly sends: readonly LaterSend[]) {}

  /**
   * @param sends in the order of their positions
   * @param verified ids that runs found unchanged, by the numbers of these runs
   */
  static async read(
    on: Reader,
    sends: readonly LaterSend[],
    verified: readonly (LaterSend & { ids: BigUint64Array })[] = [],
  ): Promise<LaterSends> {
    const later = new LaterSends([...sends, ...verified]);
    const numbers = sends.map(({ send }) => send);
    let place = 0;
    for await (const { ids } of rowsOfEach(on, numbers)) {
      place++;
      for (const id of ids) later.#last.set(id, place);
    }
    place = sends.length;
    for (const { send, ids } of verified) {
      place++;
      for (const id of ids) {
        const last = later.#last.get(id);
        if (last === 0 || later.sends[last - 1]!.send < send) later.#last.set(id, place);
      }
    }
    return later;
  }

  get isEmpty(): boolean {
    return this.#last.size === 0;
  }

  /** The run that sent this id last, if that was after this position; otherwise null. */
  by(id: bigint, after: number): string | null {
    const place = this.#last.get(id);
    if (place === 0) return null;
    const { send, run, place: at = send } = this.sends[place - 1]!;
    return at > after ? run : null;
  }
}
