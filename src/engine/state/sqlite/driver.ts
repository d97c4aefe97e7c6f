/** The SQLite driver. Its library is synchronous: a statement has run before its promise is returned. */
import { dirname } from 'node:path';
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import type { Database, Reader, Transaction, Value } from '../database.js';
import { stateError } from '../folder.js';

/** The number of the error of wrong SQL. */
const WRONG_SQL = 1;

/**
 * Caches prepared statements: preparing one takes three times as long as running it, and each request runs
 * ten.
 */
class Statements implements Transaction {
  readonly #kept = new Map<string, StatementSyncInstance>();

  constructor(private readonly db: DatabaseSyncInstance) {}

  async all<T>(sql: string, ...values: Value[]): Promise<T[]> {
    return this.#of(sql).all(...values) as T[];
  }

  async get<T>(sql: string, ...values: Value[]): Promise<T | undefined> {
    return this.#of(sql).get(...values) as T | undefined;
  }

  async *each<T>(sql: string, ...values: Value[]): AsyncGenerator<T> {
    for (const row of this.#of(sql).iterate(...values)) yield row as T;
  }

  async run(sql: string, ...values: Value[]): Promise<number> {
    return Number(this.#of(sql).run(...values).changes);
  }

  #of(sql: string): StatementSyncInstance {
    const statement = this.#kept.get(sql) ?? this.db.prepare(sql);
    this.#kept.set(sql, statement);
    return statement;
  }
}

/** The last transaction of this process in each database, by path. */
const transactions = new Map<string, Promise<unknown>>();

/**
 * Runs transactions in one database in turn, also those of different connections of this process. Without
 * this, a connection would wait for the lock of another one synchronously, which blocks the event loop, so
 * the other one could not commit.
 */
function inTurn<T>(file: string, work: () => Promise<T>): Promise<T> {
  const turn = (transactions.get(file) ?? Promise.resolve()).then(work);
  const ended = turn.then(
    () => {},
    () => {},
  );
  transactions.set(file, ended);
  void ended.then(() => {
    if (transactions.get(file) === ended) transactions.delete(file);
  });
  return turn;
}

export class SqliteDatabase implements Database {
  readonly #statements: Statements;
  /** Whether something uses the connection exclusively. `#waiting` get it in order. */
  #taken = false;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly db: DatabaseSyncInstance,
    private readonly end: (db: DatabaseSyncInstance) => void = () => db.close(),
  ) {
    this.#statements = new Statements(db);
  }

  async read<T>(work: (on: Reader) => Promise<T>): Promise<T> {
    try {
      return await this.alone(async (db) => {
        db.exec('BEGIN');
        try {
          return await work(this.#statements);
        } finally {
          if (db.isTransaction) db.exec('ROLLBACK');
        }
      });
    } catch (error) {
      throw this.#unreadable(error);
    }
  }

  /**
   * Takes the write lock at the start (`BEGIN IMMEDIATE`), so that a transaction cannot fail later because of
   * it.
   */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.alone((db) =>
      inTurn(db.location() ?? '', async () => {
        db.exec('BEGIN IMMEDIATE');
        try {
          const result = await work(this.#statements);
          db.exec('COMMIT');
          return result;
        } catch (error) {
          // On a full disk, for example, SQLite has already rolled back.
          if (db.isTransaction) db.exec('ROLLBACK');
          throw error;
        }
      }),
    );
  }

  /** Runs work that needs the connection itself. Nothing else uses it in the meantime. */
  async alone<T>(work: (db: DatabaseSyncInstance) => T | Promise<T>): Promise<T> {
    if (this.#taken) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#taken = true;
    try {
      return await work(this.db);
    } finally {
      // Passes the connection directly to the next waiter, so that no other caller can take it in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#taken = false;
    }
  }

  close(): Promise<void> {
    return this.alone((db) => this.end(db));
  }

  /** A file that is damaged or cannot be read is not a bug. Wrong SQL is one. */
  #unreadable(error: unknown): unknown {
    const { code, errcode } = error as { code?: string; errcode?: number };
    if (code !== 'ERR_SQLITE_ERROR' || errcode === WRONG_SQL) return error;
    return stateError(error, 'read the state', dirname(this.db.location() ?? ''));
  }
}
