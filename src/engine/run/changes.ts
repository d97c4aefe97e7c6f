/**
 * How the rows of a session compare with what the service has, by the fingerprints in the state (contract §3 "Only what
 * changed").
 */
import type { FingerprintIndex } from '../fingerprints/index.js';
import { type KeyChange, type PlanChanges, ROW_CLASSES } from '../model/plan-changes.js';
import type { Kind, RowCounts } from '../model.js';
import { isWithin } from '../options/bounds.js';
import type { ImportOptions } from '../options.js';
import { type CompareDeps, type Comparison, compareRows } from '../plan/compare.js';
import type { Scanned } from '../plan/plan.js';
import type { Warning } from '../problems.js';
import { buildItems } from '../read/index.js';
import type { Scope, State } from '../state/state.js';
import { count } from '../util/numbers.js';

/** Compares the rows of each kind once, and again only if the known profiles of the kind have changed. */
export class Changes {
  readonly #known = new Map<Kind, { mark: string; index: FingerprintIndex }>();
  readonly #compared = new WeakMap<FingerprintIndex, Promise<Comparison>>();

  /**
   * @param scope returns the current scope; null if the import sends everything
   * @param since ISO 8601: profiles that were completed earlier count as unknown; null: no limit
   */
  constructor(
    private readonly state: State,
    private readonly scope: () => Scope | null,
    private readonly since: string | null,
    private readonly how: CompareDeps,
  ) {}

  /**
   * What is known of a kind, the same object until profiles of this kind are sent: sending companies may take hours, and
   * `identify` may send users in the meantime. Undefined if the import sends everything.
   */
  async known(kind: Kind): Promise<FingerprintIndex | undefined> {
    const scope = this.scope();
    if (scope === null) return undefined;
    const mark = JSON.stringify([scope, await this.state.known.mark(scope, kind)]);
    const before = this.#known.get(kind);
    if (before?.mark === mark) return before.index;
    const index = await this.state.known.load(scope, kind, this.since);
    this.#known.set(kind, { mark, index });
    return index;
  }

  /** How the rows of a kind compare with what is known of it. */
  compared(scanned: Scanned, kind: Kind, known: FingerprintIndex): Promise<Comparison> {
    const compared = this.#compared.get(known) ?? compareRows(scanned, kind, known, this.how);
    this.#compared.set(known, compared);
    return compared;
  }

  /** Totals over all kinds; undefined if the import sends everything. */
  async all(scanned: Scanned): Promise<{ changes: PlanChanges; warnings: Warning[] } | undefined> {
    const changes = { new: 0, changed: 0, refreshed: 0, unchanged: 0, rejected: 0 };
    const keys = new Map<string, number>();
    let untracked = 0;
    for (const kind of scanned.duplicates.keys()) {
      const known = await this.known(kind);
      if (!known) return undefined;
      const one = await this.compared(scanned, kind, known);
      for (const name of ROW_CLASSES) changes[name] += one.changes[name];
      for (const { key, rows } of one.keys) keys.set(key, (keys.get(key) ?? 0) + rows);
      untracked += one.untracked;
    }
    const { rejected, ...others } = changes;
    const sorted = [...keys].map(([key, rows]) => ({ key, rows })).sort(mostRowsFirst);
    const message = `${count(untracked, 'changed row')} ${untracked === 1 ? 'is' : 'are'} not counted by key: the cells that were sent last are not remembered`;
    return {
      changes: { ...others, ...(rejected > 0 && { rejected }), ...(this.how.cells && { keys: sorted }) },
      warnings: untracked > 0 ? [{ message }] : [],
    };
  }

  /** The ids of the unchanged rows of a kind. Reads the inputs again. @throws InputError; the signal's reason */
  async unchangedIds(scanned: Scanned, kind: Kind): Promise<BigUint64Array> {
    const known = (await this.known(kind))!;
    const { repeats } = await this.compared(scanned, kind, known);
    const { repeated } = scanned.duplicates.get(kind)!;
    const found: bigint[] = [];
    for (const { opened, scan } of scanned.inputs) {
      if (opened.kind !== kind) continue;
      for await (const batch of buildItems(opened, scan.schema, { ...this.how, planned: scan })) {
        for (const [at, id] of batch.ids.entries()) {
          if (repeated.has(id) ? repeats?.isUnchanged(id) : known.matches(batch, at)) found.push(id);
        }
      }
    }
    return BigUint64Array.from(found);
  }
}

const mostRowsFirst = (a: KeyChange, b: KeyChange): number => b.rows - a.rows || (a.key < b.key ? -1 : 1);

/** Whether more rows are new or changed than `maxChanged` allows. */
export const isHeld = (
  rows: Pick<RowCounts, 'read' | 'filtered'>,
  changes: PlanChanges | undefined,
  { maxChanged = null }: Pick<ImportOptions, 'maxChanged'>,
): boolean =>
  maxChanged !== null &&
  changes !== undefined &&
  !isWithin(changes.new + changes.changed, rows.read - rows.filtered, maxChanged);
