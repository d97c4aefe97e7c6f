/** Scopes, the secret of the state, and the column types of each scope. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Kind } from '../model.js';
import type { Reader, Transaction } from './database.js';
import { STORED, storedJson } from './stored-json.js';
import type { Scope, ServiceInUse } from './types.js';

/** The key of all stored hashes; null if there is none. */
export async function readSecret(on: Reader): Promise<Buffer | null> {
  const row = await on.get<{ key: Uint8Array }>('SELECT key FROM secret');
  return row ? Buffer.from(row.key) : null;
}

/** Creates the key, unless another process has. */
export async function createSecret(tx: Transaction): Promise<Buffer> {
  const known = await readSecret(tx);
  if (known) return known;
  const key = randomBytes(32);
  await tx.run('INSERT INTO secret (key) VALUES (?)', key);
  return key;
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

/** The tables `scopes` and `column_types`. */
export class Scopes {
  /** Row ids that were read outside a transaction: such rows are committed, and never deleted. */
  readonly #known = new Map<string, number>();

  /** The row id of a scope; 0, which is never a row id, if there is none. */
  async find(on: Reader, { account, region, base_url }: Scope): Promise<number> {
    const key = JSON.stringify([account, region, base_url]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const row = await on.get<{ scope: number }>(
      'SELECT scope FROM scopes WHERE account = ? AND region = ? AND base_url = ?',
      account,
      region,
      base_url,
    );
    const isCommitted = !('run' in on);
    if (row && isCommitted) this.#known.set(key, row.scope);
    return row?.scope ?? 0;
  }

  /** The row id of a scope, which is created if needed. */
  async idOf(tx: Transaction, scope: Scope): Promise<number> {
    const known = await this.find(tx, scope);
    if (known !== 0) return known;
    const { account, region, base_url } = scope;
    const added = await tx.get<{ scope: number }>(
      'INSERT INTO scopes (account, region, base_url) VALUES (?, ?, ?) RETURNING scope',
      account,
      region,
      base_url,
    );
    return added!.scope;
  }

  all(on: Reader): Promise<Scope[]> {
    return on.all('SELECT account, region, base_url FROM scopes ORDER BY account, region, base_url');
  }

  async columnTypes(on: Reader, scope: Scope, kind: Kind): Promise<Map<string, string>> {
    const row = await on.get<{ types: string }>(
      'SELECT types FROM column_types WHERE scope = ? AND kind = ?',
      await this.find(on, scope),
      kind,
    );
    return new Map(row ? storedJson<[string, string][]>(row.types, STORED.columnTypes, kind) : []);
  }

  async setColumnTypes(
    tx: Transaction,
    scope: Scope,
    kind: Kind,
    types: ReadonlyMap<string, string>,
  ): Promise<void> {
    await tx.run(
      `INSERT INTO column_types (scope, kind, types) VALUES (?, ?, ?)
       ON CONFLICT (scope, kind) DO UPDATE SET types = excluded.types`,
      await this.idOf(tx, scope),
      kind,
      JSON.stringify([...types]),
    );
  }

  async forgetColumnTypes(tx: Transaction, scope: number): Promise<void> {
    await tx.run('DELETE FROM column_types WHERE scope = ?', scope);
  }
}
