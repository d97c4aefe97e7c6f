/** One connection to PostgreSQL: runs queries with a deadline, and knows whether it can still be used. */
import type { Client, QueryResult } from 'pg';
import type { Value } from '../database.js';
import { connect } from './connect.js';
import { isPassing, keepsConnection } from './failure.js';
import type { PostgresLocation } from './location.js';
import { parameter, translate } from './sql.js';

/** Rows that a cursor fetches at a time. Few, because a row of fingerprints may have 120 KB. */
const ROWS_AT_ONCE = 4;

export class DatabaseSession {
  #isBroken = false;
  #cursors = 0;
  #deadlineMs: number;
  #deadline: NodeJS.Timeout | null = null;
  /** Number of queries without an answer. */
  #asked = 0;

  /** @param deadlineMs how long to wait for the answer to a statement, in milliseconds */
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

  /** Runs one statement in the dialect that SQLite and PostgreSQL share. */
  async query(sql: string, values: readonly Value[]): Promise<QueryResult> {
    return this.#ask(() => this.client.query(translate(sql), values.map(parameter)));
  }

  /** Runs several PostgreSQL statements in one round trip. @returns the result of each */
  async script(statements: readonly string[]): Promise<QueryResult[]> {
    const query = async (): Promise<unknown> => this.client.query(statements.join('; '));
    const results = await this.#ask(query);
    return (Array.isArray(results) ? results : [results]) as QueryResult[];
  }

  /** Reads the rows of a query one by one with a cursor. Must be called in a transaction. */
  async *each<T>(sql: string, values: readonly Value[]): AsyncGenerator<T> {
    const cursor = `rows_${++this.#cursors}`;
    await this.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`, values);
    for (let taken = ROWS_AT_ONCE; taken === ROWS_AT_ONCE; ) {
      const { rows } = await this.query(`FETCH ${ROWS_AT_ONCE} FROM ${cursor}`, []);
      taken = rows.length;
      yield* rows as T[];
    }
    await this.query(`CLOSE ${cursor}`, []);
  }

  /** Rolls back the current transaction. Never throws: if it fails, the connection counts as broken. */
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

  /** Changes the deadline, also for queries that are waiting for an answer. */
  hurry(deadlineMs: number): void {
    this.#deadlineMs = deadlineMs;
    this.#arm();
  }

  /** Restarts the timer of the deadline if a query is waiting; otherwise stops it. */
  #arm(): void {
    clearTimeout(this.#deadline ?? undefined);
    this.#deadline = this.#asked > 0 ? setTimeout(() => void this.close(), this.#deadlineMs) : null;
  }

  /**
   * Runs a query. Without an answer in time, closes the connection. The server may still carry out the query.
   */
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
