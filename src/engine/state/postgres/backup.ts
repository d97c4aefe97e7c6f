/** Copies a PostgreSQL state, as of one point in time, to an SQLite database as in a state directory. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Reader, Value } from '../database.js';
import { backupError, place, refuseTaken } from '../sqlite/backup.js';
import { databaseFile, openDatabase } from '../sqlite/open.js';
import type { PostgresDatabase } from './database.js';
import { failureOf } from './failure.js';

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
      await to.alone((db) => from.snapshot((reader) => copyAll(reader, db)));
    } finally {
      await to.close();
    }
    place(databaseFile(folder), file);
    return statSync(file).size;
  } catch (error) {
    throw backupError(
      isOfDatabase(error) ? failureOf(error, 'read the state in', from.location) : error,
      file,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether it is an error of the server, which has an SQLSTATE. */
const isOfDatabase = (error: unknown): boolean =>
  /^[0-9A-Z]{5}$/.test(String((error as { code?: unknown }).code));

/** Copies all tables that SQLite has. PostgreSQL has the same ones and more. */
async function copyAll(from: Reader, to: DatabaseSyncInstance): Promise<void> {
  const tables = to
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all() as unknown as { name: string }[];
  // Not checked, because the tables refer to each other, and are copied in any order.
  to.exec('PRAGMA foreign_keys = OFF; BEGIN');
  for (const { name } of tables) {
    const columns = (to.prepare(`PRAGMA table_info(${name})`).all() as unknown as { name: string }[]).map(
      (column) => column.name,
    );
    to.exec(`DELETE FROM ${name}`);
    const insert = to.prepare(
      `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    );
    for await (const row of from.each<Record<string, Value>>(`SELECT ${columns.join(', ')} FROM ${name}`)) {
      insert.run(...columns.map((column) => row[column]!));
    }
  }
  to.exec('COMMIT');
}
