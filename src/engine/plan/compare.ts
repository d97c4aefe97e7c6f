/**
 * Counts the rows that the service already has (contract §3 "Only what changed"), including those with
 * identifiers that appear more than once.
 */

import type { CellColumns } from '../fingerprints/cells.js';
import type { FingerprintIndex } from '../fingerprints/index.js';
import type { KeyChange, RowClass } from '../model/plan-changes.js';
import type { Kind } from '../model.js';
import { buildItems, itemIn, itemMemory, type Pool } from '../read/index.js';
import type { Volume } from './estimate.js';
import { KeyChanges } from './key-changes.js';
import { acceptedOf, type Scanned } from './plan.js';
import { Repeats } from './repeats.js';

/** What is known about the profiles of a kind. */
export interface Known {
  readonly index: FingerprintIndex;
}

/** The number of accepted rows in each class. */
export type Classes = Record<RowClass, number>;

export interface CompareDeps {
  hashKey: Buffer;
  pool: Pool;
  signal: AbortSignal;
  /** Reads the hashes of the cells of a send; null if changes are not counted by key. */
  cells: ((send: number) => Promise<CellColumns | null>) | null;
}

/** How the rows of a kind compare with what the service has. */
export interface Comparison {
  /** The known profiles that the rows were compared with. */
  known: Known;
  changes: Classes;
  /** For each key: in how many changed rows it differs. */
  keys: KeyChange[];
  /** Null if no identifier appears more than once, or nothing is known. */
  repeats: Repeats | null;
  /**
   * Number of changed rows that are not counted by key, because the cells of their last send were not
   * recorded.
   */
  untracked: number;
  /** The rows to send, before rows with the same identifier are merged. */
  toSend: Volume;
}

/**
 * Compares all rows of a kind, after their scan has decided the types. Reads the inputs again, unless nothing is known.
 * @throws InputError; the signal's reason when aborted
 */
export async function compareRows(
  scanned: Scanned,
  kind: Kind,
  known: Known,
  deps: CompareDeps,
): Promise<Comparison> {
  const inputs = scanned.inputs.filter(({ opened }) => opened.kind === kind);
  const { index } = known;
  const changes: Classes = { new: 0, changed: 0, refreshed: 0, unchanged: 0, rejected: 0 };
  const toSend: Volume = { kind, rows: 0, bytes: 0, largestItemBytes: 0 };
  const keys = deps.cells && new KeyChanges(kind, deps.hashKey, deps.cells);
  const { count, repeated } = scanned.duplicates.get(kind)!;
  const repeats =
    count > 0 && !index.isEmpty
      ? new Repeats(index, kind, deps.hashKey, (name, rows) => (changes[name] += rows))
      : null;
  const { hashKey, pool, signal } = deps;
  const add = (rows: number, bytes: number, largest: number): void => {
    toSend.rows += rows;
    toSend.bytes += bytes;
    toSend.largestItemBytes = Math.max(toSend.largestItemBytes, largest);
  };
  for (const { opened, scan } of inputs) {
    if (index.isEmpty) {
      const rows = acceptedOf(scan.rows);
      changes.new += rows;
      add(rows, scan.bytes, scan.largestItemBytes);
      continue;
    }
    const options = { hashKey, pool, planned: scan.marks, signal };
    for await (const batch of buildItems(opened, scan.schema, options)) {
      for (let at = 0; at < batch.ends.length; at++) {
        if (repeats && repeated.has(batch.ids[at]!)) {
          repeats.add(batch, at);
          continue;
        }
        const name = index.classOf(batch, at);
        changes[name]++;
        if (name === 'unchanged' || name === 'rejected') continue;
        const item = itemIn(batch, at);
        add(1, item.length, item.length);
        if (keys && name === 'changed') {
          await keys.add(index.placesOf(index.rowOf(batch.ids[at]!)), [item]);
        }
      }
      itemMemory.give(batch.items.buffer);
    }
  }
  await repeats?.decide(keys);
  return { known, changes, keys: keys?.list() ?? [], repeats, untracked: keys?.untracked ?? 0, toSend };
}
