/** Whose state is whose: the scope of a service, and what is kept of each beside its runs, jobs and fingerprints. */
import { createHmac, randomBytes } from 'node:crypto';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Kind } from '../model.js';
import type { Scope, ServiceInUse } from './types.js';

/** The key of every hash that is stored; made when there is none. To be called in a transaction. */
export function readSecret(db: DatabaseSyncInstance): Buffer {
  const row = db.prepare('SELECT key FROM secret').get() as { key: Uint8Array } | undefined;
  if (row) return Buffer.from(row.key);
  const key = randomBytes(32);
  db.prepare('INSERT INTO secret (key) VALUES (?)').run(key);
  return key;
}

/** A configured account goes by its name, any other by a keyed hash of its token. */
export function scopeOf({ account, token, region, base_url }: ServiceInUse, secret: Buffer): Scope {
  const hash = (): string => createHmac('sha256', secret).update(token).digest('hex').slice(0, 16);
  return { account: account ?? `token:${hash()}`, region, base_url };
}

/** Whether both are one service, whoever uses it: the hosts of one region. */
export const sameService = (a: Scope, b: Scope): boolean =>
  a.region === b.region && a.base_url === b.base_url;

/** Whether what is kept of one is of the other too. */
export const sameScope = (a: Scope, b: Scope): boolean => sameService(a, b) && a.account === b.account;

/** The tables `scopes` and `column_types`. */
export class Scopes {
  constructor(private readonly db: DatabaseSyncInstance) {}

  /** The row of a scope, made when there is none. */
  idOf({ account, region, base_url }: Scope): number {
    const key = [account, region, base_url] as const;
    const row = this.db
      .prepare('SELECT scope FROM scopes WHERE account = ? AND region = ? AND base_url = ?')
      .get(...key);
    if (row) return (row as { scope: number }).scope;
    const add = this.db.prepare('INSERT INTO scopes (account, region, base_url) VALUES (?, ?, ?)');
    return Number(add.run(...key).lastInsertRowid);
  }

  all(): Scope[] {
    const rows = this.db
      .prepare('SELECT account, region, base_url FROM scopes ORDER BY account, region, base_url')
      .all();
    return rows as unknown as Scope[];
  }

  columnTypes(scope: Scope, kind: Kind): Map<string, string> {
    const row = this.db
      .prepare('SELECT types FROM column_types WHERE scope = ? AND kind = ?')
      .get(this.idOf(scope), kind);
    return new Map(row ? (JSON.parse((row as { types: string }).types) as [string, string][]) : []);
  }

  forgetColumnTypes(scope: number): void {
    this.db.prepare('DELETE FROM column_types WHERE scope = ?').run(scope);
  }

  setColumnTypes(scope: Scope, kind: Kind, types: ReadonlyMap<string, string>): void {
    this.db
      .prepare('INSERT OR REPLACE INTO column_types (scope, kind, types) VALUES (?, ?, ?)')
      .run(this.idOf(scope), kind, JSON.stringify([...types]));
  }
}
