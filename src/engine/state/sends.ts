/** The store of sends: finds them by the ids of their rows (contract §4 "Across runs"), and records single profiles. */
import type { Kind } from '../model.js';
import type { Access } from './access.js';
import type { Reader } from './database.js';
import { noteProfile, putProfile } from './history.js';
import { nextNumber, refuseMoved } from './meta.js';
import { hasOlder } from './order.js';
import { putRows, rowsOf } from './rows.js';
import type { Scope } from './scopes.js';
import {
  addSend,
  HAS_JOB,
  IDENTIFY,
  lastSend,
  newestSend,
  OF_KIND,
  othersSince,
  SEND,
} from './send-table.js';
import { SentIds, type SentRows } from './sent-ids.js';

/** Ids in one verified send. */
const TOGETHER = 100_000;

export class Sends {
  /** What was found last in a session for a run and kind (`#unlessSame`). */
  readonly #last = new Map<string, { newest: number; found: SentIds }>();

  constructor(
    private readonly access: Access,
    private readonly check: () => void,
  ) {}

  /** The number of the last send of a request; 0 if there is none. */
  last(run: string, seq: number): Promise<number> {
    return this.access.read((on) => lastSend(on, run, seq));
  }

  /** Keyed hashes of the ids in the last send of a request, in the order of its rows. */
  idsOf(run: string, seq: number): Promise<BigUint64Array> {
    return this.access.read(async (on) => (await rowsOf(on, await lastSend(on, run, seq))).ids);
  }

  /**
   * Finds ids that other runs have sent, or found unchanged, with newer data than that of this run. The run of a plan
   * that was made with another state may have the same number as an earlier run: then the ids of the runs decide, which
   * begin with a time in seconds.
   */
  later(run: string, scope: Scope, kind: Kind): Promise<SentIds> {
    const sql = `${OF_KIND} AND run <> ?3
      AND (began, CASE run WHEN '${IDENTIFY}' THEN '' ELSE run END) > (SELECT began, run FROM runs WHERE run = ?3)
      AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.request = sends.request AND requests.state IN ('withdrawn', 'divided'))
      ORDER BY send`;
    return this.#unlessSame('later', scope, kind, run, (on, id) => on.all(sql, id, kind, run));
  }

  /**
   * Finds ids that this run has sent.
   * @param placeOf returns the position of a request by its number; 0: the request does not count
   */
  byRun(run: string, scope: Scope, kind: Kind, placeOf: (seq: number) => number): Promise<SentIds> {
    return this.access.readIn(scope, async (on, id) => {
      // Sends that the service may have carried out.
      const sends = await on.all<SentRows & { seq: number }>(
        `SELECT send, sends.run, sends.job_id, length(ids) / 8 AS rows, seq
         FROM sends JOIN fingerprints USING (send) JOIN requests USING (request)
         WHERE scope = ? AND kind = ? AND sends.run = ?
           AND requests.state IN ('intent', 'unknown', 'acknowledged', 'settled') ORDER BY send`,
        id,
        kind,
        run,
      );
      const placed = sends.map((send) => ({ ...send, place: placeOf(send.seq) }));
      return SentIds.read(
        on,
        placed.filter(({ place }) => place > 0).sort((a, b) => a.place - b.place),
      );
    });
  }

  /** Finds unfinished jobs of other runs, with the ids of their rows. @param run null: jobs of all runs */
  openJobs(scope: Scope, kind: Kind, run: string | null): Promise<SentIds> {
    const sql = `${OF_KIND} AND ${HAS_JOB} AND run IS DISTINCT FROM ?3 ORDER BY send`;
    return this.#unlessSame('open', scope, kind, run, (on, id) => on.all(sql, id, kind, run ?? ''));
  }

  /** Finds it again only if others have sent something since the last time: reading the rows of sends takes long. */
  #unlessSame(
    what: string,
    scope: Scope,
    kind: Kind,
    run: string | null,
    find: (on: Reader, scope: number) => Promise<SentRows[]>,
  ): Promise<SentIds> {
    return this.access.readIn(scope, async (on, id) => {
      const key = JSON.stringify([what, id, kind, run, this.access.session]);
      const last = this.#last.get(key);
      const newest = await newestSend(on, id, kind);
      const isSame = last && (await othersSince(on, last.newest, { scope: id, kind, run })).length === 0;
      const found = isSame ? last.found : await SentIds.read(on, await find(on, id));
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
    return this.access.writeIn(scope, async (tx, id) => {
      await refuseMoved(tx);
      const send = await nextNumber(tx);
      await addSend(tx, send, {
        scope: id,
        kind,
        run: IDENTIFY,
        request: null,
        state: SEND.dead,
        doubt: now,
      });
      await putRows(tx, send, withoutContents(ids));
      await putProfile(tx, send, id, kind, ids, now);
      return send;
    });
  }

  /**
   * Records the outcome of such a profile.
   * @param doubt whether the outcome is unknown
   * @param note the outcome for the history
   */
  endProfile(send: number, doubt: boolean, note: 'submitted' | 'unsent' | null = null): Promise<void> {
    return this.access.write(async (tx) => {
      await tx.run('UPDATE sends SET doubt = ? WHERE send = ?', doubt ? this.access.now() : null, send);
      await noteProfile(tx, send, { note });
    });
  }

  /** Whether there is data older than that of a run that may still be sent: an unfinished run, or a saved plan. */
  mayBeOverwritten(run: string, scope: Scope, kind: Kind): Promise<boolean> {
    return this.access.readIn(scope, async (on, id) => {
      const sql = `SELECT 1 FROM runs WHERE run = ?1 AND ${hasOlder('?2', '?3', 'runs.began')}`;
      return (await on.get(sql, run, id, kind)) !== undefined;
    });
  }

  /** Records ids of rows that a run found unchanged: older data counts as sent before (`later`). */
  keepVerified(run: string, scope: Scope, kind: Kind, ids: BigUint64Array): Promise<void> {
    return this.access.writeIn(scope, async (tx, id) => {
      for (let at = 0; at < ids.length; at += TOGETHER) {
        const send = await nextNumber(tx);
        const of = { scope: id, kind, run, request: null, state: SEND.verified, doubt: null };
        await addSend(tx, send, of);
        await putRows(tx, send, withoutContents(ids.subarray(at, at + TOGETHER)));
      }
    });
  }
}

const withoutContents = (ids: BigUint64Array) => {
  const none = new BigUint64Array(ids.length);
  return { ids, contents: none, records: none };
};
