/** What the service has (contract §3 "Only what changed"), read once for each kind, and again if it has changed. */

import type { Kind } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { Known } from '../plan/changes.js';
import type { Scope, State } from '../state/state.js';

export class KnownProfiles {
  readonly #kinds = new Map<Kind, Known & { newest: number }>();

  /**
   * @param scope returns the current scope; null if everything is sent
   * @param since ISO 8601: what was completed earlier counts as unknown; null: no limit
   */
  constructor(
    private readonly state: State,
    private readonly scope: () => Scope | null,
    private readonly since: string | null,
  ) {}

  /** Undefined if everything is sent. Returns the same object until something is forgotten. */
  async of(kind: Kind): Promise<Known | undefined> {
    const scope = this.scope();
    if (scope === null) return undefined;
    const known = this.#kinds.get(kind) ?? {
      newest: await this.state.newestFingerprints(scope, kind),
      index: await this.state.fingerprints(scope, kind, this.since),
      types: await this.state.columnTypes(scope, kind),
    };
    this.#kinds.set(kind, known);
    return known;
  }

  /**
   * Forgets a kind if something of it was sent since: companies may take hours, and `identify` may change users in
   * between.
   */
  async renew(kind: Kind): Promise<void> {
    const scope = this.scope();
    const known = this.#kinds.get(kind);
    if (!scope || !known) return;
    if (known.newest !== (await this.state.newestFingerprints(scope, kind))) this.#kinds.delete(kind);
  }

  /** Forgets everything: another scope continues, for which these fingerprints mean nothing. */
  forget(): void {
    this.#kinds.clear();
  }
}

/** What was completed before this time counts as unknown; null if age does not matter. */
export function oldestKnown({ refreshAfterMs }: ImportOptions, now: number): string | null {
  // Runs of version 0.1.0 do not have the option.
  return refreshAfterMs ? new Date(Math.max(0, now - refreshAfterMs)).toISOString() : null;
}
