/** SQLite as a database of the state. Its library blocks: a statement has run when its promise is made. */
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import type { Database, Transaction, Value } from '../database.js';

/** The statements of one connection. Preparing takes three times as long as running, and a request runs ten: each is prepared once. */
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

export class SqliteDatabase implements Database {
  readonly #statements: Statements;
  /** Somebody has the connection to itself; `#waiting` get it in order. */
  #taken = false;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly db: DatabaseSyncInstance,
    private readonly end: (db: DatabaseSyncInstance) => void = () => db.close(),
  ) {
    this.#statements = new Statements(db);
  }

  all<T>(sql: string, ...values: Value[]): Promise<T[]> {
    return this.alone(() => this.#statements.all<T>(sql, ...values));
  }

  get<T>(sql: string, ...values: Value[]): Promise<T | undefined> {
    return this.alone(() => this.#statements.get<T>(sql, ...values));
  }

  async *each<T>(sql: string, ...values: Value[]): AsyncGenerator<T> {
    await this.#take();
    try {
      yield* this.#statements.each<T>(sql, ...values);
    } finally {
      this.#release();
    }
  }

  /** It takes the write lock at once, so that it cannot fail half-way for want of it. */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.alone(async (db) => {
      db.exec('BEGIN IMMEDIATE');
      try {
        const result = await work(this.#statements);
        db.exec('COMMIT');
        return result;
      } catch (error) {
        try {
          db.exec('ROLLBACK');
        } catch {
          // SQLite has rolled back by itself (disk full does that).
        }
        throw error;
      }
    });
  }

  /** For what only SQLite has: while it works, nothing else happens on the connection. */
  async alone<T>(work: (db: DatabaseSyncInstance) => T | Promise<T>): Promise<T> {
    if (this.#taken) await this.#take();
    else this.#taken = true;
    try {
      return await work(this.db);
    } finally {
      this.#release();
    }
  }

  close(): Promise<void> {
    return this.alone((db) => this.end(db));
  }

  async #take(): Promise<void> {
    if (this.#taken) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#taken = true;
  }

  /** Whoever is next has it from now on: nobody comes in between. */
  #release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }
}
