/** What every SQLite database of this program needs. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';

/** How long it waits before it tries again, where SQLite does not wait by itself, milliseconds. */
const RETRY_MS = 5;

/**
 * Switches to a write-ahead log. While another process creates the same file, SQLite refuses the switch at once,
 * whatever its timeout: waiting with a read lock in hand could be a deadlock. So it is retried here, for `busyMs` milliseconds.
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
