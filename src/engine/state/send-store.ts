/** The store of sends: finds them by the ids of their rows (contract §4 "Across runs"), and records single profiles. */
import type { Kind } from '../model.js';
import type { Access } from './access.js';
import type { Reader } from './database.js';
import { noteProfile, putProfile } from './history.js';
import { nextNumber, refuseMoved } from './meta.js';
import { LaterSends, OpenJobs } from './open-jobs.js';
import { verifiedSince } from './order.js';
import { putRows, rowsOf } from './rows.js';
import {
  addSend,
  IDENTIFY,
  isOthersSince,
  lastSend,
  newerThan,
  newestSend,
  SEND,
  updateSingle,
  type Whose,
  withJob,
} from './sends.js';
import type { Scope } from './types.js';

export class Sends {
  /** What was found last in a session for a run and kind (`#unlessSame`). */
  readonly #last = new Map<string, { newest: number; found: unknown }>();

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

  /** Finds ids that other runs have sent with newer data than that of this run. */
  later(run: string, scope: Scope, kind: Kind): Promise<LaterSends> {
    return this.access.readIn(scope, (on, id) =>
      this.#unlessSame(on, 'later', { scope: id, kind, run }, async () => {
        const sends = await newerThan(on, run, id, kind);
        return LaterSends.read(on, sends, await verifiedSince(on, run, id, kind));
      }),
    );
  }

  /**
   * Finds ids that this run has sent.
   * @param placeOf returns the position of a request by its number; 0: the request does not count
   */
  byRun(run: string, scope: Scope, kind: Kind, placeOf: (seq: number) => number): Promise<LaterSends> {
    return this.access.readIn(scope, async (on, id) => {
      // Sends that the service may have carried out.
      const rows = await on.all<{ send: number; seq: number }>(
        `SELECT send, seq FROM sends JOIN requests USING (request)
         WHERE scope = ? AND kind = ? AND sends.run = ?
           AND requests.state IN ('intent', 'unknown', 'acknowledged', 'settled') ORDER BY send`,
        id,
        kind,
        run,
      );
      const sends = rows
        .map(({ send, seq }) => ({ send, run, place: placeOf(seq) }))
        .filter(({ place }) => place > 0)
        .sort((a, b) => a.place - b.place);
      return LaterSends.read(on, sends);
    });
  }

  /** Finds unfinished jobs of other runs, with the ids of their rows. @param run null: jobs of all runs */
  openJobs(scope: Scope, kind: Kind, run: string | null): Promise<OpenJobs> {
    return this.access.readIn(scope, (on, id) =>
      this.#unlessSame(on, 'open', { scope: id, kind, run }, async () => {
        const open = await withJob(on, id, kind);
        return OpenJobs.read(
          on,
          open.filter((send) => run === null || send.run !== run),
        );
      }),
    );
  }

  /** Finds it again only if others have sent something since the last time: reading the rows of sends takes long. */
  async #unlessSame<T>(on: Reader, what: string, whose: Whose, find: () => Promise<T>): Promise<T> {
    const { scope, kind, run } = whose;
    const key = JSON.stringify([what, scope, kind, run, this.access.session]);
    const last = this.#last.get(key);
    const newest = await newestSend(on, scope, kind);
    const isSame = last !== undefined && !(await isOthersSince(on, last.newest, whose));
    const found = isSame ? (last.found as T) : await find();
    this.#last.set(key, { newest, found });
    return found;
  }

  /**
   * Records a profile that is about to be sent outside an import (`identify`). Its content is not remembered, because it
   * is not built like that of an import. Its outcome is in doubt until `endProfile`.
   * @returns the number of the send
   */
  async startProfile(scope: Scope, kind: Kind, ids: BigUint64Array): Promise<number> {
    this.check();
    const now = this.access.now();
    return this.access.writeIn(scope, async (tx, id) => {
      await refuseMoved(tx);
      const send = await nextNumber(tx);
      await addSend(tx, send, { scope: id, kind, run: IDENTIFY, request: null, state: SEND.dead }, now);
      const none = (): BigUint64Array => new BigUint64Array(ids.length);
      await putRows(tx, send, { ids, contents: none(), records: none() });
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
      await updateSingle(tx, send, { doubt: doubt ? this.access.now() : null, job: null });
      await noteProfile(tx, send, { note });
    });
  }
}
