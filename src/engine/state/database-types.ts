export type Value = string | number | bigint | null | Uint8Array;

/** SQL with `?` or `?1` placeholders, in the dialect that SQLite and PostgreSQL share. */
export interface Reader {
  all<T>(sql: string, ...values: Value[]): Promise<T[]>;
  get<T>(sql: string, ...values: Value[]): Promise<T | undefined>;
  /** Row by row, without holding them all. */
  each<T>(sql: string, ...values: Value[]): AsyncIterable<T>;
}

export interface Transaction extends Reader {
  /** @returns rows changed */
  run(sql: string, ...values: Value[]): Promise<number>;
}

export interface Database extends Reader {
  /** One transaction, on disk when it resolves; transactions and single statements of one Database never interleave. */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
