/** The PostgreSQL backend, which several machines can share. */
import { hostname } from 'node:os';
import { StateError } from '../../errors.js';
import type { Backend } from '../backend.js';
import { backupTo, copyTables } from '../copy.js';
import { sql } from '../database.js';
import { databaseFile } from '../folder.js';
import { appliedOf, forPostgres, MIGRATIONS, markOf, SHARED_TABLES } from '../schema.js';
import { openDatabase } from '../sqlite/database.js';
import { lockOf, PostgresDatabase } from './database.js';
import { checkVersion } from './failure.js';
import { Leases } from './lease.js';
import type { PostgresLocation } from './location.js';
import { literal, quoted } from './session.js';

export { readPostgresUrl } from './location.js';

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
    size: async () => {
      const query = sql`SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0) AS bytes
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = ${db.location.schema} AND relkind = 'r'`;
      return (await db.read((on) => on.get<{ bytes: number }>(query)))!.bytes;
    },
    // PostgreSQL checks its own integrity, and rejects rows that refer to missing rows.
    damages: async () => ({ integrity: [], references: [] }),
    copied: () => renumber(db),
    // Autovacuum does this.
    shrink: async () => {},
    backup: (file) =>
      backupTo(file, async (folder) => {
        const to = openDatabase(folder);
        try {
          await db.read((on) => copyTables(on, { db: to, name: file }));
        } finally {
          await to.close();
        }
        return { written: databaseFile(folder) };
      }),
  };
}

/** The columns that PostgreSQL numbers, by table. */
const NUMBERED = { scopes: 'scope', requests: 'request', history: 'entry' };

/** Sets the next number of each of these columns after the largest one. */
async function renumber(db: PostgresDatabase): Promise<void> {
  await db.write(async (tx) => {
    for (const [table, column] of Object.entries(NUMBERED)) {
      await tx.all(
        `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), coalesce(max(${column}), 0) + 1, false) FROM ${table}`,
      );
    }
  });
}

/**
 * Creates or upgrades the schema, under a lock, so that other processes wait. The comment of the table `meta` has the
 * mark of the schema.
 * @throws StateError if another version wrote the schema; ConfigError if the server is too old
 */
export async function prepareSchema(db: PostgresDatabase, migrations = MIGRATIONS): Promise<void> {
  const { location } = db;
  const schema = quoted(location.schema);
  const name = literal(location.schema);
  await db.own('open the state database', async (session) => {
    // Reads the catalog tables, because what the connection has cached may be older than the lock.
    const find = async (): Promise<{ made: number; applied: number }> => {
      const [result] = await session.script([
        `SELECT current_setting('server_version_num')::int AS server,
           EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = ${name}) AS made,
           coalesce((SELECT obj_description(pg_class.oid, 'pg_class') FROM pg_class
             JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = ${name} AND relname = 'meta'), '0')::int AS mark`,
      ]);
      const { server, made, mark } = result!.rows[0];
      checkVersion(server, location);
      const applied = appliedOf(mark, migrations);
      if (applied !== null) return { made, applied };
      throw new StateError(`${location.name} was written by another version of profiles`, {
        hint: 'use that version, or another schema',
        problem: { code: 'state_version' },
      });
    };
    if ((await find()).applied === migrations.length) return;
    await session.script([
      'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
      `SELECT pg_advisory_xact_lock(${lockOf(location.schema)})`,
    ]);
    const again = await find();
    const missing = migrations.slice(again.applied).map(forPostgres);
    await session.script([
      // Created only if missing, so that roles without the right to create schemas can use an existing one.
      ...(again.made === 1 ? [] : [`CREATE SCHEMA ${schema}`]),
      `SET LOCAL search_path TO ${schema}, pg_catalog`,
      ...(again.applied === 0 ? [...missing, forPostgres(SHARED_TABLES)] : missing),
      `COMMENT ON TABLE meta IS '${markOf(migrations)}'`,
      'COMMIT',
    ]);
  });
}
