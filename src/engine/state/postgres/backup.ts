/** Copies a PostgreSQL state, as of one point in time, to an SQLite database as in a state directory. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { copyTables } from '../copy.js';
import { backupError, place, refuseTaken } from '../sqlite/backup.js';
import { databaseFile, openDatabase } from '../sqlite/open.js';
import type { PostgresDatabase } from './database.js';

/**
 * @param file absolute
 * @returns the size in bytes
 * @throws UsageError if the file exists; StateError if it cannot be written, or the state cannot be read
 */
export async function backupTo(from: PostgresDatabase, file: string): Promise<number> {
  refuseTaken(file);
  const folder = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    // Throws if the folder is missing. Without this check, opening the copy would create it.
    statSync(dirname(file));
    mkdirSync(folder, { mode: 0o700 });
    const to = openDatabase(folder);
    try {
      await from.read((on) => copyTables(on, { db: to, name: file }));
    } finally {
      await to.close();
    }
    place(databaseFile(folder), file);
    return statSync(file).size;
  } catch (error) {
    throw backupError(error, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
