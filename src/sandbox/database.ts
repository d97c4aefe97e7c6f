/** Opens the sandbox's SQLite database: private, durable, shared by any number of processes. */
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { ensureFolder } from '../engine/ensure-folder.js';
import { StateError } from '../engine/errors.js';
import { troubleOf } from '../engine/file-trouble.js';
import { useWriteAheadLog } from '../engine/sqlite.js';

export const DATABASE_FILE = 'sandbox.db';

/** How long a writer waits for another process's transaction, milliseconds. */
const BUSY_MS = 30_000;

/** Commands with an embedded sandbox have no `--data`. */
const ANOTHER_FOLDER = 'choose another folder with --state-dir (for profiles sandbox, also --data)';

/** Raised when the tables change: an older file is refused, not misread. */
const VERSION = 1;

/**
 * `sha256` is of the body, and null once the entries have been dropped as repeated. `ends_at` is when the
 * job ends, `applies_at` when its entries take effect; null: never. Entries are keyed by their submission
 * first, so that inserts are beside each other whatever the ids are: with random ids that is four times faster.
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
  CREATE INDEX submission_applied ON submission (region, kind, applies_at);
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
 * `sandbox.db` in `dataDir` (made with mode 0700; the file with 0600), or an empty database in memory. A
 * commit that returned has reached the disk.
 * @param dataDir null: memory
 * @throws StateError when it cannot be opened, or is of another version
 */
export function openDatabase(dataDir: string | null): DatabaseSyncInstance {
  const file = dataDir === null ? ':memory:' : join(dataDir, DATABASE_FILE);
  try {
    if (dataDir !== null) {
      ensureFolder(dataDir);
      // Made before SQLite opens it, so that it is private from its first byte; its -wal and -shm take its mode. One
      // that is there is not opened: closing any handle of a file ends all locks that this process has on it.
      if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
    }
    const db = new DatabaseSync(file, { timeout: BUSY_MS });
    useWriteAheadLog(db, BUSY_MS);
    db.exec('PRAGMA synchronous = FULL;');
    if (version(db) === 0) {
      db.exec('BEGIN IMMEDIATE');
      if (version(db) === 0) db.exec(SCHEMA); // asked again: another process may have been first
      db.exec('COMMIT');
    }
    if (version(db) === VERSION) return db;
    db.close();
  } catch (error) {
    throw new StateError(`cannot open the sandbox's data in ${file}: ${troubleOf(error)}`, {
      hint: `check the folder and its permissions, or ${ANOTHER_FOLDER}`,
      cause: error,
    });
  }
  throw new StateError(`${file} was made by another version of the sandbox`, {
    hint: `delete the file, or ${ANOTHER_FOLDER}`,
  });
}

function version(db: DatabaseSyncInstance): number {
  return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
}
