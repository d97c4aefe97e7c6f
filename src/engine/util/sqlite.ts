/** Functions for all SQLite databases of this program. */
import { accessSync, constants, readdirSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { fileTrouble, troubleOf } from './file-trouble.js';

/** Pause between two attempts, in milliseconds. */
const RETRY_MS = 5;

/**
 * Switches a database to a write-ahead log. While another process creates the same file, SQLite fails at
 * once, whatever its timeout is, because waiting with a read lock could be a deadlock. So this retries.
 * @param busyMs how long to retry, in milliseconds
 */
export function useWriteAheadLog(db: DatabaseSyncInstance, busyMs: number): void {
  const until = performance.now() + busyMs;
  for (;;) {
    try {
      db.exec('PRAGMA journal_mode = WAL;');
      return;
    } catch (error) {
      if (!String(error).includes('database is locked') || performance.now() > until) throw error;
      pause();
    }
  }
}

/** Waits a moment for another process. */
export function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
}

/** What SQLite says without a reason. */
const NO_REASON = /unable to open database file|readonly database|disk I\/O error/;
/** With less room, SQLite cannot open a database with a write-ahead log. */
const LEAST_ROOM = 64 * 1024;

/**
 * Words for a failure of a database. Where SQLite gives no reason, this looks for one.
 * @param where the database, or its folder
 */
export function sqliteTrouble(error: unknown, where: string): string {
  const said = troubleOf(error);
  return NO_REASON.test(said) ? (obstacleAt(where) ?? said) : said;
}

/** Why a database cannot be written, with the path unless it is `where`; null if nothing is found. */
function obstacleAt(where: string): string | null {
  try {
    const isFolder = statSync(where, { throwIfNoEntry: false })?.isDirectory() === true;
    const folder = isFolder ? where : dirname(where);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const name of readdirSync(folder)) {
      // The database, and its -wal and -shm files.
      if (isFolder ? !/\.db(-\w+)?$/.test(name) : !name.startsWith(basename(where))) continue;
      accessSync(join(folder, name), constants.R_OK | constants.W_OK);
    }
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < LEAST_ROOM ? 'the disk is full' : null;
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    return path === where ? fileTrouble(code) : `${fileTrouble(code)} (${path})`;
  }
}
