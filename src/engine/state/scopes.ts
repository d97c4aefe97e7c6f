/** Scopes, and the column types of each. */
import { createHmac } from 'node:crypto';
import type { Kind } from '../model.js';
import type { Reader, Transaction } from './database.js';
import { STORED, storedJson } from './stored-json.js';
import type { Scope, ServiceInUse } from './types.js';

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

/** The table `scopes`. */
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
      "INSERT INTO scopes (account, region, base_url, column_types) VALUES (?, ?, ?, '{}') RETURNING scope",
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
    return new Map((await this.#types(on, await this.find(on, scope)))[kind]);
  }

  async setColumnTypes(
    tx: Transaction,
    scope: Scope,
    kind: Kind,
    types: ReadonlyMap<string, string>,
  ): Promise<void> {
    const id = await this.idOf(tx, scope);
    const all = JSON.stringify({ ...(await this.#types(tx, id)), [kind]: [...types] });
    await tx.run('UPDATE scopes SET column_types = ? WHERE scope = ?', all, id);
  }

  async #types(on: Reader, scope: number): Promise<ColumnTypes> {
    const row = await on.get<{ column_types: string }>(
      'SELECT column_types FROM scopes WHERE scope = ?',
      scope,
    );
    return row ? storedJson<ColumnTypes>(row.column_types, STORED.columnTypes, scope) : {};
  }

  async forgetColumnTypes(tx: Transaction, scope: number): Promise<void> {
    await tx.run("UPDATE scopes SET column_types = '{}' WHERE scope = ?", scope);
  }
}

/** The type of each column by its key, of each kind. */
type ColumnTypes = Partial<Record<Kind, [string, string][]>>;
