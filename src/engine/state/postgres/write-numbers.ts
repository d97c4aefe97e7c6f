/**
 * What a process is known by to the database: each of its writes has a number, and leaves it there when it commits. So it
 * is known whether a commit without an answer was carried out, and whether one was lost.
 */
import { randomUUID } from 'node:crypto';
import { StateError } from '../../errors.js';
import type { PostgresLocation } from './location.js';
import { literal, quoted } from './sql.js';

export class WriteNumbers {
  readonly #name = literal(randomUUID());
  #written = 0;
  /** The last write that the database said it had committed. */
  #committed = 0;

  constructor(private readonly location: PostgresLocation) {}

  /** The number of the next write. */
  next(): number {
    return ++this.#written;
  }

  /** A query of what the database has of it. */
  get query(): string {
    return `SELECT number FROM writers WHERE writer = ${this.#name}`;
  }

  /**
   * Whether the write of this number was committed before.
   * @param rows of the query
   * @throws StateError where what was committed is not there any more
   */
  isCommitted(number: number, rows: readonly Record<string, unknown>[]): boolean {
    const last = rows[0]?.number as number | undefined;
    if ((last ?? 0) < this.#committed) throw this.#wentBack();
    return last === number;
  }

  /** In the transaction of a write: it is committed with it, or not at all. The first one drops marks that nobody asks for. */
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

  /** Drops its mark; null where it has none. Outside of a transaction, the schema is to be named. */
  get forget(): string | null {
    if (this.#written === 0) return null;
    return `DELETE FROM ${quoted(this.location.schema)}.writers WHERE writer = ${this.#name}`;
  }

  /** After a failover to a standby that lacks it, or a restored copy. */
  #wentBack(): StateError {
    return new StateError(
      `${this.location.name} has lost what was recorded in it a moment ago, as after a failover; nothing more is sent`,
      { problem: { code: 'state_went_back' } },
    );
  }
}
