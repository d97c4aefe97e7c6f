/** What all stores share: the database, the clock, and the row ids of scopes. */
import type { Database, Reader, Transaction } from './database.js';
import { stateError } from './folder.js';
import type { Scope } from './scopes.js';

export class Access {
  /** Row ids that were read outside a transaction: such rows are committed, and never deleted. */
  readonly #scopes = new Map<string, number>();
  /** Writes records that wait for others (`Commits.flush`). */
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

  read<T>(work: (on: Reader) => Promise<T>): Promise<T> {
    return this.db.read(work);
  }

  /** Reads for a scope. @param work gets its row id; 0, which is never a row id, if there is none */
  readIn<T>(scope: Scope, work: (on: Reader, id: number) => Promise<T>): Promise<T> {
    return this.db.read(async (on) => work(on, await this.#find(on, scope, true)));
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

  /** Runs one transaction for a scope. @param work gets its row id, which is created if needed */
  writeIn<T>(scope: Scope, work: (tx: Transaction, id: number) => Promise<T>): Promise<T> {
    return this.write(async (tx) => work(tx, await this.idOf(tx, scope)));
  }

  /** The row id of a scope, which is created if needed. */
  async idOf(tx: Transaction, scope: Scope): Promise<number> {
    const known = await this.#find(tx, scope, false);
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

  async #find(on: Reader, { account, region, base_url }: Scope, isCommitted: boolean): Promise<number> {
    const key = JSON.stringify([account, region, base_url]);
    const known = this.#scopes.get(key);
    if (known !== undefined) return known;
    const row = await on.get<{ scope: number }>(
      'SELECT scope FROM scopes WHERE account = ? AND region = ? AND base_url = ?',
      account,
      region,
      base_url,
    );
    if (row && isCommitted) this.#scopes.set(key, row.scope);
    return row?.scope ?? 0;
  }
}
