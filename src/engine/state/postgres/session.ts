/** One connection to PostgreSQL: runs queries with a deadline, and knows whether it can still be used after a failure. */
import type { Client, QueryResult } from 'pg';
import { ProfilesError, StateError } from '../../errors.js';
import { type Query, raw, sql, textOf } from '../database.js';
import type { PostgresLocation } from '../location.js';

/** Rows that a cursor fetches at a time. Few, because a row of fingerprints may have 120 KB. */
const ROWS_AT_ONCE = 4;

/** Quotes a name. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Quotes a text, in a form that does not depend on the server's setting for backslashes. */
export const literal = (text: string): string =>
  `${text.includes('\\') ? ' E' : ''}'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

export class Session {
  #isBroken = false;
  #cursors = 0;
  /** Of the query without an answer. */
  #deadline: NodeJS.Timeout | undefined;

  /** @param deadlineMs how long to wait for the answer to a statement, in milliseconds */
  constructor(
    private readonly client: Client,
    private deadlineMs: number,
  ) {}

  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Runs one statement in the dialect that SQLite and PostgreSQL share. */
  async query(query: Query): Promise<QueryResult> {
    const [text, values] = textOf(query, (number) => `$${number}`);
    const translated = text.replace(/\binstr\((\w+), (\$\d+)\)/g, 'position($2 IN $1)');
    return this.#ask(() => this.client.query(translated, [...values]));
  }

  /** Runs several PostgreSQL statements in one round trip. @returns the result of each */
  async script(statements: readonly string[]): Promise<QueryResult[]> {
    const query = async (): Promise<unknown> => this.client.query(statements.join('; '));
    return [await this.#ask(query)].flat() as QueryResult[];
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

  /** Changes the deadline, also for the query that is waiting for an answer. */
  hurry(deadlineMs: number): void {
    this.deadlineMs = deadlineMs;
    if (this.#deadline) this.#wait();
  }

  #wait(): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => void this.close(), this.deadlineMs);
  }

  /**
   * Runs a query. Without an answer in time, closes the connection. The server may still carry out the query.
   */
  async #ask<T>(query: () => Promise<T>): Promise<T> {
    this.#wait();
    try {
      return await query();
    } catch (error) {
      this.#isBroken ||= isPassing(error);
      throw error;
    } finally {
      clearTimeout(this.#deadline);
      this.#deadline = undefined;
    }
  }
}

/**
 * SQLSTATEs after which a new connection or another attempt may succeed: connection exceptions, including those of
 * PgBouncer (class 08); read-only, as a server that was demoted, or a standby (25006); idle in a transaction for too long
 * (25P03); deadlock and serialization (class 40); too many connections (53300); a lock not available in time (55P03);
 * canceled, also by a timeout (57014); shut down, crashed, or starting up (57P01 to 57P03).
 */
const PASSING = /^(08...|25006|25P03|40...|53300|55P03|57014|57P0[123])$/;

/** Errors of Node and `pg`: the connection was lost, or there was none. */
const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|EAI_AGAIN|ERR_STREAM|ERR_SSL|ERR_SOCKET)/;
const TERMINATED = /Connection terminated|timeout expired|not queryable|connection error/i;

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');

/** Whether a failure may be temporary. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ProfilesError) return false;
  const code = codeOf(error);
  return PASSING.test(code) || NETWORK.test(code) || TERMINATED.test((error as Error).message ?? '');
}

/** What to do about a failure: how its code and message begin or what they have, and the hint. The first that fits counts. */
const ADVICE: readonly [code: RegExp, message: RegExp | null, hint: string][] = [
  [/^53100$/, null, 'free disk space on the database server, then resume'],
  [/^25006$/, null, 'name the primary server, or all servers separated by commas'],
  [/^28/, /password/i, 'check user and password: PGPASSWORD, a password file, or the URL in the environment'],
  [/^3D000$/, null, 'create the database first, or check its name'],
  [/^42501$/, null, 'grant USER the rights on schema SCHEMA that docs/machines.md lists'],
  [/CERT|UNABLE_TO/, /certificate|self.signed/i, 'name the certificate of its authority with sslrootcert'],
  [/SSL/, /SSL/, 'choose another sslmode, or turn on TLS on the server'],
  [/^ENOTFOUND$/, null, 'check the host in the URL'],
];

/**
 * Makes an error with advice. Messages of the server contain no password.
 * @param doing such as `record in`
 */
export function failureOf(
  error: unknown,
  doing: string,
  { name, user, schema }: PostgresLocation,
): ProfilesError {
  if (error instanceof ProfilesError) return error;
  const code = codeOf(error);
  const { message } = error as Error;
  const known = ADVICE.find(([codes, texts]) => codes.test(code) || texts?.test(message));
  const otherwise = isPassing(error)
    ? 'check that the database can be reached, then resume'
    : 'check the database';
  const hint = known?.[2].replace('USER', () => user).replace('SCHEMA', () => schema) ?? otherwise;
  const why = code === 'ENOTFOUND' ? 'no such host' : message || code;
  return new StateError(`cannot ${doing} ${name}: ${why}`, { hint, cause: error });
}
