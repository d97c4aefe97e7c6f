/** Creates the schema in PostgreSQL. The comment of the table `meta` has the number of applied migrations. */
import { StateError } from '../../errors.js';
import { forPostgres, MIGRATIONS, SHARED_TABLES } from '../schema.js';
import { lockOf, type PostgresDatabase } from './database.js';
import { checkVersion } from './failure.js';
import { literal, quoted } from './sql.js';

/**
 * Creates or upgrades the schema, under a lock, so that other processes wait.
 * @throws StateError if another version wrote the schema; ConfigError if the server is too old
 */
export async function prepareSchema(db: PostgresDatabase, migrations = MIGRATIONS): Promise<void> {
  const { location } = db;
  const schema = quoted(location.schema);
  const name = literal(location.schema);
  await db.own('open the state database', async (session) => {
    // Reads the catalog tables, because what the connection has cached may be older than the lock.
    const find = async (): Promise<{ server: number; made: number; version: number }> => {
      const [result] = await session.script([
        `SELECT current_setting('server_version_num')::int AS server,
           EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = ${name}) AS made,
           coalesce((SELECT obj_description(pg_class.oid, 'pg_class') FROM pg_class
             JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = ${name} AND relname = 'meta'), '0')::int AS version`,
      ]);
      return result!.rows[0];
    };
    const { server, version } = await find();
    checkVersion(server, location);
    if (version > migrations.length) {
      throw new StateError(`${location.name} was written by another version of profiles`, {
        hint: 'use that version, or another schema',
        problem: { code: 'state_version' },
      });
    }
    if (version === migrations.length) return;
    await session.script([
      'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
      `SELECT pg_advisory_xact_lock(${lockOf(location.schema)})`,
    ]);
    const again = await find();
    const missing = migrations.slice(again.version).map(forPostgres);
    await session.script([
      // Created only if missing, so that roles without the right to create schemas can use an existing one.
      ...(again.made === 1 ? [] : [`CREATE SCHEMA ${schema}`]),
      `SET LOCAL search_path TO ${schema}, pg_catalog`,
      ...(again.version === 0 ? [...missing, forPostgres(SHARED_TABLES)] : missing),
      `COMMENT ON TABLE meta IS '${migrations.length}'`,
      'COMMIT',
    ]);
  });
}
