/**
 * Numbers the writes of a process: each leaves its number in the database when it commits. So it is known whether a
 * commit without an answer was carried out, and whether a commit was lost.
 */
import { randomUUID } from 'node:crypto';
import { StateError } from '../../errors.js';
import type { PostgresLocation } from './location.js';
import { literal, quoted } from './sql.js';

export class WriteNumbers {
  readonly #name = literal(randomUUID());
  #written = 0;
  /** The last write whose commit was confirmed. */
  #committed = 0;

  constructor(private readonly location: PostgresLocation) {}

  /** The number of the next write. */
  next(): number {
    return ++this.#written;
  }

  /** A query for the number in the database. */
  get query(): string {
    return `SELECT number FROM writers WHERE writer = ${this.#name}`;
  }

  /**
   * Whether the write of this number was committed before.
   * @param rows of the query
   * @throws StateError if a committed write is missing
   */
  isCommitted(number: number, rows: readonly Record<string, unknown>[]): boolean {
    const last = rows[0]?.number as number | undefined;
    if ((last ?? 0) < this.#committed) throw this.#wentBack();
    return last === number;
  }

  /**
   * SQL that leaves the number in the transaction of a write. The first one also deletes old marks of other processes.
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
   * SQL that deletes the mark of this process; null if there is none. It names the schema, because it runs outside a
   * transaction.
   */
  get forget(): string | null {
    if (this.#written === 0) return null;
    return `DELETE FROM ${quoted(this.location.schema)}.writers WHERE writer = ${this.#name}`;
  }

  /** The database lacks a committed write: after a failover to a standby, or from a restored copy. */
  #wentBack(): StateError {
    return new StateError(
      `${this.location.name} has lost what was recorded in it a moment ago, as after a failover; nothing more is sent`,
      { problem: { code: 'state_went_back' } },
    );
  }
}
