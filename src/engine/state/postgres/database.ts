/**
 * The PostgreSQL driver. It works behind a pooler that gives every transaction another connection, because it
 * keeps nothing in the session: it has no named prepared statements, and all settings are for one
 * transaction.
 *
 * Writers of a schema take turns, as with SQLite: what a transaction has read stays true until it commits.
 */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { StateError } from '../../errors.js';
import type { Database, Reader, Transaction, Value } from '../database.js';
import { DatabaseSession } from './database-session.js';
import { failureOf, isPassing, isWorthWaiting, keepsConnection } from './failure.js';
import type { PostgresLocation } from './location.js';
import { literal, quoted } from './sql.js';

/** Time limits in milliseconds. */
export interface Patience {
  /** How long temporary failures, such as a lost connection, are retried. */
  retryMs: number;
  /** The most that one statement may take (`statement_timeout`). */
  statementMs: number;
  /**
   * How long to wait for the turn to write. After that, the wait counts as a temporary failure and is
   * retried.
   */
  turnMs: number;
  /** How long this process may be idle in a transaction, since other writers wait for it. */
  idleMs: number;
  /** How much longer to wait for an answer than the server may take for a statement. */
  graceMs: number;
}
export const PATIENCE: Patience = {
  retryMs: 30_000,
  statementMs: 20_000,
  turnMs: 20_000,
  idleMs: 20_000,
  graceMs: 5_000,
};

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** How long to wait for an answer after an abort. Short, but enough to record requests in flight. */
const HURRY_MS = 1_000;

/** A check in every writing transaction, for leases. */
export interface Fence {
  /** A query, or null if there is nothing to check. */
  sql(): string | null;
  /** @param rows the result of the query. @throws if this process must not write anymore */
  verify(rows: readonly Record<string, unknown>[]): void;
}

const UNFENCED: Fence = { sql: () => null, verify: () => {} };

export class PostgresDatabase implements Database {
  readonly #writes: WriteNumbers;
  #session: DatabaseSession | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  /**
   * Whether the database has answered before. If not, its address is probably wrong, and waiting does not
   * help.
   */
  #isReached = false;
  fence: Fence = UNFENCED;

  constructor(
    readonly location: PostgresLocation,
    private readonly signal: AbortSignal | undefined = undefined,
    private readonly patience: Patience = PATIENCE,
  ) {
    this.#writes = new WriteNumbers(location);
    signal?.addEventListener('abort', () => this.#session?.hurry(HURRY_MS), { once: true });
  }

  read<T>(work: (on: Reader) => Promise<T>): Promise<T> {
    return this.own('read the state in', async (session) => {
      // No limit for idle time: what uses the rows may be slow, and no other process waits for a reader.
      await session.script([
        'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
        ...this.#settings(0),
        `SET LOCAL statement_timeout = ${this.patience.statementMs}`,
      ]);
      const result = await work(readerOf(session));
      await session.script(['COMMIT']);
      return result;
    });
  }

  /** @param work may run again from the start, because a lost connection undoes its transaction */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#inTurn(() => {
      const number = this.#writes.next();
      // Set when the commit is sent: without an answer, it may have been carried out.
      let committing: { result: T } | null = null;
      return this.#persist('record in', async (session) => {
        const isCommitted = await this.#beginWrite(session, number);
        if (committing && isCommitted) {
          await session.rollback();
          this.#writes.committed(number);
          return committing.result;
        }
        const result = await work(transactionOf(session));
        committing = { result };
        await session.script([this.#writes.mark(number), 'COMMIT']);
        this.#writes.committed(number);
        return result;
      });
    });
  }

  async close(): Promise<void> {
    await this.#turn;
    const { forget } = this.#writes;
    if (forget !== null) await this.#session?.script([forget]).catch(() => {});
    await this.#session?.close();
  }

  /**
   * Runs PostgreSQL statements, in turn with everything else.
   * @param doing for errors, such as `record in`
   */
  own<T>(doing: string, work: (session: DatabaseSession) => Promise<T>): Promise<T> {
    return this.#inTurn(() => this.#persist(doing, work));
  }

  /**
   * Begins a writing transaction in one round trip.
   * @returns whether the write with this number was committed before
   */
  async #beginWrite(session: DatabaseSession, number: number): Promise<boolean> {
    const { statementMs, turnMs, idleMs } = this.patience;
    const fence = this.fence.sql();
    const results = await session.script([
      'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
      ...this.#settings(idleMs),
      `SET LOCAL lock_timeout = ${turnMs}`,
      `SET LOCAL statement_timeout = ${turnMs}`,
      // Commits must be on disk, whatever the default of the role is. A stricter setting stays.
      `SELECT CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END`,
      `SELECT pg_advisory_xact_lock(${lockOf(this.location.schema)})`,
      `SET LOCAL statement_timeout = ${statementMs}`,
      this.#writes.query,
      ...(fence === null ? [] : [fence]),
    ]);
    const rows = fence === null ? [] : results.pop()!.rows;
    const isCommitted = this.#writes.isCommitted(number, results.pop()!.rows);
    if (!isCommitted) this.fence.verify(rows);
    return isCommitted;
  }

  #settings(idleMs: number): string[] {
    return [
      `SET LOCAL search_path TO ${quoted(this.location.schema)}, pg_catalog`,
      `SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`,
    ];
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }

  #persist<T>(doing: string, work: (session: DatabaseSession) => Promise<T>): Promise<T> {
    return this.#retrying(doing, async () => {
      this.#session ??= await this.#open();
      try {
        return await work(this.#session);
      } catch (error) {
        await this.#session.rollback();
        if (this.#session.isBroken) {
          await this.#session.close();
          this.#session = null;
        }
        throw error;
      }
    });
  }

  /**
   * Retries temporary failures for `retryMs`, counted from the first one. If the database has never answered,
   * most failures to connect are not retried (`isWorthWaiting`).
   */
  async #retrying<T>(doing: string, attempt: () => Promise<T>): Promise<T> {
    let until = Number.POSITIVE_INFINITY;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await attempt();
      } catch (error) {
        until = Math.min(until, performance.now() + this.patience.retryMs);
        const mayPass = this.#isReached ? isPassing(error) : isWorthWaiting(error);
        if (!mayPass || this.signal?.aborted || performance.now() + pause >= until) {
          this.#isReached &&= !mayPass; // later calls do not wait as long again
          throw failureOf(error, doing, this.location);
        }
        if (keepsConnection(error)) continue;
        await sleep(pause, undefined, { signal: this.signal }).catch(() => {});
      }
    }
  }

  async #open(): Promise<DatabaseSession> {
    const { statementMs, turnMs, graceMs } = this.patience;
    const session = await DatabaseSession.open(this.location, Math.max(statementMs, turnMs) + graceMs);
    this.#isReached = true;
    return session;
  }
}

const transactionOf = (session: DatabaseSession): Transaction => ({
  ...readerOf(session),
  run: async (sql, ...values) => (await session.query(sql, values)).rowCount ?? 0,
});

function readerOf(session: DatabaseSession): Reader {
  return {
    all: async <T>(sql: string, ...values: Value[]) => (await session.query(sql, values)).rows as T[],
    get: async <T>(sql: string, ...values: Value[]) =>
      (await session.query(sql, values)).rows[0] as T | undefined,
    each: (sql, ...values) => session.each(sql, values),
  };
}

/** The first key of our advisory locks ("prof"), because other programs may use the same database. */
const LOCKS = 0x70726f66;

/** The arguments of `pg_advisory_xact_lock` for the turn to write in a schema. */
export const lockOf = (schema: string): string =>
  `${LOCKS}, ${createHash('sha256').update(schema).digest().readInt32BE(0)}`;

/**
 * Numbers the writes of a process. Each transaction stores its number in the table `writers`. So this process
 * can find out whether a commit without an answer was carried out, and whether the database has lost a
 * commit.
 */
class WriteNumbers {
  readonly #name = literal(randomUUID());
  #written = 0;
  /** The number of the last write with a confirmed commit. */
  #committed = 0;

  constructor(private readonly location: PostgresLocation) {}

  /** The number of the next write. */
  next(): number {
    return ++this.#written;
  }

  /** The query for the number in the database. */
  get query(): string {
    return `SELECT number FROM writers WHERE writer = ${this.#name}`;
  }

  /**
   * Whether the write with this number was committed before.
   * @param rows the result of `query`
   * @throws StateError if a committed write is missing
   */
  isCommitted(number: number, rows: readonly Record<string, unknown>[]): boolean {
    const last = rows[0]?.number as number | undefined;
    if ((last ?? 0) < this.#committed) throw this.#wentBack();
    return last === number;
  }

  /**
   * SQL that stores a number in the transaction of a write. The first one also deletes old numbers of other
   * processes.
   */
  mark(number: number): string {
    return (
      (number === 1 ? `DELETE FROM writers WHERE wrote_at < now() - interval '30 days'; ` : '') +
      `INSERT INTO writers AS mark (writer, number, wrote_at) VALUES (${this.#name}, ${number}, now())
       ON CONFLICT (writer) DO UPDATE SET number = excluded.number, wrote_at = excluded.wrote_at`
    );
  }

  committed(number: number): void {
    this.#committed = number;
  }

  /**
   * SQL that deletes the number of this process; null if there is none. It names the schema, because it runs
   * outside a transaction, without a search path.
   */
  get forget(): string | null {
    if (this.#written === 0) return null;
    return `DELETE FROM ${quoted(this.location.schema)}.writers WHERE writer = ${this.#name}`;
  }

  /** The error if the database has lost a committed write, such as after a failover or a restore. */
  #wentBack(): StateError {
    return new StateError(
      `${this.location.name} has lost what was recorded in it a moment ago, as after a failover; nothing more is sent`,
      { problem: { code: 'state_went_back' } },
    );
  }
}
