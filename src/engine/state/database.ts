/** What the stores need of a database, whichever it is. */

export type Value = string | number | bigint | null | Uint8Array;

/**
 * SQL with `?` or `?1` placeholders, in the dialect that SQLite and PostgreSQL share; booleans are 0 and 1; INTEGER is 64
 * bits and comes back as a number; bytes as Uint8Array.
 */
export interface Reader {
  all<T>(sql: string, ...values: Value[]): Promise<T[]>;
  /** The first row. */
  get<T>(sql: string, ...values: Value[]): Promise<T | undefined>;
  /** Row by row, without holding them all. Run no other query until it has ended. */
  each<T>(sql: string, ...values: Value[]): AsyncIterable<T>;
}

export interface Transaction extends Reader {
  /** @returns the number of changed rows; for RETURNING, use `all` and `get` */
  run(sql: string, ...values: Value[]): Promise<number>;
}

export interface Database extends Reader {
  /**
   * Runs one transaction, which is on disk when this resolves. Transactions and single statements of a Database never
   * interleave, and begin in the order in which they were requested. `work` must query only `tx`: a query of the
   * database would wait for its end.
   */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
