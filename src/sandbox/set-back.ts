/** What was accepted when the clock is set back: otherwise, jobs would stand still until the clock is there again. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';

/** Several processes may write at the same time: a smaller difference does not count. */
const SET_BACK_MS = 1_000;

const NEWEST = 'SELECT accepted_at AS at FROM submission ORDER BY n DESC LIMIT 1';
const LAST = 'SELECT max(coalesce(ends_at, accepted_at)) AS at FROM submission';
const MOVE =
  'UPDATE submission SET accepted_at = accepted_at - ?1, ends_at = ends_at - ?1, applies_at = applies_at - ?1';

/**
 * If something was accepted later than `now`, moves everything back, so that the last job ends now: what is accepted
 * from now on takes effect after it.
 */
export function moveBack(db: DatabaseSyncInstance, now: number): void {
  const at = (sql: string): number => (db.prepare(sql).get() as { at: number } | undefined)?.at ?? now;
  const isSetBack = (): boolean => at(NEWEST) - now >= SET_BACK_MS;
  const move = (): void => {
    // Another process may have been first.
    if (isSetBack()) db.prepare(MOVE).run(at(LAST) - now);
  };
  if (!isSetBack()) return;
  if (db.isTransaction) {
    move();
    return;
  }
  db.exec('BEGIN IMMEDIATE');
  try {
    move();
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK'); // a full disk has rolled it back already
    throw error;
  }
}
