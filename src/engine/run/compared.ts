/**
 * Compares the rows of a session with the fingerprints of what the service has (contract §3 "Review before
 * sending").
 */

import { type KeyChange, type PlanChanges, ROW_CLASSES } from '../model/plan-changes.js';
import type { Kind, RowCounts } from '../model.js';
import { type Bound, isWithin } from '../options/bounds.js';
import type { ImportOptions } from '../options.js';
import { type CompareDeps, type Comparison, compareRows, type Known } from '../plan/compare.js';
import type { Scanned } from '../plan/plan.js';
import type { Warning } from '../problems.js';
import { buildItems, type Pool } from '../read/index.js';
import type { Scope, State } from '../state/state.js';
import { count } from '../util/numbers.js';

/** Compares the rows of each kind once, and again only if the known profiles of the kind have changed. */
export class ComparedRows {
  readonly #kinds = new Map<Kind, Comparison>();

  constructor(
    private readonly scanned: Scanned,
    private readonly deps: CompareDeps,
  ) {}

  async of(kind: Kind, known: Known): Promise<Comparison> {
    const before = this.#kinds.get(kind);
    if (before?.known === known) return before;
    // Counts by key are needed only for the plan, which was made in the first comparison.
    const deps = before ? { ...this.deps, cells: null } : this.deps;
    const compared = await compareRows(this.scanned, kind, known, deps);
    this.#kinds.set(kind, compared);
    return compared;
  }

  /** Totals over these kinds; undefined if the import sends everything. */
  async all(
    kinds: readonly Kind[],
    knownOf: (kind: Kind) => Promise<Known | undefined>,
  ): Promise<{ changes: PlanChanges; warnings: Warning[] } | undefined> {
    const changes = { new: 0, changed: 0, refreshed: 0, unchanged: 0, rejected: 0 };
    const keys = new Map<string, number>();
    let untracked = 0;
    for (const kind of kinds) {
      const known = await knownOf(kind);
      if (!known) return undefined;
      const one = await this.of(kind, known);
      for (const name of ROW_CLASSES) changes[name] += one.changes[name];
      for (const { key, rows } of one.keys) keys.set(key, (keys.get(key) ?? 0) + rows);
      untracked += one.untracked;
    }
    const { rejected, ...others } = changes;
    const sorted = [...keys].map(([key, rows]) => ({ key, rows })).sort(mostRowsFirst);
    return {
      changes: { ...others, ...(rejected > 0 && { rejected }), ...(this.deps.cells && { keys: sorted }) },
      warnings: untracked > 0 ? [untrackedWarning(untracked)] : [],
    };
  }
}

const mostRowsFirst = (a: KeyChange, b: KeyChange): number => b.rows - a.rows || (a.key < b.key ? -1 : 1);

const untrackedWarning = (rows: number): Warning => ({
  message: `${count(rows, 'changed row')} ${rows === 1 ? 'is' : 'are'} not counted by key: the cells that were sent last are not remembered`,
});

/** Whether more rows are new or changed than `maxChanged` allows. */
export function isHeld(
  rows: Pick<RowCounts, 'read' | 'filtered'>,
  changes: PlanChanges | undefined,
  { maxChanged }: Pick<ImportOptions, 'maxChanged'>,
): boolean {
  const bound: Bound | null = maxChanged ?? null;
  if (bound === null || !changes) return false;
  return !isWithin(changes.new + changes.changed, rows.read - rows.filtered, bound);
}

/** The ids of the unchanged rows of a kind. Reads the inputs again. @throws InputError; the signal's reason */
export async function unchangedIds(
  { inputs, duplicates }: Scanned,
  kind: Kind,
  { index }: Known,
  { repeats }: Comparison,
  { hashKey, pool, signal }: { hashKey: Buffer; pool: Pool; signal: AbortSignal },
): Promise<BigUint64Array> {
  const found: bigint[] = [];
  const { repeated } = duplicates.get(kind)!;
  for (const { opened, scan } of inputs) {
    if (opened.kind !== kind) continue;
    const options = { hashKey, pool, planned: scan.marks, signal };
    for await (const batch of buildItems(opened, scan.schema, options)) {
      for (const [at, id] of batch.ids.entries()) {
        if (repeated.has(id) ? repeats?.isUnchanged(id) : index.matches(batch, at)) found.push(id);
      }
    }
  }
  return BigUint64Array.from(found);
}

/** The fingerprints of what the service has (contract §3 "Only what changed"). Cached for each kind. */
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
