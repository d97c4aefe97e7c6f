/** What all stores share: the database, the clock, accounts of services, and facts about the state as a whole (`meta`). */
import { createHmac, randomBytes } from 'node:crypto';
import { UsageError } from '../errors.js';
import {
  type Database,
  insertInto,
  type Query,
  type Reader,
  type Sql,
  sql,
  type Transaction,
} from './database.js';
import { stateError } from './folder.js';

export class Access {
  /** Writes records that wait for others (`Requests`). */
  flush: () => Promise<void> = async () => {};
  /** The number of the session of a run. What was found in an earlier one may be outdated. */
  session = 0;

  /**
   * @param folder the state directory, also named in errors
   * @param now wall clock, milliseconds since the epoch
   */
  constructor(
    readonly db: Database,
    readonly folder: string,
    readonly now: () => number,
  ) {}

  /** The current time, ISO 8601. */
  time(): string {
    return new Date(this.now()).toISOString();
  }

  /** The rows of one query. */
  all<T>(query: Query): Promise<T[]> {
    return this.db.read((on) => on.all<T>(query));
  }

  /** Runs one statement as a transaction. @returns the number of changed rows. @throws StateError */
  run(query: Query): Promise<number> {
    return this.write((tx) => tx.run(query));
  }

  /** Runs one transaction after waiting records. @throws StateError */
  async write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    await this.flush();
    try {
      return await this.db.write(work);
    } catch (error) {
      throw stateError(error, 'record', this.folder);
    }
  }
}

/** An account of a service. Records are never shared between scopes. */
export interface Scope {
  /** Configured account name, otherwise a keyed hash of the token. */
  account: string;
  region: string;
  base_url: string;
}

/** A service as the settings describe it. */
export interface ServiceInUse {
  /** Configured name of the account, or null. */
  account: string | null;
  token: string;
  region: string;
  base_url: string;
}

/**
 * Makes the scope of a service. An account without a configured name is identified by a keyed hash of its
 * token.
 */
export function scopeOf({ account, token, region, base_url }: ServiceInUse, secret: Buffer): Scope {
  const hash = (): string => createHmac('sha256', secret).update(token).digest('hex').slice(0, 16);
  return { account: account ?? `token:${hash()}`, region, base_url };
}

/** Whether both are the same service, with any account: the same region and base URL. */
export const sameService = (a: Scope, b: Scope): boolean =>
  a.region === b.region && a.base_url === b.base_url;

export const sameScope = (a: Scope, b: Scope): boolean => sameService(a, b) && a.account === b.account;

export const allScopes = (on: Reader): Promise<Scope[]> =>
  on.all('SELECT account, region, base_url FROM scopes ORDER BY account, region, base_url');

/** SQL: the row id of a scope; NULL if nothing was recorded for it. */
export const idOf = ({ account, region, base_url }: Scope): Sql =>
  sql`(SELECT scope FROM scopes WHERE account = ${account} AND region = ${region} AND base_url = ${base_url})`;

/** Call this before the first record for a scope. */
export async function addScope(tx: Transaction, { account, region, base_url }: Scope): Promise<void> {
  await tx.run(
    sql`INSERT INTO scopes (scope, account, region, base_url)
      SELECT (SELECT coalesce(max(scope), 0) + 1 FROM scopes), ${account}, ${region}, ${base_url}
      WHERE ${idOf({ account, region, base_url })} IS NULL`,
  );
}

/** The location to which the state moved, without a password. */
export const MOVED_TO = 'moved_to';
/** The identity of the state of which this one is a copy that is not complete yet. */
export const COPY_OF = 'copy_of';

export async function metaOf(on: Reader, name: string): Promise<string | null> {
  const row = await on.get<{ value: string }>(sql`SELECT value FROM meta WHERE name = ${name}`);
  return row?.value ?? null;
}

export async function setMeta(tx: Transaction, name: string, value: string | null): Promise<void> {
  await tx.run(sql`DELETE FROM meta WHERE name = ${name}`);
  if (value !== null) await tx.run(insertInto('meta', { name, value }));
}

/** The key of all stored hashes; null if there is none. */
export async function readSecret(on: Reader): Promise<Buffer | null> {
  const key = await metaOf(on, 'secret');
  return key === null ? null : Buffer.from(key, 'hex');
}

/** Creates the key, unless another process has. */
export async function createSecret(tx: Transaction): Promise<Buffer> {
  const known = await readSecret(tx);
  if (known) return known;
  const key = randomBytes(32);
  await setMeta(tx, 'secret', key.toString('hex'));
  return key;
}

/**
 * The next number of a send, run, or plan, larger than those of all earlier ones, also of deleted ones. It is counted
 * within the transaction, so that numbers follow the order of commits, and none is used twice.
 */
export async function nextNumber(tx: Transaction): Promise<number> {
  const row = await tx.get<{ number: number }>(
    `UPDATE meta SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) WHERE name = 'number'
     RETURNING CAST(value AS BIGINT) AS number`,
  );
  return row!.number;
}

/**
 * Checks that the state can be used for an import.
 * @throws UsageError if it has moved, or is an unfinished copy: new records in it would be lost
 */
export async function refuseMoved(on: Reader): Promise<void> {
  const to = await metaOf(on, MOVED_TO);
  if (to !== null) {
    throw new UsageError(`this state has moved to ${to}`, {
      hint: 'import with the state that it has moved to',
      problem: { code: 'state_moved', to },
    });
  }
  if ((await metaOf(on, COPY_OF)) === null) return;
  throw new UsageError('another state is being copied into this one', {
    hint: 'finish the copy first',
    problem: { code: 'state_incomplete' },
  });
}
