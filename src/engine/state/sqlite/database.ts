/** The SQLite driver, and how the database of a state directory is opened and checked. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite';
import { StateError } from '../../errors.js';
import { privateFile } from '../../util/private-folder.js';
import { pause, useWriteAheadLog } from '../../util/sqlite.js';
import type { Backend } from '../backend.js';
import { type Database, type Query, type Reader, type Transaction, Turns, textOf } from '../database.js';
import { databaseFile, stateError, stateFolder } from '../folder.js';
import { MIGRATIONS, markOf, missingIn } from '../schema.js';

/** How long to wait for the transaction of another process, in milliseconds. */
const BUSY_MS = 10_000;
const BUSY_STEP_MS = 20;
/** The result code of SQLite for a lock of another connection. */
const SQLITE_BUSY = 5;

/** How long another process may take to create the database, in milliseconds. */
const CREATE_MS = 1_000;

/**
 * Caches prepared statements: preparing one takes three times as long as running it, and each request runs
 * ten. The library is synchronous: a statement has run before its promise is returned.
 */
class Statements implements Transaction {
  readonly #kept = new Map<string, StatementSyncInstance>();

  constructor(private readonly db: DatabaseSyncInstance) {}

  all = async <T>(query: Query): Promise<T[]> => this.#ask(query, 'all') as T[];
  get = async <T>(query: Query): Promise<T | undefined> => this.#ask(query, 'get') as T | undefined;
  run = async (query: Query): Promise<number> =>
    Number((this.#ask(query, 'run') as { changes: number }).changes);

  async *each<T>(query: Query): AsyncGenerator<T> {
    yield* this.#ask(query, 'iterate') as Iterable<T>;
  }

  #ask(query: Query, how: 'all' | 'get' | 'run' | 'iterate'): unknown {
    const [text, values] = textOf(query, () => '?');
    const statement = this.#kept.get(text) ?? this.db.prepare(text);
    this.#kept.set(text, statement);
    return statement[how](...values);
  }
}

/** The turns to write in each database, by path. */
const turns = new Map<string, Turns>();

/**
 * Transactions of different connections of this process take turns, too. Otherwise, a connection would wait for the lock
 * of another one synchronously, which blocks the event loop, so the other one could not commit.
 */
function turnsIn(file: string): Turns {
  const known = turns.get(file) ?? new Turns();
  turns.set(file, known);
  return known;
}

export class SqliteDatabase implements Database {
  readonly #statements: Statements;
  /** For what uses the connection. */
  readonly #own = new Turns();

  constructor(private readonly db: DatabaseSyncInstance) {
    this.#statements = new Statements(db);
  }

  read<T>(work: (on: Reader) => Promise<T>): Promise<T> {
    const reading = this.alone(async (db) => {
      db.exec('BEGIN');
      try {
        return await work(this.#statements);
      } finally {
        if (db.isTransaction) db.exec('ROLLBACK');
      }
    });
    return reading.catch((error: unknown) => {
      // What others threw while they read is not a failure of the state.
      if ((error as { code?: string }).code !== 'ERR_SQLITE_ERROR') throw error;
      throw stateError(error, 'read the state', dirname(this.db.location() ?? ''));
    });
  }

  /**
   * Takes the write lock at the start (`BEGIN IMMEDIATE`), so that a transaction cannot fail later because of
   * it.
   */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.alone((db) =>
      turnsIn(db.location() ?? '').take(async () => {
        await begin(db);
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
  alone<T>(work: (db: DatabaseSyncInstance) => T | Promise<T>): Promise<T> {
    return this.#own.take(() => work(this.db));
  }

  /**
   * Checkpoints the write-ahead log, and closes the database. Prepared statements that are not garbage-collected yet keep
   * the connection open in part, so closing alone could leave a large log on disk.
   */
  close(): Promise<void> {
    return this.alone((db) => {
      try {
        db.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE);');
      } catch {
        // Ignored: the next process that opens the database reads the log.
      }
      db.close();
    });
  }
}

/** Takes the write lock. SQLite would wait for that of another process in one call, and signals with it. */
async function begin(db: DatabaseSyncInstance): Promise<void> {
  const until = performance.now() + BUSY_MS;
  for (;;) {
    try {
      return db.exec(`PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; PRAGMA busy_timeout = ${BUSY_MS}`);
    } catch (error) {
      db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
      if ((error as { errcode?: number }).errcode !== SQLITE_BUSY || performance.now() > until) throw error;
    }
    await sleep(BUSY_STEP_MS);
  }
}

/**
 * Opens `state.db` in a folder, in WAL mode with `synchronous = FULL` (contract §4): when a commit returns,
 * it is on disk. Several processes may have the database open. A writer waits up to `BUSY_MS` for another
 * one.
 * @throws StateError, also if another version wrote the database, or if it was emptied
 */
export function openDatabase(folder: string, migrations = MIGRATIONS): SqliteDatabase {
  const file = databaseFile(stateFolder(folder));
  let db: DatabaseSyncInstance | undefined;
  try {
    for (const end of ['', '-wal', '-shm']) if (existsSync(file + end)) privateFile(file + end);
    refuseEmptied(file);
    privateFile(file); // before SQLite opens it, which gives its other files the same mode
    db = new DatabaseSync(file, { timeout: BUSY_MS });
    // It works only in a new database, and would take the write lock in any other one.
    if (pragma(db, 'page_count') === 0) db.exec('PRAGMA auto_vacuum = INCREMENTAL;');
    useWriteAheadLog(db, BUSY_MS);
    db.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;');
    migrate(db, file, migrations);
    return new SqliteDatabase(db);
  } catch (error) {
    db?.close();
    throw stateError(error, 'open the state database', file);
  }
}

/**
 * Refuses a database of 0 bytes beside locks, which only imports with a database create: its records are lost,
 * and SQLite would begin again without a word. If another process has just created it, it does not stay empty.
 */
function refuseEmptied(file: string): void {
  const locks = join(dirname(file), 'locks');
  const until = performance.now() + CREATE_MS;
  while (statSync(file, { throwIfNoEntry: false })?.size === 0) {
    if (!existsSync(locks) || !readdirSync(locks).some((name) => name.endsWith('.lock'))) return;
    if (performance.now() > until) {
      throw new StateError(`${file} is empty (0 bytes), and imports have used it: its records are lost`, {
        hint: 'restore a copy of it, or delete it to begin again: then every row is new, and nothing can be resumed',
        problem: { code: 'state_emptied', file },
      });
    }
    pause();
  }
}

const pragma = (db: DatabaseSyncInstance, name: string): number =>
  (db.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[name]!;

function migrate(db: DatabaseSyncInstance, file: string, migrations: readonly string[]): void {
  const missing = (): readonly string[] =>
    missingIn(pragma(db, 'user_version'), migrations, { name: file, place: 'folder' });
  if (missing().length === 0) return;
  // If one fails, the database is closed, which rolls everything back.
  db.exec('BEGIN IMMEDIATE');
  // Read again inside the transaction: another process may have been first.
  for (const migration of missing()) db.exec(migration);
  db.exec(`PRAGMA user_version = ${markOf(migrations)}`);
  db.exec('COMMIT');
}

/** The most damages that are listed. */
const MOST_NAMED = 10;

export async function damagesOf(db: Database): ReturnType<Backend['damages']> {
  const list = <T>(pragma: string): Promise<T[]> => db.read((on) => on.all<T>(`PRAGMA ${pragma}`));
  try {
    const lines = await list<{ integrity_check: string }>(`integrity_check(${MOST_NAMED})`);
    const integrity = lines.map((line) => line.integrity_check).filter((line) => line !== 'ok');
    if (integrity.length > 0) return { integrity };
  } catch (error) {
    // The damage is so severe that the database cannot be checked.
    const { message } = ((error as Error).cause ?? error) as Error;
    return { integrity: [message] };
  }
  const dangling = await list<{ table: string }>('foreign_key_check');
  return { references: dangling.map(({ table }) => `a row of ${table} refers to a row that is not there`) };
}
