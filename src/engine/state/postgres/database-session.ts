/** One connection: queries with a deadline, and whether it can be used any further. */
import { once } from 'node:events';
import pg, { type Client, type QueryResult } from 'pg';
import { Channel } from '../../channel.js';
import type { Value } from '../database.js';
import { connect } from './connect.js';
import { isPassing, keepsConnection } from './failure.js';
import type { PostgresLocation } from './location.js';
import { parameter, translate } from './sql.js';

/** Rows that a cursor brings at a time: one of fingerprints may be 120 KB, and what was brought is not given back at once. */
const ROWS_AT_ONCE = 4;

export class DatabaseSession {
  #isBroken = false;
  #cursors = 0;
  #deadlineMs: number;
  #deadline: NodeJS.Timeout | null = null;
  /** Queries that were not answered yet: while rows come in, another one may be asked. */
  #asked = 0;

  /** @param deadlineMs for the answer to a statement */
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

  /** One statement in the dialect that both databases share. */
  async query(sql: string, values: readonly Value[]): Promise<QueryResult> {
    return this.#ask(() => this.client.query(translate(sql), values.map(parameter)));
  }

  /** Statements of PostgreSQL's own, in one message. @returns what each of them gave */
  async script(statements: readonly string[]): Promise<QueryResult[]> {
    const query = async (): Promise<unknown> => this.client.query(statements.join('; '));
    const results = await this.#ask(query);
    return (Array.isArray(results) ? results : [results]) as QueryResult[];
  }

  /** Within a transaction: the rows of a query as they are wanted. */
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

  /** The rows of an answer as they come: none of them waits in memory for those after it. */
  async *#rowsOf<T>(sql: string): AsyncGenerator<T> {
    const rows = new Channel<T>();
    const query = new pg.Query(sql);
    query.on('row', (row) => rows.push(row as T));
    const answered = this.#ask(async () => {
      const end = once(query, 'end');
      this.client.query(query);
      await end;
    }).finally(() => rows.close());
    // It is thrown below; whoever leaves early does not want to know.
    const settled = answered.catch(() => {});
    try {
      yield* rows;
    } finally {
      await settled;
    }
    await answered;
  }

  /** Undoes what was not committed. It never fails: a connection that cannot do that is not used any more. */
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

  /** From now on, answers that take longer than this are not waited for. */
  hurry(deadlineMs: number): void {
    this.#deadlineMs = deadlineMs;
    this.#arm();
  }

  /** A query is waited for from now on, where there is one. */
  #arm(): void {
    clearTimeout(this.#deadline ?? undefined);
    this.#deadline = this.#asked > 0 ? setTimeout(() => void this.close(), this.#deadlineMs) : null;
  }

  /** No answer in time ends the connection: what was asked may still be carried out. */
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
