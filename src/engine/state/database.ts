/** A database that can hold the state: what the stores need of it, whichever it is. */

export type Value = string | number | bigint | null | Uint8Array;

/**
 * SQL with `?` or `?1` placeholders, in the dialect that SQLite and PostgreSQL share; booleans are 0 and 1; INTEGER is 64
 * bits and comes back as a number; bytes as Uint8Array.
 */
export interface Reader {
  all<T>(sql: string, ...values: Value[]): Promise<T[]>;
  /** The first row. */
  get<T>(sql: string, ...values: Value[]): Promise<T | undefined>;
  /** Row by row, without holding them all. Whoever reads asks for nothing else until it has ended. */
  each<T>(sql: string, ...values: Value[]): AsyncIterable<T>;
}

export interface Transaction extends Reader {
  /** @returns rows changed; for RETURNING there are `all` and `get` */
  run(sql: string, ...values: Value[]): Promise<number>;
}

export interface Database extends Reader {
  /**
   * One transaction, on disk when it resolves; transactions and single statements of one Database never interleave, and
   * begin in the order in which they were asked for. `work` asks only `tx`: the database itself would wait for its end.
   */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
