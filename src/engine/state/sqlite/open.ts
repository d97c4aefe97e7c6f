/** Opens the SQLite database of a state: with private access, durable commits, and the current schema. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { StateError } from '../../errors.js';
import { privateFile } from '../../util/private-folder.js';
import { pause, useWriteAheadLog } from '../../util/sqlite.js';
import { stateError, stateFolder } from '../folder.js';
import { appliedOf, MIGRATIONS, markOf } from '../schema.js';
import { SqliteDatabase } from './driver.js';

/** How long to wait for the transaction of another process, in milliseconds. */
const BUSY_MS = 10_000;

/** How long another process may take to create the database, in milliseconds. */
const CREATE_MS = 1_000;

/** The path of the database in a state directory. */
export const databaseFile = (folder: string): string => join(folder, 'state.db');

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
    return new SqliteDatabase(db, closeDatabase);
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

/**
 * Checkpoints the write-ahead log, and closes the database. Prepared statements that are not
 * garbage-collected yet keep the connection open in part, so closing alone could leave a large log on disk.
 */
function closeDatabase(db: DatabaseSyncInstance): void {
  try {
    db.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE);');
  } catch {
    // Ignored: the next process that opens the database reads the log.
  }
  db.close();
}

const pragma = (db: DatabaseSyncInstance, name: string): number =>
  (db.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[name]!;

function migrate(db: DatabaseSyncInstance, file: string, migrations: readonly string[]): void {
  const applied = (): number => {
    const count = appliedOf(pragma(db, 'user_version'), migrations);
    if (count !== null) return count;
    throw new StateError(`${file} was written by another version of profiles`, {
      hint: 'use that version, or another folder',
      problem: { code: 'state_version' },
    });
  };
  if (applied() === migrations.length) return;
  // If one fails, the database is closed, which rolls everything back.
  db.exec('BEGIN IMMEDIATE');
  // Read again inside the transaction: another process may have been first.
  for (const migration of migrations.slice(applied())) db.exec(migration);
  db.exec(`PRAGMA user_version = ${markOf(migrations)}`);
  db.exec('COMMIT');
}
