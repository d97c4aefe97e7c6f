/** Opens the sandbox's SQLite database: private, durable, and shared by any number of processes. */
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { ProfilesError, StateError } from '../engine/errors.js';
import { privateFile, privateFolder } from '../engine/private-folder.js';
import { sqliteTrouble, useWriteAheadLog } from '../engine/sqlite.js';

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
 * Opens `sandbox.db` in `dataDir`, or an empty database in memory. Both are private. When a commit returns, its data is on disk.
 * @param dataDir null for memory
 * @throws StateError if it cannot be opened, or is of another version
 */
export function openDatabase(dataDir: string | null): DatabaseSyncInstance {
  const file = dataDir === null ? ':memory:' : join(dataDir, DATABASE_FILE);
  try {
    if (dataDir !== null) {
      privateFolder(dataDir);
      // Before SQLite opens it: its -wal and -shm files get the same mode.
      privateFile(file);
    }
    const db = new DatabaseSync(file, { timeout: BUSY_MS });
    useWriteAheadLog(db, BUSY_MS);
    db.exec('PRAGMA synchronous = FULL;');
    if (version(db) === 0) {
      db.exec('BEGIN IMMEDIATE');
      if (version(db) === 0) db.exec(SCHEMA); // checked again, because another process may have been first
      db.exec('COMMIT');
    }
    if (version(db) === VERSION) return db;
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

function version(db: DatabaseSyncInstance): number {
  return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
}
