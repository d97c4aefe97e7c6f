/** The fingerprints of what the service has (contract §3 "Only what changed"). Cached for each kind. */

import type { Kind } from '../model.js';
import type { Known } from '../plan/compare.js';
import type { Scope, State } from '../state/state.js';

export class KnownProfiles {
  readonly #kinds = new Map<Kind, Known & { newest: number }>();

  /**
   * @param scope returns the current scope; null if the import sends everything
   * @param since ISO 8601: profiles that were completed earlier count as unknown; null: no limit
   */
  constructor(
    private readonly state: State,
    private readonly scope: () => Scope | null,
    private readonly since: string | null,
  ) {}

  /**
   * What is known of a kind; undefined if the import sends everything. Returns the same object until `renew`
   * or `forget` drops it: others compare it by identity.
   */
  async of(kind: Kind): Promise<Known | undefined> {
    const scope = this.scope();
    if (scope === null) return undefined;
    const known = this.#kinds.get(kind) ?? {
      newest: await this.state.known.newest(scope, kind),
      index: await this.state.known.load(scope, kind, this.since),
    };
    this.#kinds.set(kind, known);
    return known;
  }

  /**
   * Drops what was read of a kind if profiles of this kind were sent since. Sending companies may take hours,
   * and `identify` may send users in the meantime.
   */
  async renew(kind: Kind): Promise<void> {
    const scope = this.scope();
    const known = this.#kinds.get(kind);
    if (!scope || !known) return;
    if (known.newest !== (await this.state.known.newest(scope, kind))) this.#kinds.delete(kind);
  }

  /** Drops everything. Call this when the scope changes. */
  forget(): void {
    this.#kinds.clear();
  }
}
