/** Scopes: accounts of a service. */
import { createHmac } from 'node:crypto';
import { type Reader, type Sql, sql, type Transaction } from './database.js';

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
    sql`INSERT INTO scopes (account, region, base_url) SELECT ${account}, ${region}, ${base_url}
      WHERE ${idOf({ account, region, base_url })} IS NULL`,
  );
}
