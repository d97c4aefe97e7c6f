/** SQL with its values, the interface of a database, and the JSON in its columns, for the stores, which contain SQL. */
import { StateError } from '../errors.js';

export type Value = string | number | bigint | null | Uint8Array;

/**
 * SQL in the dialect that SQLite and PostgreSQL share, and the values between its texts. Booleans are 0 and 1. 64-bit
 * integers are returned as numbers, and bytes as Uint8Array.
 */
export class Sql {
  constructor(
    readonly texts: readonly string[],
    readonly values: readonly Value[] = [],
  ) {}
}

/** Makes SQL from a template. What is SQL is inserted as it is; everything else is a value. */
export function sql(texts: readonly string[], ...parts: readonly (Value | Sql)[]): Sql {
  const made = [texts[0]!];
  const values: Value[] = [];
  const append = (text: string): void => {
    made[made.length - 1] += text;
  };
  // By index, without copies: each request needs a dozen of these.
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]!;
    if (part instanceof Sql) {
      append(part.texts[0]!);
      for (let next = 1; next < part.texts.length; next++) made.push(part.texts[next]!);
      for (const value of part.values) values.push(value);
    } else {
      made.push('');
      values.push(part);
    }
    append(texts[at + 1]!);
  }
  return new Sql(made, values);
}

/** A text as SQL: a name, or a number that an index needs in the text. */
export const raw = (text: string): Sql => new Sql([text]);

/** Values or SQL, separated by commas unless said otherwise. */
export const joined = (parts: readonly (Value | Sql)[], by = ', '): Sql =>
  sql(['', ...parts.slice(1).map(() => by), ''], ...parts);

/** A row to write, by column. */
export type Row = Readonly<Record<string, Value | Sql>>;

/** Rows that have the same columns. */
export function insertInto(table: string, ...rows: readonly Row[]): Sql {
  const columns = Object.keys(rows[0]!);
  const values = rows.map((row) => sql`(${joined(columns.map((column) => row[column]!))})`);
  return sql`INSERT INTO ${raw(`${table} (${columns.join(', ')})`)} VALUES ${joined(values)}`;
}

/** @param changing the columns that a row with the same key gets */
export const upsertInto = (table: string, key: string, row: Row, changing: readonly string[]): Sql =>
  sql`${insertInto(table, row)} ON CONFLICT (${raw(key)}) DO UPDATE
    SET ${raw(changing.map((column) => `${column} = excluded.${column}`).join(', '))}`;

/** A text has no values. */
export type Query = Sql | string;

/** The text of a query with marks for its values. @param mark the mark of a value, by its number from 1 */
export function textOf(
  query: Query,
  mark: (number: number) => string,
): [text: string, values: readonly Value[]] {
  if (typeof query === 'string') return [query, []];
  return [query.texts.reduce((text, next, at) => text + mark(at) + next), query.values];
}

export interface Reader {
  /** All rows. */
  all<T>(query: Query): Promise<T[]>;
  /** The first row; undefined if there is none. */
  get<T>(query: Query): Promise<T | undefined>;
  /** Reads row by row, without all rows in memory. */
  each<T>(query: Query): AsyncIterable<T>;
}

export interface Transaction extends Reader {
  /** @returns the number of changed rows. For statements with RETURNING, use `all` or `get` */
  run(query: Query): Promise<number>;
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

/** Runs work one at a time, in the order in which it was requested. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(work: () => T | Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    return mine;
  }
}

/** Only this program writes the JSON that tables hold, so JSON of another form means a damaged database. */
const OBJECT = /^\{"/;

/** All columns with JSON: the table, the column, how its text begins, and what its record is. */
export const STORED = {
  run: ['runs', 'record', OBJECT, 'run'],
  summary: ['runs', 'summary', OBJECT, 'run'],
  request: ['requests', 'record', OBJECT, 'run'],
  job: ['jobs', 'record', OBJECT, 'job'],
  rejects: ['rejects', 'record', OBJECT, 'run'],
  mark: ['rejects', 'mark', OBJECT, 'run'],
  lines: ['history', 'lines', /^\[[[\]]/, 'run'],
  cellKeys: ['fingerprints', 'keys', /^\[["\]]/, 'batch'],
  companies: ['scopes', 'companies_types', /^\[[[\]]/, 'account'],
  users: ['scopes', 'users_types', /^\[[[\]]/, 'account'],
} as const;

type Column = (typeof STORED)[keyof typeof STORED];

/**
 * The value in a column with JSON.
 * @param record its run, job, or batch
 * @throws StateError if it is damaged
 */
export function storedJson<T>(
  text: string,
  [table, column, start, what]: Column,
  record: string | number,
): T {
  try {
    if (start.test(text)) return JSON.parse(text) as T;
  } catch {
    // As if it began in another way.
  }
  throw new StateError(`the state is damaged: ${what} ${record} has damaged JSON in ${table}.${column}`, {
    hint: 'restore a copy of it, or use another folder',
    problem: { code: 'state_damaged' },
  });
}

/** As `storedJson`, where the column may be empty. */
export const storedOrNull = <T>(text: string | null, column: Column, record: string | number): T | null =>
  text === null ? null : storedJson<T>(text, column, record);
