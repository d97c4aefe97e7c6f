/**
 * Numbers the writes of a process. Each transaction stores its number in the table `writers`. So this process
 * can find out whether a commit without an answer was carried out, and whether the database has lost a
 * commit.
 */
import { randomUUID } from 'node:crypto';
import { StateError } from '../../errors.js';
import type { PostgresLocation } from './location.js';
import { literal, quoted } from './sql.js';

export class WriteNumbers {
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
