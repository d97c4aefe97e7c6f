/** Schemas of the server that all files share, and databases opened in them. */
import { randomBytes } from 'node:crypto';
import { test as base, inject } from 'vitest';
import { type PostgresLocation, readPostgresUrl } from '../../src/engine/state/location.js';
import { prepareSchema } from '../../src/engine/state/postgres/backend.js';
import { PATIENCE, type Patience, PostgresDatabase } from '../../src/engine/state/postgres/database.js';
import { clientOf, type PostgresClient } from '../support/postgres.js';

const shared = inject('postgres');
export const hasPostgres = shared !== null;

/** The shared server: nobody stops it. */
export const server = clientOf(shared ?? { folder: '', port: 0 });
/** PgBouncer in front of it. */
const pooler: Pick<PostgresClient, 'url'> = clientOf({ folder: '', port: shared?.pooler ?? 0 });

export const newSchema = (): string => `t_${randomBytes(6).toString('hex')}`;

export const locationOf = (url: string): PostgresLocation =>
  readPostgresUrl(url, 'test', { env: {}, user: 'nobody' });

/** What a test does with a database: each call of `open` is another process's. */
export interface TestDatabase {
  schema: string;
  /** Of the schema, over the pooler or not. */
  url: (query?: string) => string;
  open: (patience?: Partial<Patience>, query?: string) => Promise<PostgresDatabase>;
  /** What psql prints, within the schema. */
  sql: (statements: string) => string;
}

/** Every test twice: on the server, and through PgBouncer in transaction mode. */
export const ways = ['directly', 'through PgBouncer'] as const;

export const testOn = (way: (typeof ways)[number]) =>
  base.extend<{ db: TestDatabase }>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads it.
    db: async ({}, use) => {
      const schema = newSchema();
      const url = (query = ''): string => (way === 'directly' ? server : pooler).url(schema, { query });
      const opened: PostgresDatabase[] = [];
      await use({
        schema,
        url,
        async open(patience = {}, query = '') {
          const db = new PostgresDatabase(locationOf(url(query)), undefined, { ...PATIENCE, ...patience });
          opened.push(db);
          await prepareSchema(db);
          return db;
        },
        sql: (statements) => server.sql(`SET search_path TO ${schema}; ${statements}`),
      });
      for (const db of opened) await db.close();
      server.drop(schema);
    },
  });
