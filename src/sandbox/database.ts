/** The sandbox's SQLite database: private, durable, and shared by any number of processes. */
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { ProfilesError, StateError } from '../engine/errors.js';
import { privateFile, privateFolder } from '../engine/util/private-folder.js';
import { sqliteTrouble, useWriteAheadLog } from '../engine/util/sqlite.js';

export const DATABASE_FILE = 'sandbox.db';

/** How long a writer waits for the transaction of another process, in milliseconds. */
const BUSY_MS = 30_000;

/** Most commands have no `--data`: with the embedded sandbox, the data is in the state directory. */
const ANOTHER_FOLDER = 'choose another folder with --state (for profiles sandbox, also --data)';

/** Increase this when the tables change: a file of another version is refused, and not misread. */
const VERSION = 1;

/**
 * `sha256` is that of the body; it becomes null when the entries are dropped because the same body was sent
 * again. `fate` is the outcome of the job (`SimulatedOutcome`) as JSON. `ends_at` is when the job ends,
 * `applies_at` when its entries take effect, both in milliseconds since 1970; null means never. The key of an
 * entry begins with its submission, so that inserts are next to each other whatever the ids are: with random
 * ids, that is four times as fast.
 */
const SCHEMA = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE submission (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    bulk INTEGER NOT NULL,
    region TEXT NOT NULL,
    kind TEXT NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    sha256 TEXT,
    accepted_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    fate TEXT NOT NULL,
    ends_at INTEGER,
    applies_at INTEGER,
    properties TEXT NOT NULL
  );
  CREATE INDEX submission_applied ON submission (applies_at);
  CREATE INDEX submission_content ON submission (sha256, applies_at) WHERE sha256 IS NOT NULL;
  CREATE TABLE entry (
    submission INTEGER NOT NULL,
    id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    company_id TEXT,
    metadata TEXT,
    PRIMARY KEY (submission, id, ordinal)
  ) WITHOUT ROWID;
  INSERT INTO meta VALUES ('instance', lower(hex(randomblob(4))));
  PRAGMA user_version = ${VERSION};
`;

/**
 * Opens `sandbox.db` in `dataDir`, or an empty database in memory. Both are private. When a commit returns, its data is on disk.
 * @param dataDir undefined for memory
 * @throws StateError if it cannot be opened, or is of another version
 */
export function openDatabase(dataDir: string | undefined): Database {
  const file = dataDir === undefined ? ':memory:' : join(dataDir, DATABASE_FILE);
  try {
    if (dataDir !== undefined) {
      privateFolder(dataDir);
      // Before SQLite opens it: its -wal and -shm files get the same mode.
      privateFile(file);
    }
    const native = new DatabaseSync(file, { timeout: BUSY_MS });
    useWriteAheadLog(native, BUSY_MS);
    native.exec('PRAGMA synchronous = FULL;');
    const db = new Database(native);
    const version = (): number => db.one<{ user_version: number }>('PRAGMA user_version')!.user_version;
    if (version() === 0) {
      // Checked again, because another process may have been first.
      db.transaction(() => version() === 0 && db.exec(SCHEMA));
    }
    if (version() === VERSION) return db;
    db.close();
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    throw new StateError(`cannot open the sandbox's data in ${file}: ${sqliteTrouble(error, file)}`, {
      hint: `check the folder and its permissions, or ${ANOTHER_FOLDER}`,
      cause: error,
    });
  }
  throw new StateError(`${file} was made by another version of the sandbox`, {
    hint: `delete the file, or ${ANOTHER_FOLDER}`,
  });
}

type Value = string | number | null;

/** A connection that prepares each statement once. */
export class Database {
  readonly #statements = new Map<string, ReturnType<DatabaseSyncInstance['prepare']>>();

  constructor(private readonly native: DatabaseSyncInstance) {}

  all<T>(sql: string, ...values: Value[]): T[] {
    return this.#prepared(sql).all(...values) as T[];
  }

  one<T>(sql: string, ...values: Value[]): T | undefined {
    return this.#prepared(sql).get(...values) as T | undefined;
  }

  /** The number in the first column, which is named `n`. */
  count(sql: string, ...values: Value[]): number {
    return this.one<{ n: number }>(sql, ...values)?.n ?? 0;
  }

  /** @returns the number of the row that was added last */
  run(sql: string, ...values: Value[]): number {
    return Number(this.#prepared(sql).run(...values).lastInsertRowid);
  }

  exec(sql: string): void {
    this.native.exec(sql);
  }

  /**
   * Runs `work` as one transaction, isolated from other processes, or as a part of the one that is open. It is
   * on disk when this returns. One that is `DEFERRED` only reads.
   */
  transaction<T>(work: () => T, mode: 'IMMEDIATE' | 'DEFERRED' = 'IMMEDIATE'): T {
    if (this.native.isTransaction) return work();
    this.exec(`BEGIN ${mode}`);
    try {
      const result = work();
      this.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.native.isTransaction) this.exec('ROLLBACK'); // on a full disk, SQLite has rolled back already
      throw error;
    }
  }

  close(): void {
    if (this.native.isOpen) this.native.close();
  }

  #prepared(sql: string) {
    const statement = this.#statements.get(sql) ?? this.native.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
