/**
 * Opens the state for tests. With `PROFILES_TEST_STATE`, it is a schema in PostgreSQL for each state
 * directory: reached directly (`postgres`) or through a pooler (`pgbouncer`). See `npm run test:postgres`.
 */
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, inject } from 'vitest';
import { lockOf } from '../../src/engine/state/postgres/database.js';
import { openState as open, type State } from '../../src/engine/state/state.js';
import { clientOf } from './postgres.js';
import type {} from './postgres-setup.js';

const HOW = process.env.PROFILES_TEST_STATE;
export const onPostgres = HOW === 'postgres' || HOW === 'pgbouncer';

const schemas = new Set<string>();

function schemaOf(folder: string): string {
  const schema = `t_${createHash('sha256').update(resolve(folder)).digest('hex').slice(0, 20)}`;
  schemas.add(schema);
  return schema;
}

function server(): { folder: string; port: number; pooler: number } {
  const found = inject('postgres');
  if (found === null) throw new Error('PostgreSQL is not installed');
  return found;
}

/** The URL of the state for a state directory. */
export function stateUrl(folder: string): string {
  const { port, pooler } = server();
  return clientOf({ folder: '', port: HOW === 'pgbouncer' ? pooler : port }).url(schemaOf(folder));
}

/** The environment with which a command uses that state. */
export const stateEnv = (folder: string): { PROFILES_STATE?: string } =>
  onPostgres ? { PROFILES_STATE: stateUrl(folder) } : {};

export function openState(folder: string, now: () => number): Promise<State> {
  if (!onPostgres) return open(folder, now);
  return open(folder, now, { at: { kind: 'postgres', url: stateUrl(folder) }, env: {}, origin: 'test' });
}

/** Runs statements in the schema for a state directory, and returns what psql prints. */
export const stateSql = (folder: string, statements: string): string =>
  clientOf(server()).sql(`SET search_path TO ${schemaOf(folder)}; ${statements}`);

/** Removes the state, as on a machine that never imported. */
export function removeState(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  if (onPostgres) clientOf(server()).drop(schemaOf(folder));
}

/** Everything in its tables, with binary values as they are. */
export function stateBytes(folder: string): Buffer {
  const tables = stateSql(
    folder,
    'SELECT tablename FROM pg_tables WHERE schemaname = current_schema()',
  ).split('\n');
  const text = stateSql(folder, tables.map((table) => `SELECT t::text FROM ${table} AS t;`).join('\n'));
  const bytes = [...text.matchAll(/\\x([0-9a-f]+)/g)].map(([, hex]) => Buffer.from(hex!, 'hex'));
  return Buffer.concat([Buffer.from(text), ...bytes]);
}

/**
 * Makes leases expire, as if their owners had not been heard of for a long time. Waits first for the last
 * commit of an owner that was killed.
 */
export function expireLeases(folder: string): void {
  const past = "now() - interval '1 day'";
  // A commit holds this advisory lock until its end. If somebody else in this process holds it, this stops
  // waiting after 2 s.
  const turn = `DO $$ BEGIN SET LOCAL lock_timeout = '2s'; PERFORM pg_advisory_xact_lock(${lockOf(schemaOf(folder))});
    EXCEPTION WHEN lock_not_available THEN NULL; END $$`;
  const isThere = `SELECT to_regclass('leases') IS NOT NULL`;
  if (stateSql(folder, `${turn}; ${isThere}`) === 't')
    stateSql(folder, `UPDATE leases SET beat_at = ${past}, expires_at = ${past}`);
}

// At the end of each test file.
if (onPostgres)
  afterAll(() => {
    if (schemas.size > 0) clientOf(server()).drop(...schemas);
  });
