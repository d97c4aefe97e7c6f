/** The PostgreSQL backend, which several machines can share. */
import { hostname } from 'node:os';
import type { Backend } from '../backend.js';
import { backupTo } from './backup.js';
import { PostgresDatabase } from './database.js';
import { Leases } from './lease.js';
import type { PostgresLocation } from './location.js';
import { prepareSchema } from './schema.js';

export { readPostgresUrl } from './location.js';

async function bytesOf(db: PostgresDatabase): Promise<number> {
  const row = await db.read((on) =>
    on.get<{ bytes: number }>(
      `SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0) AS bytes
       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = ? AND relkind = 'r'`,
      db.location.schema,
    ),
  );
  return row!.bytes;
}

/**
 * Connects, and creates or upgrades the schema.
 * @throws StateError, also if a newer version wrote the schema
 */
export async function openPostgres(location: PostgresLocation, signal?: AbortSignal): Promise<Backend> {
  const db = new PostgresDatabase(location, signal);
  try {
    await prepareSchema(db);
  } catch (error) {
    await db.close();
    throw error;
  }
  const locks = new Leases(db);
  return {
    name: location.name,
    machine: hostname(),
    db: {
      read: (work) => db.read(work),
      write: (work) => db.write(work),
      async close() {
        await locks.close();
        await db.close();
      },
    },
    locks,
    size: () => bytesOf(db),
    // PostgreSQL checks its own integrity, and rejects rows that refer to missing rows.
    damages: async () => ({ integrity: [], references: [] }),
    copied: () => renumber(db),
    // Autovacuum does this.
    shrink: async () => {},
    backup: (file) => backupTo(db, file),
  };
}

/** Tables with a column that PostgreSQL numbers. */
const NUMBERED = [
  ['scopes', 'scope'],
  ['requests', 'request'],
  ['history', 'entry'],
] as const;

/** Sets the next number of each of these columns after the largest one. */
async function renumber(db: PostgresDatabase): Promise<void> {
  await db.write(async (tx) => {
    for (const [table, column] of NUMBERED) {
      await tx.all(
        `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), coalesce(max(${column}), 0) + 1, false) FROM ${table}`,
      );
    }
  });
}
