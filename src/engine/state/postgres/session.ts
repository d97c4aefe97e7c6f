/** One connection to PostgreSQL: runs queries with a deadline, and knows whether it can still be used. */
import type { Client, QueryResult } from 'pg';
import { type Query, raw, sql, textOf, type Value } from '../database.js';
import { connect } from './connect.js';
import { isPassing, keepsConnection } from './failure.js';
import type { PostgresLocation } from './location.js';

/** Rows that a cursor fetches at a time. Few, because a row of fingerprints may have 120 KB. */
const ROWS_AT_ONCE = 4;

/** Quotes a name. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Quotes a text, in a form that does not depend on the server's setting for backslashes. */
export const literal = (text: string): string =>
  `${text.includes('\\') ? ' E' : ''}'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/** Makes a value for `pg`. Replaces NUL, which a text in PostgreSQL cannot contain. */
const parameter = (value: Value): unknown =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;

export class Session {
  #isBroken = false;
  #cursors = 0;
  #deadline: NodeJS.Timeout | undefined;
  /** Number of queries without an answer. */
  #asked = 0;

  /** @param deadlineMs how long to wait for the answer to a statement, in milliseconds */
  private constructor(
    private readonly client: Client,
    private deadlineMs: number,
  ) {}

  static async open(location: PostgresLocation, deadlineMs: number): Promise<Session> {
    return new Session(await connect(location), deadlineMs);
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Runs one statement in the dialect that SQLite and PostgreSQL share. */
  async query(query: Query): Promise<QueryResult> {
    const [text, values] = textOf(query, (number) => `$${number}`);
    const translated = text.replace(/\binstr\((\w+), (\$\d+)\)/g, 'position($2 IN $1)');
    return this.#ask(() => this.client.query(translated, values.map(parameter)));
  }

  /** Runs several PostgreSQL statements in one round trip. @returns the result of each */
  async script(statements: readonly string[]): Promise<QueryResult[]> {
    const query = async (): Promise<unknown> => this.client.query(statements.join('; '));
    const results = await this.#ask(query);
    return (Array.isArray(results) ? results : [results]) as QueryResult[];
  }

  /** Reads the rows of a query one by one with a cursor. Must be called in a transaction. */
  async *each<T>(query: Query): AsyncGenerator<T> {
    const cursor = `rows_${++this.#cursors}`;
    const rows = typeof query === 'string' ? raw(query) : query;
    await this.query(sql`DECLARE ${raw(cursor)} NO SCROLL CURSOR FOR ${rows}`);
    for (let taken = ROWS_AT_ONCE; taken === ROWS_AT_ONCE; ) {
      const { rows } = await this.query(`FETCH ${ROWS_AT_ONCE} FROM ${cursor}`);
      taken = rows.length;
      yield* rows as T[];
    }
    await this.query(`CLOSE ${cursor}`);
  }

  /** Rolls back the current transaction. Never throws: if it fails, the connection counts as broken. */
  async rollback(): Promise<void> {
    if (this.#isBroken) return;
    await this.script(['ROLLBACK']).catch(() => {
      this.#isBroken = true;
    });
  }

  async close(): Promise<void> {
    this.#isBroken = true;
    await this.client.end().catch(() => {});
  }

  /** Changes the deadline, also for queries that are waiting for an answer. */
  hurry(deadlineMs: number): void {
    this.deadlineMs = deadlineMs;
    this.#arm();
  }

  /** Restarts the timer of the deadline if a query is waiting; otherwise stops it. */
  #arm(): void {
    clearTimeout(this.#deadline);
    if (this.#asked > 0) this.#deadline = setTimeout(() => void this.close(), this.deadlineMs);
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
