/** The SQLite backend: one database in the state directory, and a small file for each lock. */
import { statSync } from 'node:fs';
import type { Backend } from '../backend.js';
import { backupTo } from './backup.js';
import type { SqliteDatabase } from './driver.js';
import { FilesInUse } from './in-use.js';
import { Locks } from './lock.js';
import { databaseFile, openDatabase } from './open.js';
import { WriterThread } from './writer.js';

/** The most damages that are listed. */
const MOST_NAMED = 10;

/**
 * Opens the database of a folder, and upgrades it.
 * @throws StateError, also if a newer version wrote the database
 */
export function openSqlite(folder: string): Backend {
  const db = openDatabase(folder);
  const inUse = new FilesInUse(databaseFile(folder));
  const locks = new Locks(folder, inUse);
  return {
    name: `sqlite:${folder}`,
    machine: '',
    db,
    takeLock: async (scope, kind, holder) => locks.take(scope, kind, holder),
    isLocked: async (...of) => locks.isHeld(...of),
    lockHolder: async (...of) => locks.holder(...of),
    locks: async (scopes) => locks.of(scopes),
    // The operating system releases a lock when its process ends.
    unlock: async () => [],
    bytes: async () => statSync(databaseFile(folder)).size,
    check: () => inUse.check(),
    writer: new WriterThread(folder, db),
    damages: () => damagesOf(db),
    // SQLite continues after the largest row id by itself.
    copied: async () => {},
    shrink: () => db.alone((connection) => connection.exec('PRAGMA incremental_vacuum')),
    backup: (file) => db.alone((connection) => backupTo(connection, file)),
  };
}

async function damagesOf(db: SqliteDatabase): ReturnType<Backend['damages']> {
  try {
    const lines = await db.all<{ integrity_check: string }>(`PRAGMA integrity_check(${MOST_NAMED})`);
    const integrity = lines.map((line) => line.integrity_check).filter((line) => line !== 'ok');
    if (integrity.length > 0) return { integrity, references: [] };
  } catch (error) {
    // The damage is so severe that the database cannot be checked.
    const { message } = ((error as Error).cause ?? error) as Error;
    return { integrity: [message], references: [] };
  }
  const dangling = await db.all<{ table: string }>('PRAGMA foreign_key_check');
  return {
    integrity: [],
    references: dangling.map(({ table }) => `a row of ${table} refers to a row that is not there`),
  };
}
