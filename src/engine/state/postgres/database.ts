/**
 * The driver for PostgreSQL. It keeps nothing in a session, so that it works behind a pooler that gives every
 * transaction another connection: no named prepared statements, and only settings of a transaction.
 *
 * Writers of a schema take turns, as they do with SQLite: what a transaction reads stays true until it commits.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Reader, Transaction, Value } from '../database.js';
import { DatabaseSession } from './database-session.js';
import { failureOf, isPassing, isWorthWaiting, keepsConnection } from './failure.js';
import type { PostgresLocation } from './location.js';
import { quoted } from './sql.js';
import { WriteNumbers } from './write-numbers.js';

/** Time limits, milliseconds. */
export interface Patience {
  /** How long a lost connection is retried. */
  retryMs: number;
  /** For one statement. */
  statementMs: number;
  /** For the turn to write; after that, it is requested again. */
  turnMs: number;
  /** For this process between two statements of a transaction, while others wait. */
  idleMs: number;
  /** For an answer, in addition to the time after which the server gives up by itself. */
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
/** For an answer once the process must end: requests in flight are still recorded. */
const HURRY_MS = 1_000;

/** A check within the transaction of every write. */
export interface Fence {
  /** A query of one result, or null while there is nothing to check. */
  sql(): string | null;
  /** @throws if the writer must not write anymore */
  check(rows: readonly Record<string, unknown>[]): void;
}

const UNFENCED: Fence = { sql: () => null, check: () => {} };

export class PostgresDatabase implements Database {
  readonly #writes: WriteNumbers;
  #session: DatabaseSession | null = null;
  /** Idle connections for reading rows one by one. */
  readonly #readers: DatabaseSession[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** Whether the database has answered before: only then is it worth waiting for. */
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

  all<T>(sql: string, ...values: Value[]): Promise<T[]> {
    return this.#inTurn(() =>
      this.#persist('read the state in', async (session) => {
        await session.script(this.#beginRead(this.patience.idleMs));
        const { rows } = await session.query(sql, values);
        await session.script(['COMMIT']);
        return rows as T[];
      }),
    );
  }

  async get<T>(sql: string, ...values: Value[]): Promise<T | undefined> {
    return (await this.all<T>(sql, ...values))[0];
  }

  /** Uses its own connection, so that others can read and write in the meantime. */
  async *each<T>(sql: string, ...values: Value[]): AsyncGenerator<T> {
    const session = await this.#retrying('read the state in', async () => {
      const reader = this.#readers.pop() ?? (await this.#open());
      try {
        // No time limit for the consumer of the rows: nobody waits for a reader.
        await reader.script(this.#beginRead(0));
        return reader;
      } catch (error) {
        await reader.close();
        throw error;
      }
    });
    try {
      yield* session.each<T>(sql, values);
    } catch (error) {
      throw failureOf(error, 'read the state in', this.location);
    } finally {
      await session.rollback();
      if (session.isBroken || this.#closed) await session.close();
      else this.#readers.push(session);
    }
  }

  /** Reads everything as of one point in time, on its own connection. */
  async snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T> {
    const session = await this.#open();
    try {
      await session.script(this.#beginRead(0));
      return await work(readerOf(session));
    } finally {
      await session.rollback();
      await session.close();
    }
  }

  /** @param work may be run again from the start, because a lost connection undoes it */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#inTurn(() => {
      const number = this.#writes.next();
      // The commit was sent, and may have been carried out without an answer.
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
    this.#closed = true;
    const session = this.#session;
    const { forget } = this.#writes;
    if (session && forget !== null) await session.script([forget]).catch(() => {});
    await Promise.all([session, ...this.#readers].map((each) => each?.close()));
  }

  /** Runs statements in the dialect of PostgreSQL, in turn with everything else. */
  own<T>(doing: string, work: (session: DatabaseSession) => Promise<T>): Promise<T> {
    return this.#inTurn(() => this.#persist(doing, work));
  }

  /** Begins a writing transaction. @returns whether the write of this number was committed before */
  async #beginWrite(session: DatabaseSession, number: number): Promise<boolean> {
    const { statementMs, turnMs, idleMs } = this.patience;
    const fence = this.fence.sql();
    const results = await session.script([
      'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
      ...this.#settings(idleMs),
      `SET LOCAL lock_timeout = ${turnMs}`,
      `SET LOCAL statement_timeout = ${turnMs}`,
      // Commits must be on disk, whatever the role's default is. A stricter setting is kept.
      `SELECT CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END`,
      `SELECT pg_advisory_xact_lock(${lockOf(this.location.schema)})`,
      `SET LOCAL statement_timeout = ${statementMs}`,
      this.#writes.query,
      ...(fence === null ? [] : [fence]),
    ]);
    const rows = fence === null ? [] : results.pop()!.rows;
    const isCommitted = this.#writes.isCommitted(number, results.pop()!.rows);
    if (!isCommitted) this.fence.check(rows);
    return isCommitted;
  }

  #beginRead(idleMs: number): string[] {
    return [
      'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
      ...this.#settings(idleMs),
      `SET LOCAL statement_timeout = ${this.patience.statementMs}`,
    ];
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
   * Retries temporary failures for a while. If the database has never answered, an address without an answer counts as
   * wrong.
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
          this.#isReached &&= !mayPass; // what comes after it need not wait as long again
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

/** Marks the advisory locks of this program: other programs may use the same database. */
const LOCKS = 0x70726f66;

/** SQL that takes the lock for the turn to write in a schema. It lasts for one transaction, on any connection. */
export const lockOf = (schema: string): string =>
  `${LOCKS}, ${createHash('sha256').update(schema).digest().readInt32BE(0)}`;
