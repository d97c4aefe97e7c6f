/** Takes the locks of all accounts and kinds in a state, for work that no import may interrupt. */
import { LockedError } from '../errors.js';
import { KINDS, type Kind } from '../model.js';
import type { Backend } from './backend.js';
import type { Reader } from './database.js';
import { Scopes } from './scopes.js';
import type { HeldLease, Scope } from './types.js';

const scopes = new Scopes();

export class AllLocks {
  readonly #held = new Map<string, HeldLease>();

  constructor(
    private readonly from: Backend,
    /** The description of this process for others that find a lock taken. */
    private readonly holder: string,
  ) {}

  /** Takes the locks that it does not have yet. @throws LockedError while an import is running */
  async takeAll(): Promise<void> {
    for (const scope of await scopes.all(this.from.db)) {
      for (const kind of KINDS) {
        const key = keyOf(scope, kind);
        if (this.#held.has(key)) continue;
        const lock = await this.from.takeLock(scope, kind, this.holder);
        if (!lock) throw await this.#lockedBy(scope, kind);
        this.#held.set(key, lock);
      }
    }
  }

  async #lockedBy(scope: Scope, kind: Kind): Promise<LockedError> {
    const holder = await this.from.lockHolder(scope, kind);
    return new LockedError(
      `an import of ${kind} with this state is running: ${holder ?? 'it is still planning'}`,
      {
        hint: 'wait for it to end',
        problem: { code: 'import_running', run: null },
      },
    );
  }

  /**
   * Whether the locks of all accounts are held, including accounts that were added in the meantime.
   * @throws StateError or LockLostError if one of its locks may be lost
   */
  async areAllHeld(on: Reader): Promise<boolean> {
    for (const { check } of this.#held.values()) check();
    return (await scopes.all(on)).every((scope) => KINDS.every((kind) => this.#held.has(keyOf(scope, kind))));
  }

  async release(): Promise<void> {
    for (const lock of this.#held.values()) await lock.release();
    this.#held.clear();
  }
}

const keyOf = ({ account, region, base_url }: Scope, kind: Kind): string =>
  JSON.stringify([account, region, base_url, kind]);
