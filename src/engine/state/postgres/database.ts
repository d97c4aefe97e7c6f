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
import { type Database, type Query, type Reader, type Transaction, Turns } from '../database.js';
import type { PostgresLocation } from '../location.js';
import { connect } from './connect.js';
import { failureOf, isPassing, literal, quoted, Session } from './session.js';

/** Time limits in milliseconds. */
export const PATIENCE = {
  /** How long temporary failures, such as a lost connection, are retried. */
  retryMs: 30_000,
  /** The most that one statement may take (`statement_timeout`). */
  statementMs: 20_000,
  /** How long to wait for the turn to write. After that, the wait counts as a temporary failure and is retried. */
  turnMs: 20_000,
  /** How long this process may be idle in a transaction, since other writers wait for it. */
  idleMs: 20_000,
  /** How much longer to wait for an answer than the server may take for a statement. */
  graceMs: 5_000,
};
export type Patience = typeof PATIENCE;

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
  close(): Promise<void>;
}

export class PostgresDatabase implements Database {
  fence: Fence | null = null;
  #session: Session | null = null;
  readonly #turns = new Turns();
  /**
   * Whether the database has answered before. If not, its address is probably wrong, and waiting does not
   * help.
   */
  #isReached = false;
  /**
   * This process in the table `writers`. Each transaction stores the number of its write there. So this process can find
   * out whether a commit without an answer was carried out, and whether the database has lost a commit.
   */
  readonly #writer = literal(randomUUID());
  #written = 0;
  /** The number of the last write with a confirmed commit. */
  #committed = 0;

  constructor(
    readonly location: PostgresLocation,
    private readonly signal: AbortSignal | undefined = undefined,
    private readonly patience: Patience = PATIENCE,
  ) {
    signal?.addEventListener('abort', () => this.#session?.hurry(HURRY_MS), { once: true });
  }

  read<T>(work: (on: Reader) => Promise<T>): Promise<T> {
    return this.own('read the state in', async (session) => {
      // No limit for idle time: what uses the rows may be slow, and no other process waits for a reader.
      await session.script(this.#begin('REPEATABLE READ READ ONLY', 0, this.patience.statementMs));
      const result = await work(transactionOf(session));
      await session.script(['COMMIT']);
      return result;
    });
  }

  /** @param work may run again from the start, because a lost connection undoes its transaction */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    // Set when the commit is sent: without an answer, it may have been carried out.
    let committing: { result: T } | null = null;
    let number = 0;
    return this.own('record in', async (session) => {
      number ||= ++this.#written;
      const isCommitted = await this.#beginWrite(session, number);
      if (committing && isCommitted) {
        await session.rollback();
        this.#committed = number;
        return committing.result;
      }
      const result = await work(transactionOf(session));
      committing = { result };
      await session.script([
        // The first write also deletes old numbers of other processes.
        ...(number === 1 ? [`DELETE FROM writers WHERE wrote_at < now() - interval '30 days'`] : []),
        `INSERT INTO writers AS mark (writer, number, wrote_at) VALUES (${this.#writer}, ${number}, now())
         ON CONFLICT (writer) DO UPDATE SET number = excluded.number, wrote_at = excluded.wrote_at`,
        'COMMIT',
      ]);
      this.#committed = number;
      return result;
    });
  }

  async close(): Promise<void> {
    await this.fence?.close();
    await this.#turns.take(() => {});
    // It names the schema, because it runs outside a transaction, without a search path.
    const forget = `DELETE FROM ${quoted(this.location.schema)}.writers WHERE writer = ${this.#writer}`;
    if (this.#written > 0) await this.#session?.script([forget]).catch(() => {});
    await this.#session?.close();
  }

  /**
   * Runs PostgreSQL statements, in turn with everything else.
   * @param doing for errors, such as `record in`
   * @param work may run again from the start
   */
  own<T>(doing: string, work: (session: Session) => Promise<T>): Promise<T> {
    return this.#turns.take(() =>
      this.#retrying(doing, async () => {
        const { statementMs, turnMs, graceMs } = this.patience;
        const deadlineMs = Math.max(statementMs, turnMs) + graceMs;
        this.#session ??= new Session(await connect(this.location), deadlineMs);
        this.#isReached = true;
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
      }),
    );
  }

  /**
   * Begins a writing transaction in one round trip.
   * @returns whether the write with this number was committed before
   * @throws StateError if a committed write is missing, such as after a failover or a restore
   */
  async #beginWrite(session: Session, number: number): Promise<boolean> {
    const { statementMs, turnMs, idleMs } = this.patience;
    const results = await session.script([
      ...this.#begin('READ COMMITTED READ WRITE', idleMs, turnMs),
      `SET LOCAL lock_timeout = ${turnMs}`,
      // Commits must be on disk, whatever the default of the role is. A stricter setting stays.
      `SELECT CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END`,
      `SELECT pg_advisory_xact_lock(${lockOf(this.location.schema)})`,
      `SET LOCAL statement_timeout = ${statementMs}`,
      `SELECT number FROM writers WHERE writer = ${this.#writer}`,
      this.fence?.sql() ?? 'SELECT 1',
    ]);
    const [mark, fenced] = results.slice(-2);
    const last = (mark!.rows[0] as { number: number } | undefined)?.number ?? 0;
    if (last < this.#committed) {
      throw new StateError(
        `${this.location.name} has lost what was recorded in it a moment ago, as after a failover; nothing more is sent`,
        { problem: { code: 'state_went_back' } },
      );
    }
    if (last !== number) this.fence?.verify(fenced!.rows);
    return last === number;
  }

  #begin(mode: string, idleMs: number, statementMs: number): string[] {
    return [
      `BEGIN ISOLATION LEVEL ${mode}`,
      `SET LOCAL search_path TO ${quoted(this.location.schema)}, pg_catalog`,
      `SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`,
      `SET LOCAL statement_timeout = ${statementMs}`,
    ];
  }

  /**
   * Retries temporary failures for `retryMs`, counted from the first one. If the database has never answered,
   * its address is probably wrong, and nothing is retried.
   */
  async #retrying<T>(doing: string, attempt: () => Promise<T>): Promise<T> {
    let until = Number.POSITIVE_INFINITY;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await attempt();
      } catch (error) {
        until = Math.min(until, performance.now() + this.patience.retryMs);
        const mayPass = this.#isReached && isPassing(error);
        if (!mayPass || this.signal?.aborted || performance.now() + pause >= until) {
          this.#isReached &&= !mayPass; // later calls do not wait as long again
          throw failureOf(error, doing, this.location);
        }
        await sleep(pause, undefined, { signal: this.signal }).catch(() => {});
      }
    }
  }
}

const transactionOf = (session: Session): Transaction => ({
  all: async <T>(query: Query) => (await session.query(query)).rows as T[],
  get: async <T>(query: Query) => (await session.query(query)).rows[0] as T | undefined,
  each: (query) => session.each(query),
  run: async (query) => (await session.query(query)).rowCount ?? 0,
});

/** The first key of our advisory locks ("prof"), because other programs may use the same database. */
const LOCKS = 0x70726f66;

/** The arguments of `pg_advisory_xact_lock` for the turn to write in a schema. */
export const lockOf = (schema: string): string =>
  `${LOCKS}, ${createHash('sha256').update(schema).digest().readInt32BE(0)}`;
