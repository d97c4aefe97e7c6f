/** Functions for all SQLite databases of this program. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';

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
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}
