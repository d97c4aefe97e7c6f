/** The PostgreSQL backend, which several machines can share. */
import { hostname } from 'node:os';
import { ConfigError } from '../../errors.js';
import type { Backend } from '../backend.js';
import { sql } from '../database.js';
import type { PostgresLocation } from '../location.js';
import { forPostgres, MIGRATIONS, markOf, missingIn } from '../schema.js';
import { lockOf, PostgresDatabase } from './database.js';
import { Leases } from './lease.js';
import { literal, quoted } from './session.js';

/** The oldest version of a server. */
const OLDEST = 130_000;

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
  return {
    name: location.name,
    machine: hostname(),
    db,
    locks: new Leases(db),
    size: async () => {
      const query = sql`SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0) AS bytes
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = ${db.location.schema} AND relkind = 'r'`;
      return (await db.read((on) => on.get<{ bytes: number }>(query)))!.bytes;
    },
    // PostgreSQL checks its own integrity, and rejects rows that refer to missing rows.
    damages: async () => ({}),
    // Autovacuum does this.
    shrink: async () => {},
  };
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
    const find = async (): Promise<{ made: number; missing: readonly string[] }> => {
      const [result] = await session.script([
        `SELECT current_setting('server_version_num')::int AS server,
           EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = ${name}) AS made,
           coalesce((SELECT obj_description(pg_class.oid, 'pg_class') FROM pg_class
             JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = ${name} AND relname = 'meta'), '0')::int AS mark`,
      ]);
      const { server, made, mark } = result!.rows[0];
      if (server < OLDEST) {
        const version = Math.floor(server / 10_000);
        throw new ConfigError(`${location.name} is PostgreSQL ${version}, and 13 or later is needed`);
      }
      return { made, missing: missingIn(mark, migrations, { name: location.name, place: 'schema' }) };
    };
    if ((await find()).missing.length === 0) return;
    await session.script([
      'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
      `SELECT pg_advisory_xact_lock(${lockOf(location.schema)})`,
    ]);
    const { made, missing } = await find();
    await session.script([
      // Created only if missing, so that roles without the right to create schemas can use an existing one.
      ...(made === 1 ? [] : [`CREATE SCHEMA ${schema}`]),
      `SET LOCAL search_path TO ${schema}, pg_catalog`,
      ...missing.map(forPostgres),
      `COMMENT ON TABLE meta IS '${markOf(migrations)}'`,
      'COMMIT',
    ]);
  });
}
