/** The SQLite backend: one database in the state directory, and a small file for each lock. */
import { closeSync, openSync, statSync } from 'node:fs';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Backend } from '../backend.js';
import { backupTo } from '../copy.js';
import { databaseFile, isDamage, stateError } from '../folder.js';
import { openDatabase, type SqliteDatabase } from './database.js';
import { locksIn } from './locks.js';
import { WriterThread } from './writer.js';

/** The most damages that are listed. */
const MOST_NAMED = 10;

/**
 * Opens the database of a folder, and upgrades it.
 * @throws StateError, also if a newer version wrote the database
 */
export function openSqlite(folder: string): Backend {
  const db = openDatabase(folder);
  const file = databaseFile(folder);
  return {
    name: `sqlite:${folder}`,
    machine: '',
    db,
    locks: locksIn(folder, file),
    writer: new WriterThread(folder, db),
    damages: () => damagesOf(db),
    // SQLite continues after the largest row id by itself.
    copied: async () => {},
    size: async () => statSync(file).size,
    shrink: () => db.alone((connection) => connection.exec('PRAGMA incremental_vacuum')),
    backup: (to) =>
      backupTo(to, (temporary) => db.alone((connection) => copyTo(connection, folder, temporary))),
  };
}

/** Other processes may write to the state in the meantime. */
function copyTo(db: DatabaseSyncInstance, folder: string, temporary: string): { written: string } {
  const written = databaseFile(temporary);
  // SQLite writes into an existing empty file, which keeps its mode.
  closeSync(openSync(written, 'wx', 0o600));
  try {
    db.prepare('VACUUM INTO ?').run(written);
  } catch (error) {
    throw isDamage(error) ? stateError(error, 'read the state', folder) : error;
  }
  return { written };
}

async function damagesOf(db: SqliteDatabase): ReturnType<Backend['damages']> {
  try {
    const lines = await db.read((on) =>
      on.all<{ integrity_check: string }>(`PRAGMA integrity_check(${MOST_NAMED})`),
    );
    const integrity = lines.map((line) => line.integrity_check).filter((line) => line !== 'ok');
    if (integrity.length > 0) return { integrity, references: [] };
  } catch (error) {
    // The damage is so severe that the database cannot be checked.
    const { message } = ((error as Error).cause ?? error) as Error;
    return { integrity: [message], references: [] };
  }
  const dangling = await db.read((on) => on.all<{ table: string }>('PRAGMA foreign_key_check'));
  return {
    integrity: [],
    references: dangling.map(({ table }) => `a row of ${table} refers to a row that is not there`),
  };
}
