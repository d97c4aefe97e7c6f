/** The interface of a database, for the stores, which contain SQL. */

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
  /** Reads row by row, without all rows in memory. */
  each<T>(sql: string, ...values: Value[]): AsyncIterable<T>;
}

export interface Transaction extends Reader {
  /** @returns the number of changed rows. For statements with RETURNING, use `all` or `get` */
  run(sql: string, ...values: Value[]): Promise<number>;
}

/**
 * Reads and transactions of one database never overlap, and begin in the order in which they were requested. Work must
 * use only what is passed to it: with the database itself, it would wait for its own end, forever. It may run again from
 * its start, if a connection was lost.
 */
export interface Database {
  /** Everything is read as of one point in time. */
  read<T>(work: (on: Reader) => Promise<T>): Promise<T>;
  /** Runs one transaction, which is on disk when this resolves. */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A row to write, by column. */
export type Row = Readonly<Record<string, Value>>;

export const insertSql = (table: string, columns: readonly string[], rows = 1): string => {
  const marks = `(${columns.map(() => '?').join(', ')})`;
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array(rows).fill(marks).join(', ')}`;
};

/** Inserts rows that have the same columns. */
export async function insert(tx: Transaction, table: string, ...rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0]!);
  const values = rows.flatMap((row) => columns.map((column) => row[column]!));
  await tx.run(insertSql(table, columns, rows.length), ...values);
}
