/** Opens the state database: private, durable, migrated. */
import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite';
import { ConfigError, StateError } from '../errors.js';
import { useWriteAheadLog } from '../sqlite.js';
import { MIGRATIONS } from './schema.js';

/** How long it waits for another process's transaction, milliseconds. */
const BUSY_MS = 10_000;

/** Any failure of the state becomes this: nothing more may be sent when it cannot be recorded. */
export function stateError(error: unknown, doing: string, where: string): StateError {
  if (error instanceof StateError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new StateError(`cannot ${doing} in ${where}: ${detail}`, {
    ...(/full|ENOSPC/i.test(detail)
      ? { hint: 'free some disk space, then resume' }
      : { hint: 'check the folder and its permissions', problem: { code: 'state_folder' } }),
    cause: error,
  });
}

/** The state directory, made private if it is not there yet. @throws StateError */
export function privateFolder(folder: string): string {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch (error) {
    throw stateError(error, 'keep state', folder);
  }
}

/**
 * Who can write to the directory can put another database in place of this one, and so decide what is sent again and
 * what is skipped. Where the sticky bit is set, as in /tmp or at the root of a tmpfs, others can add files there and
 * replace none of ours. Windows has no such modes.
 * @throws ConfigError
 */
export function refuseShared(folder: string): void {
  if (platform() === 'win32') return;
  const mode = statSync(folder).mode & 0o7777;
  if ((mode & 0o022) === 0 || (mode & 0o1000) !== 0) return;
  throw new ConfigError(
    `other users can write to the state directory ${folder} (mode ${mode.toString(8).padStart(4, '0')}), so they could replace the records of past imports`,
    {
      hint: 'remove write access for other users',
      problem: { code: 'state_folder_shared', folder },
    },
  );
}

/** The database of a state directory. */
export const databaseFile = (folder: string): string => join(folder, 'state.db');

/**
 * `state.db` in the folder, WAL with full synchronous commits (contract §4): a commit that returned has
 * reached the disk. Several processes may have it open; a writer waits for another up to 10 s.
 * @throws StateError also for a database of a newer version than this program's
 */
export function openDatabase(folder: string): DatabaseSyncInstance {
  const file = databaseFile(privateFolder(folder));
  let db: DatabaseSyncInstance | undefined;
  try {
    makePrivate(file);
    db = new DatabaseSync(file, { timeout: BUSY_MS });
    db.exec('PRAGMA auto_vacuum = INCREMENTAL;');
    useWriteAheadLog(db, BUSY_MS);
    db.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;');
    migrate(db, file);
    return keepStatements(db);
  } catch (error) {
    db?.close();
    throw stateError(error, 'open the state database', file);
  }
}

/** Preparing a statement takes three times as long as running it, and a request runs ten: each is prepared once. */
function keepStatements(db: DatabaseSyncInstance): DatabaseSyncInstance {
  const kept = new Map<string, StatementSyncInstance>();
  const prepare = db.prepare.bind(db);
  const value = (sql: string): StatementSyncInstance => {
    const statement = kept.get(sql) ?? prepare(sql);
    kept.set(sql, statement);
    return statement;
  };
  return Object.defineProperty(db, 'prepare', { value });
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
export function closeDatabase(db: DatabaseSyncInstance): void {
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
  transaction(db, () => {
    // Asked again inside the transaction: another process may have been first.
    for (let next = version(); next < MIGRATIONS.length; next++) {
      db.exec(MIGRATIONS[next]!);
      db.exec(`PRAGMA user_version = ${next + 1}`);
    }
  });
}

/** Runs `work` in one transaction that takes the write lock at once, so that it cannot fail half-way for want of it. */
export function transaction<T>(db: DatabaseSyncInstance, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
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
}
