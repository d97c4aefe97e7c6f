/** Opens the state database: private, durable, migrated. */
import { chmodSync, closeSync, lstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { StateError } from '../../errors.js';
import { useWriteAheadLog } from '../../sqlite.js';
import { privateFolder, stateError } from '../folder.js';
import { SqliteDatabase } from './driver.js';
import { MIGRATIONS } from './migrations.js';

/** How long it waits for another process's transaction, milliseconds. */
const BUSY_MS = 10_000;

/** The database of a state directory. */
export const databaseFile = (folder: string): string => join(folder, 'state.db');

/**
 * Opens `state.db` in the folder, in WAL mode with full synchronous commits (contract §4): a commit that returned is
 * on disk. Several processes may have it open; a writer waits up to 10 s for another one.
 * @throws StateError also for a database of a newer version
 */
export function openDatabase(folder: string): SqliteDatabase {
  const file = databaseFile(privateFolder(folder));
  let db: DatabaseSyncInstance | undefined;
  try {
    makePrivate(file);
    db = new DatabaseSync(file, { timeout: BUSY_MS });
    db.exec('PRAGMA auto_vacuum = INCREMENTAL;');
    useWriteAheadLog(db, BUSY_MS);
    db.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;');
    migrate(db, file);
    return new SqliteDatabase(db, closeDatabase);
  } catch (error) {
    db?.close();
    throw stateError(error, 'open the state database', file);
  }
}

/** Called before SQLite opens the file, so that it is private from its first byte; -wal and -shm get the same mode. */
export function makePrivate(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (!found) {
    closeSync(openSync(file, 'a', 0o600));
    return;
  }
  // The target of a link may belong to somebody else: its mode is not changed.
  if (found.isSymbolicLink()) return;
  // The file is not opened, because closing any handle of it ends all locks that this process has on it.
  try {
    chmodSync(file, 0o600);
  } catch {
    // The file system has no modes, or the file is shared on purpose.
  }
}

/**
 * Checkpoints the log and closes the database. Statements that are not garbage-collected yet keep a connection half
 * open, so closing alone would leave a large log on disk.
 */
function closeDatabase(db: DatabaseSyncInstance): void {
  try {
    db.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE);');
  } catch {
    // Not a problem: the next process that opens the database also reads the log.
  }
  db.close();
}

function migrate(db: DatabaseSyncInstance, file: string): void {
  const version = (): number =>
    (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
  if (version() === MIGRATIONS.length) return;
  if (version() > MIGRATIONS.length) {
    throw new StateError(`${file} was written by a newer version of profiles`, {
      hint: 'upgrade profiles, or use another folder',
      problem: { code: 'state_newer' },
    });
  }
  // If one fails, the database is closed, which rolls everything back.
  db.exec('BEGIN IMMEDIATE');
  // Read again inside the transaction: another process may have been first.
  for (let next = version(); next < MIGRATIONS.length; next++) {
    db.exec(MIGRATIONS[next]!);
    db.exec(`PRAGMA user_version = ${next + 1}`);
  }
  db.exec('COMMIT');
}
