/** The store of requests: records them and what they send, many in one transaction. */
import type { RequestRecord } from '../model/requests.js';
import type { Kind } from '../model.js';
import { type Access, nextNumber, type Scope } from './access.js';
import type { IntentRows, Recorded } from './backend.js';
import { sql, type Transaction } from './database.js';
import { stateError } from './folder.js';
import { putHistory } from './history.js';
import { putJob, putRequest, requestsOf } from './jobs.js';
import { Overlaps } from './overlaps.js';
import { putRows } from './rows.js';
import { addSend, newestSend, SEND, unlinkSends, updateSend } from './send-table.js';

/** How long a record waits for others, milliseconds, if nothing depends on it at once. */
const PATIENCE_MS = 10;

interface Waiting {
  records: readonly Recorded[];
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Group commit: records that are requested in one turn of the event loop, or during another commit, share one
 * transaction, and so one wait for the disk. An acknowledgement waits a few milliseconds for the next intent, and an
 * intent for others that are made in the meantime. Each record is still committed before anything depends on it.
 */
export class Requests {
  /** The sends of the current session; null if the next record begins a new one. */
  #overlaps: { key: string; of: Overlaps } | null = null;
  #waiting: Waiting[] = [];
  /** The two timers that write what waits. */
  #soon: NodeJS.Immediate | undefined;
  #late: NodeJS.Timeout | undefined;
  /** The groups that are being written, one after the other. */
  #writing: Promise<void> = Promise.resolve();
  #failure: unknown;

  /**
   * @param check throws if records may be lost, or a lock is
   */
  constructor(
    private readonly access: Access,
    private readonly check: () => void = () => {},
  ) {
    access.flush = () => this.#flush();
  }

  /** The requests of a run, in the order of their numbers. */
  of(run: string): Promise<RequestRecord[]> {
    return this.access.db.read((on) => requestsOf(on, run));
  }

  /**
   * Records a request as it is now, and resolves when that is on disk. An acknowledgement also records the
   * job. Calls in one turn of the event loop are written together. After a failure, all later calls fail: nothing may
   * be sent that cannot be recorded (contract §4).
   * @param sent its rows; only for the first commit of a session, which is the intent
   * @param mayWait whether it may wait a few milliseconds for others, which saves a wait for the disk
   * @throws StateError; for a request that is about to be sent, also as `Locks.check` does
   */
  async record(
    run: string,
    scope: Scope,
    kind: Kind,
    request: RequestRecord,
    sent: IntentRows | null = null,
    mayWait = request.state === 'acknowledged',
  ): Promise<void> {
    // Only before sending. An acknowledgement is recorded even if the check would fail.
    if (request.state === 'intent' || request.state === 'unknown') this.check();
    const { session } = this.access;
    // A copy, because the caller changes the record later.
    const one = { run, scope, kind, request: { ...request }, sent: sent && { ...sent, session } };
    await this.#commit([one], !mayWait);
  }

  /** Records several requests in one transaction. None of them may be about to be sent. @throws StateError */
  recordAll(run: string, scope: Scope, kind: Kind, some: readonly RequestRecord[]): Promise<void> {
    return this.#commit(some.map((request) => ({ run, scope, kind, request: { ...request }, sent: null })));
  }

  /**
   * Resolves when everything recorded so far is on disk.
   * @throws StateError if something could not be written
   */
  written(): Promise<void> {
    return this.#commit([]);
  }

  #commit(records: readonly Recorded[], soon = true): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ records, resolve, reject });
      if (soon) this.#soon ??= setImmediate(() => void this.#flush());
      else this.#late ??= setTimeout(() => void this.#flush(), PATIENCE_MS);
    });
  }

  /** Writes everything that waits. Never rejects: failures reject the promises of `#commit`. */
  #flush(): Promise<void> {
    clearImmediate(this.#soon);
    clearTimeout(this.#late);
    this.#soon = undefined;
    this.#late = undefined;
    this.#writing = this.#writing.then(() => this.#writeGroup(this.#waiting.splice(0)));
    return this.#writing;
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    if (group.length === 0) return;
    try {
      const records = group.flatMap((one) => one.records);
      if (this.#failure) throw this.#failure;
      await this.#write(records);
      for (const { resolve } of group) resolve();
    } catch (error) {
      this.#failure ??= stateError(error, 'record the import', this.access.folder);
      for (const { reject } of group) reject(this.#failure);
    }
  }

  /** Writes records in one transaction, which the database may run again from the start. */
  async #write(some: readonly Recorded[]): Promise<void> {
    let isAgain = false;
    await this.access.db.write(async (tx) => {
      // What is in memory may be wrong then: all sends so far count as those of others.
      if (isAgain) this.#overlaps = null;
      isAgain = true;
      for (const one of some) await this.#put(tx, one);
    });
  }

  async #put(tx: Transaction, recorded: Recorded): Promise<void> {
    const { run, scope, kind, request, sent } = recorded;
    const { seq, state, job } = request;
    const now = this.access.now();
    await putRequest(tx, run, request);
    if (sent) {
      await unlinkSends(tx, sql`run = ${run} AND seq = ${seq}`);
      // Rows that are rejected before they are sent are only noted.
      if (state !== 'rejected') await this.#send(tx, recorded, sent);
      if (sent.rows) await putHistory(tx, { run, scope, kind, seq, at: now }, sent.rows);
    }
    if (job) await putJob(tx, scope, job, { run, kind, rows: request.rows }, this.access.time());
    // The send of an intent was added with this state above.
    if (!sent || state !== 'intent') await updateSend(tx, run, request, now);
  }

  /** Adds a send with the rows of a request. Does nothing if there are none. */
  async #send(
    tx: Transaction,
    { run, scope, kind, request: { seq } }: Recorded,
    { prints, shared, session }: NonNullable<Recorded['sent']>,
  ): Promise<void> {
    if (prints.ids.length === 0) return;
    const { now } = this.access;
    const whose = { run, scope, kind };
    const key = JSON.stringify([whose, session]);
    if (this.#overlaps?.key !== key)
      this.#overlaps = { key, of: new Overlaps(whose, await newestSend(tx, scope, kind), now) };
    const send = await nextNumber(tx);
    const remembered = await this.#overlaps.of.remembered(tx, send, prints, shared);
    await addSend(tx, send, { ...whose, seq, state: SEND.pending, doubt: now() });
    await putRows(tx, send, remembered);
  }
}
