/**
 * Counts the rows that the service already has (contract §3 "Only what changed"), including those with
 * identifiers that appear more than once.
 */
import type { Kind } from '../model.js';
import { type KeyChange, ROW_CLASSES } from '../plan-changes.js';
import { buildItems, type ItemBatch, itemIn, type Pool } from '../read/index.js';
import type { CellColumns } from '../stored-cells.js';
import type { Classes, Known } from './changes.js';
import { KeyChanges } from './key-changes.js';
import { acceptedOf, type PlannedInput, type Scanned } from './plan.js';
import { Repeats } from './repeats.js';

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
}

/**
 * Compares all rows of a kind. The scan has compared most of them. The inputs are read again if identifiers appear more
 * than once, or if the scan could not compare a row.
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
  const changes: Classes = { new: 0, changed: 0, refreshed: 0, unchanged: 0 };
  const keys = deps.cells && new KeyChanges(kind, deps.hashKey, deps.cells);
  const done = (repeats: Repeats | null): Comparison => ({
    known,
    changes,
    keys: keys?.list() ?? [],
    repeats,
    untracked: keys?.untracked ?? 0,
  });
  if (index.rows === 0) {
    for (const { scan } of inputs) changes.new += acceptedOf(scan.rows);
    return done(null);
  }
  const { count, repeated } = scanned.duplicates.get(kind)!;
  if (count === 0 && inputs.every((input) => isCompared(input, known, keys))) {
    for (const { classes, kept } of inputs) {
      for (const name of ROW_CLASSES) changes[name] += classes![name];
      if (keys === null || classes!.changed === 0) continue;
      for (const batch of kept!.changed()!) {
        for (let at = 0; at < batch.ends.length; at++) {
          if (index.classOf(batch, at) === 'changed') await addKey(keys, batch, at, known);
        }
      }
    }
    return done(null);
  }
  const repeats =
    count > 0 ? new Repeats(index, kind, deps.hashKey, (name, rows) => (changes[name] += rows)) : null;
  const { hashKey, pool, signal } = deps;
  for (const { opened, scan } of inputs) {
    const options = { hashKey, records: false, pool, planned: scan.marks, signal };
    for await (const batch of buildItems(opened, scan.schema, options)) {
      for (let at = 0; at < batch.ends.length; at++) {
        if (repeats && repeated.has(batch.ids[at]!)) {
          repeats.add(batch, at);
          continue;
        }
        const name = index.classOf(batch, at);
        changes[name]++;
        if (keys && name === 'changed') await addKey(keys, batch, at, known);
      }
    }
  }
  await repeats?.decide(keys);
  return done(repeats);
}

/** Whether the scan has compared every row of an input. Only for inputs without repeated identifiers. */
const isCompared = ({ classes, kept }: PlannedInput, known: Known, keys: KeyChanges | null): boolean =>
  classes !== null &&
  (keys === null || classes.changed === 0 || (kept!.isOf(known) && kept!.changed() !== null));

async function addKey(keys: KeyChanges, batch: ItemBatch, at: number, { index }: Known): Promise<void> {
  await keys.add(index.placesOf(index.rowOf(batch.ids[at]!)), [itemIn(batch, at)]);
}
