/** The store of sends: finds them by the ids of their rows (contract §4 "Across runs"), and records single profiles. */
import { IdRows, wordsOf } from '../fingerprints/tables.js';
import type { RequestRecord } from '../model/requests.js';
import { RunRequests } from '../model/run-requests.js';
import type { Kind } from '../model.js';
import { classOf, isInDoubt } from '../states.js';
import { type Access, addScope, nextNumber, refuseMoved, type Scope } from './access.js';
import { type Reader, type Sql, sql } from './database.js';
import { addHistory } from './history.js';
import { requestsOf } from './jobs.js';
import { idsOf, putIds, rowsOf } from './rows.js';
import {
  addSend,
  HAS_JOB,
  hasOlder,
  IDENTIFY,
  isOfKind,
  lastSend,
  newestSend,
  othersSince,
  SEND,
  type SentRows,
  sentRows,
} from './send-table.js';

/** Ids in one verified send. */
const TOGETHER = 100_000;

export interface OpenJob {
  job_id: string;
  /** The run that submitted it; null if it is not known. */
  run: string | null;
}

/** Sends by id. Takes 30 bytes of memory for each row. */
export class SentIds {
  readonly #rows: IdRows;
  /** For each row: the previous row with the same id (0: none), the index of its send, and its content. */
  readonly #before: Uint32Array;
  readonly #sendOf: Uint32Array;
  readonly #contents: BigUint64Array;
  readonly #ended = new Set<string>();

  private constructor(readonly sends: readonly SentRows[]) {
    const rows = sends.reduce((sum, send) => sum + send.rows, 0);
    this.#rows = new IdRows(rows);
    this.#before = new Uint32Array(rows + 1);
    this.#sendOf = new Uint32Array(rows + 1);
    this.#contents = new BigUint64Array(rows + 1);
  }

  /** @param sends oldest first, by `place` */
  static async read(on: Reader, sends: readonly SentRows[]): Promise<SentIds> {
    const read = new SentIds(sends);
    let index = 0;
    const numbers = sends.map(({ send }) => send);
    for await (const { ids, contents } of rowsOf(on, numbers)) {
      const first = read.#rows.size + 1;
      read.#contents.set(contents, first);
      read.#sendOf.fill(index++, first, first + ids.length);
      const words = wordsOf(ids);
      for (let at = 0; at < ids.length; at++)
        read.#before[first + at] = read.#rows.add(words[2 * at]!, words[2 * at + 1]!);
    }
    return read;
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0;
  }

  /** The run that sent this id last, if that was after this place; otherwise null. */
  by(id: bigint, after: number): string | null {
    const row = this.#rows.rowOf(id);
    if (row === 0) return null;
    const { place, run } = this.sends[this.#sendOf[row]!]!;
    return place > after ? run : null;
  }

  /** Whether the service may still give the id another content: one of an unfinished job, or another one. */
  conflicts(id: bigint, content: bigint): boolean {
    for (let row = this.#rows.rowOf(id); row !== 0; row = this.#before[row]!) {
      if (this.sends[this.#sendOf[row]!]!.job_id !== null || this.#contents[row] !== content) return true;
    }
    return false;
  }

  /** Unfinished jobs with one of these ids, oldest first. */
  holding(ids: BigUint64Array): OpenJob[] {
    if (this.isEmpty) return [];
    const found = new Set<number>();
    for (const id of ids) {
      for (let row = this.#rows.rowOf(id); row !== 0; row = this.#before[row]!) found.add(this.#sendOf[row]!);
    }
    return this.sends
      .filter(({ job_id }, index) => found.has(index) && !this.#ended.has(job_id!))
      .map(({ job_id, run }) => ({ job_id: job_id!, run }));
  }

  /** Removes a job that has ended. */
  end(job_id: string): void {
    this.#ended.add(job_id);
  }
}

export class Sends {
  /** What was found last in a session for a run and kind (`#unlessSame`). */
  readonly #last = new Map<string, { newest: number; found: SentIds }>();

  constructor(
    private readonly access: Access,
    private readonly check: () => void,
  ) {}

  /** The number of the last send of a request; 0 if there is none. */
  last(run: string, seq: number): Promise<number> {
    return this.access.db.read((on) => lastSend(on, run, seq));
  }

  /** Keyed hashes of the ids in the last send of a request, in the order of its rows. */
  idsOf(run: string, seq: number): Promise<BigUint64Array> {
    return this.access.db.read(async (on) => idsOf(on, await lastSend(on, run, seq)));
  }

  /**
   * Ids that a run may have sent, each with the request whose answer was lost. Of a request that was divided, the parts
   * decide: what has arrived with one of them is in doubt no longer.
   */
  inDoubt(run: string, kind: Kind): Promise<Map<bigint, RequestRecord>> {
    return this.access.db.read(async (on) => {
      const requests = new RunRequests(await requestsOf(on, run));
      const sends = await on.all<{ seq: number; send: number }>(
        sql`SELECT seq, max(send) AS send FROM sends
          WHERE run = ${run} AND kind = ${kind} AND seq IS NOT NULL GROUP BY seq`,
      );
      const last = new Map(sends.map(({ seq, send }) => [seq, send]));
      const idsIn = ({ seq }: RequestRecord) => idsOf(on, last.get(seq) ?? 0);
      const found = new Map<bigint, RequestRecord>();
      const { ends } = requests;
      for (const end of ends) {
        const { rows, by } = classOf(requests.chainOf(end));
        const isLost = isInDoubt(end);
        if (rows !== 'unknown' && !isLost) continue;
        const isSent = last.has(end.seq);
        const ids = new Set(await idsIn(isSent ? end : by));
        // Of a part that was not sent, they are what those that were sent leave of the whole.
        const parts = isSent ? [] : ends.filter((part) => requests.chainOf(part).includes(by));
        for (const part of parts) for (const id of await idsIn(part)) ids.delete(id);
        for (const id of ids) found.set(id, isLost ? end : by);
      }
      return found;
    });
  }

  /**
   * Finds ids that other runs have sent, or found unchanged, with newer data than that of this run. The run of a plan
   * that was made with another state may have the same number as an earlier run: then the ids of the runs decide, which
   * begin with a time in seconds.
   */
  later(run: string, scope: Scope, kind: Kind): Promise<SentIds> {
    const where = sql`run <> ${run}
      AND (began, CASE run WHEN ${IDENTIFY} THEN '' ELSE run END) > (SELECT began, run FROM runs WHERE run = ${run})
      AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.run = sends.run AND requests.seq = sends.seq
        AND requests.state IN ('withdrawn', 'divided'))`;
    return this.#unlessSame('later', scope, kind, run, where);
  }

  /** Finds unfinished jobs of other runs, with the ids of their rows. @param run null: jobs of all runs */
  openJobs(scope: Scope, kind: Kind, run: string | null): Promise<SentIds> {
    return this.#unlessSame('open', scope, kind, run, sql`${HAS_JOB} AND run IS DISTINCT FROM ${run ?? ''}`);
  }

  /**
   * Finds ids that this run has sent.
   * @param placeOf returns the position of a request by its number; 0: the request does not count
   */
  byRun(run: string, scope: Scope, kind: Kind, placeOf: (seq: number) => number): Promise<SentIds> {
    // Sends that the service may have carried out.
    const where = sql`${isOfKind(scope, kind)} AND run = ${run} AND EXISTS (SELECT 1 FROM requests
      WHERE requests.run = sends.run AND requests.seq = sends.seq
        AND requests.state IN ('intent', 'unknown', 'acknowledged', 'settled'))`;
    return this.access.db.read(async (on) => {
      const sends = await on.all<SentRows & { seq: number }>(sentRows(where));
      const placed = sends.map((send) => ({ ...send, place: placeOf(send.seq) }));
      placed.sort((a, b) => a.place - b.place || a.send - b.send);
      return SentIds.read(
        on,
        placed.filter(({ place }) => place > 0),
      );
    });
  }

  /** Finds it again only if others have sent something since the last time: reading the rows of sends takes long. */
  #unlessSame(what: string, scope: Scope, kind: Kind, run: string | null, where: Sql): Promise<SentIds> {
    return this.access.db.read(async (on) => {
      const key = JSON.stringify([what, scope, kind, run, this.access.session]);
      const last = this.#last.get(key);
      const newest = await newestSend(on, scope, kind);
      const isSame = last && (await othersSince(on, last.newest, { scope, kind, run })).length === 0;
      const find = sql`${sentRows(sql`${isOfKind(scope, kind)} AND ${where}`)} ORDER BY send`;
      const found = isSame ? last.found : await SentIds.read(on, await on.all<SentRows>(find));
      this.#last.set(key, { newest, found });
      return found;
    });
  }

  /**
   * Records a profile that is about to be sent outside an import (`identify`). Its content is not remembered, because it
   * is not built like that of an import. Its outcome is in doubt until `endProfile`, or until its job is recorded.
   * @returns the number of the send
   */
  async startProfile(scope: Scope, kind: Kind, ids: BigUint64Array): Promise<number> {
    this.check();
    const now = this.access.now();
    return this.access.write(async (tx) => {
      await refuseMoved(tx);
      await addScope(tx, scope);
      const send = await nextNumber(tx);
      const of = { scope, kind, run: IDENTIFY, seq: null, state: SEND.dead, doubt: now };
      await addSend(tx, send, of);
      await putIds(tx, send, ids);
      await addHistory(tx, 'identify', { scope, kind, at: now, send }, { ids, lines: [] });
      return send;
    });
  }

  /**
   * Records the outcome of such a profile.
   * @param doubt whether the outcome is unknown
   * @param note the outcome for the history
   */
  endProfile(send: number, doubt: boolean, note: 'submitted' | 'unsent' | null = null): Promise<void> {
    const since = doubt ? this.access.now() : null;
    return this.access.write(async (tx) => {
      await tx.run(sql`UPDATE sends SET doubt = ${since} WHERE send = ${send}`);
      await tx.run(sql`UPDATE history SET note = ${note} WHERE send = ${send}`);
    });
  }

  /** Whether there is data older than that of a run that may still be sent: an unfinished run, or a saved plan. */
  async mayBeOverwritten(run: string, kind: Kind): Promise<boolean> {
    const older = sql`SELECT 1 FROM runs WHERE run = ${run} AND ${hasOlder(sql`runs.scope`, sql`${kind}`)}`;
    return (await this.access.all(older)).length > 0;
  }

  /** Records ids of rows that a run found unchanged: older data counts as sent before (`later`). */
  keepVerified(run: string, scope: Scope, kind: Kind, ids: BigUint64Array): Promise<void> {
    return this.access.write(async (tx) => {
      for (let at = 0; at < ids.length; at += TOGETHER) {
        const send = await nextNumber(tx);
        await addSend(tx, send, { scope, kind, run, seq: null, state: SEND.verified, doubt: null });
        await putIds(tx, send, ids.subarray(at, at + TOGETHER));
      }
    });
  }
}
