/** One text of SQL runs on both databases, so both have the same tables and columns. */
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, test } from 'vitest';
import { MIGRATIONS } from '../../../../src/engine/state/postgres/schema.js';
import { MIGRATIONS as SQLITE } from '../../../../src/engine/state/sqlite/migrations.js';

type Columns = Record<string, string[]>;

/** Of which kind a column is, and whether it may be empty. */
const plain = (type: string, required: boolean): string =>
  ({ BIGINT: 'INTEGER', BYTEA: 'BLOB', 'DOUBLE PRECISION': 'REAL' })[type] ??
  (type || 'TEXT') + (required ? '' : '');

function ofSqlite(): Columns {
  const db = new DatabaseSync(':memory:');
  for (const migration of SQLITE) db.exec(migration);
  const tables = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all() as unknown as { name: string }[];
  const columns: Columns = {};
  for (const { name } of tables) {
    const found = db.prepare(`PRAGMA table_info(${name})`).all() as unknown as {
      name: string;
      type: string;
      notnull: number;
      pk: number;
    }[];
    columns[name] = found
      .map((column) => `${column.name} ${column.type}${column.notnull || column.pk ? ' required' : ''}`)
      .sort();
  }
  return columns;
}

function ofPostgres(): Columns {
  const columns: Columns = {};
  for (const [, table, body] of MIGRATIONS.join('\n').matchAll(
    /CREATE TABLE (\w+) \(([\s\S]*?)\n? *\)(?: WITH[^;]*)?;/g,
  )) {
    const keys = /PRIMARY KEY \(([^)]*)\)/.exec(body!)?.[1]?.split(', ') ?? [];
    const parts = body!.split(/,\n|\n/).map((line) => line.trim().replace(/,$/, ''));
    columns[table!] = parts.flatMap((line) => {
      const [, name, type] = /^(\w+) (BIGINT|BYTEA|TEXT|DOUBLE PRECISION|TIMESTAMPTZ)/.exec(line) ?? [];
      if (!name) return [];
      const required = /NOT NULL|PRIMARY KEY/.test(line) || keys.includes(name);
      return [`${name} ${plain(type!, required)}${required ? ' required' : ''}`];
    });
  }
  for (const each of Object.values(columns)) each.sort();
  return columns;
}

test('PostgreSQL has every table and column that SQLite has; a migration of one is one of the other', () => {
  const { schema_version, writers, leases, ...shared } = ofPostgres();
  expect(shared).toEqual(ofSqlite());
  // What only many machines need.
  for (const own of [schema_version, writers, leases]) expect(own!.length).toBeGreaterThan(0);
});
