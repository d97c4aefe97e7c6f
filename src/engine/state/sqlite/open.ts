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
 * `state.db` in the folder, WAL with full synchronous commits (contract §4): a commit that returned has
 * reached the disk. Several processes may have it open; a writer waits for another up to 10 s.
 * @throws StateError also for a database of a newer version than this program's
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

/** Before SQLite opens it, so that it is private from its first byte; its -wal and -shm take its mode. */
export function makePrivate(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (!found) {
    closeSync(openSync(file, 'a', 0o600));
    return;
  }
  // Where a link leads is somebody else's file: its mode is not ours to change.
  if (found.isSymbolicLink()) return;
  // Not opened, since closing any handle of a file ends all locks that this process has on it.
  try {
    chmodSync(file, 0o600);
  } catch {
    // A file system without modes, or a file that someone else shares on purpose.
  }
}

/**
 * Closes it, its log folded in. Statements that are not collected yet keep a connection half open, so closing
 * alone would leave the log on disk, as large as it ever was.
 */
function closeDatabase(db: DatabaseSyncInstance): void {
  try {
    db.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE);');
  } catch {
    // The log is as good as the file: whoever opens the database next reads both.
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
  // Where one fails, the database is closed, and all of it with it.
  db.exec('BEGIN IMMEDIATE');
  // Asked again inside the transaction: another process may have been first.
  for (let next = version(); next < MIGRATIONS.length; next++) {
    db.exec(MIGRATIONS[next]!);
    db.exec(`PRAGMA user_version = ${next + 1}`);
  }
  db.exec('COMMIT');
}
