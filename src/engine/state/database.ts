/** The interface of a database, for the classes that contain SQL. */

export type Value = string | number | bigint | null | Uint8Array;

/**
 * Reads with SQL in the dialect that SQLite and PostgreSQL share, with placeholders `?` or `?1`. Booleans are
 * 0 and 1. 64-bit integers are returned as numbers, and bytes as Uint8Array.
 */
export interface Reader {
  /** All rows. */
  all<T>(sql: string, ...values: Value[]): Promise<T[]>;
  /** The first row; undefined if there is none. */
  get<T>(sql: string, ...values: Value[]): Promise<T | undefined>;
  /** Reads row by row, without all rows in memory. Run no other query until it has ended. */
  each<T>(sql: string, ...values: Value[]): AsyncIterable<T>;
}

export interface Transaction extends Reader {
  /** @returns the number of changed rows. For statements with RETURNING, use `all` or `get` */
  run(sql: string, ...values: Value[]): Promise<number>;
}

export interface Database extends Reader {
  /**
   * Runs one transaction, which is on disk when this resolves. Transactions and single statements of one
   * Database never overlap, and begin in the order in which they were requested.
   * @param work must use only `tx`: a query of the database would wait for the end of the transaction,
   * forever. May run more than once, if a lost connection undoes the transaction
   */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
