/** One connection: queries with a deadline, and whether it can still be used. */
import { once } from 'node:events';
import pg, { type Client, type QueryResult } from 'pg';
import { Channel } from '../../channel.js';
import type { Value } from '../database.js';
import { connect } from './connect.js';
import { isPassing, keepsConnection } from './failure.js';
import type { PostgresLocation } from './location.js';
import { parameter, translate } from './sql.js';

/** Rows that a cursor fetches at a time: a row of fingerprints may be 120 KB, and its memory is not freed at once. */
const ROWS_AT_ONCE = 4;

export class DatabaseSession {
  #isBroken = false;
  #cursors = 0;
  #deadlineMs: number;
  #deadline: NodeJS.Timeout | null = null;
  /** Unanswered queries: while rows are read, another query may be sent. */
  #asked = 0;

  /** @param deadlineMs milliseconds for the answer to a statement */
  private constructor(
    private readonly client: Client,
    deadlineMs: number,
  ) {
    this.#deadlineMs = deadlineMs;
  }

  static async open(location: PostgresLocation, deadlineMs: number): Promise<DatabaseSession> {
    return new DatabaseSession(await connect(location), deadlineMs);
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Runs one statement in the dialect that both databases share. */
  async query(sql: string, values: readonly Value[]): Promise<QueryResult> {
    return this.#ask(() => this.client.query(translate(sql), values.map(parameter)));
  }

  /** Sends PostgreSQL statements in one message. @returns the result of each */
  async script(statements: readonly string[]): Promise<QueryResult[]> {
    const query = async (): Promise<unknown> => this.client.query(statements.join('; '));
    const results = await this.#ask(query);
    return (Array.isArray(results) ? results : [results]) as QueryResult[];
  }

  /** Reads the rows of a query one by one. Needs a transaction. */
  async *each<T>(sql: string, values: readonly Value[]): AsyncGenerator<T> {
    const cursor = `rows_${++this.#cursors}`;
    await this.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`, values);
    for (let taken = ROWS_AT_ONCE; taken === ROWS_AT_ONCE; ) {
      taken = 0;
      for await (const row of this.#rowsOf<T>(`FETCH ${ROWS_AT_ONCE} FROM ${cursor}`)) {
        taken++;
        yield row;
      }
    }
    await this.query(`CLOSE ${cursor}`, []);
  }

  /** The rows of an answer as they arrive, without collecting them in memory. */
  async *#rowsOf<T>(sql: string): AsyncGenerator<T> {
    const rows = new Channel<T>();
    const query = new pg.Query(sql);
    query.on('row', (row) => rows.push(row as T));
    const answered = this.#ask(async () => {
      const end = once(query, 'end');
      this.client.query(query);
      await end;
    }).finally(() => rows.close());
    // The error is thrown below, unless the consumer has stopped early.
    const settled = answered.catch(() => {});
    try {
      yield* rows;
    } finally {
      await settled;
    }
    await answered;
  }

  /** Undoes what was not committed. It never fails: if a connection cannot do that, it is not used anymore. */
  async rollback(): Promise<void> {
    if (this.#isBroken) return;
    try {
      await this.script(['ROLLBACK']);
    } catch {
      this.#isBroken = true;
    }
  }

  async close(): Promise<void> {
    this.#isBroken = true;
    await this.client.end().catch(() => {});
  }

  /** Shortens the deadline for answers from now on. */
  hurry(deadlineMs: number): void {
    this.#deadlineMs = deadlineMs;
    this.#arm();
  }

  /** Starts the deadline, if a query is waiting. */
  #arm(): void {
    clearTimeout(this.#deadline ?? undefined);
    this.#deadline = this.#asked > 0 ? setTimeout(() => void this.close(), this.#deadlineMs) : null;
  }

  /** Runs a query. If there is no answer in time, closes the connection: the query may still be carried out. */
  async #ask<T>(query: () => Promise<T>): Promise<T> {
    this.#asked++;
    this.#arm();
    try {
      return await query();
    } catch (error) {
      if (isPassing(error) && !keepsConnection(error)) this.#isBroken = true;
      throw error;
    } finally {
      this.#asked--;
      this.#arm();
    }
  }
}
