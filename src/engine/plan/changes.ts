/** Which rows of an input are left to send, kept from the scan of it (contract §3 "Only what changed"). */
import type { FingerprintIndex } from '../fingerprint-index.js';
import { type CellType, COLUMN_TYPES } from '../model.js';
import type { RowClass } from '../plan-changes.js';
import type { ItemBatch } from '../read/batch.js';
import { type ChangedPart, type KnownItems, NO_ITEMS, withUnchanged } from '../read/change-detector.js';
import { metadataTypes } from '../read/mapping/targets.js';
import { type ScanOptions, scanInput } from '../read/scan.js';
import type { OpenedInput, Scan } from '../read/types.js';
import { RowMarks } from './row-marks.js';

/** Bytes of items that are kept of all inputs of a kind. Beyond them an input is read again, for what has changed of it. */
export const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** What the service has of a kind. */
export interface Known {
  readonly index: FingerprintIndex;
  /** Type of each metadata key in the last import. */
  readonly types: ReadonlyMap<string, string>;
}

/** Makes items of those rows of the input that are wanted. */
type Build = (isWanted: (row: number) => boolean) => AsyncIterable<ItemBatch>;

/** The accepted rows of an input: those to send as items, the others as runs of unchanged rows. */
export class KeptRows {
  /** Null where the items were too many, or were taken. */
  #parts: ChangedPart[] | null;

  constructor(
    parts: ChangedPart[] | null,
    private readonly marks: RowMarks,
    private readonly known: Known,
    /** What the items take in memory. */
    readonly bytes: number,
  ) {
    this.#parts = parts;
  }

  /** Whether these rows were compared with `known`, and not with an older index. */
  isOf(known: Known | undefined): boolean {
    return known === this.known;
  }

  /** In batches and in order. Items that were kept are handed over once: what was taken is no longer kept. */
  take(build: Build): AsyncIterable<ItemBatch> | Iterable<ItemBatch> {
    const parts = this.#parts;
    this.#parts = null;
    return parts ? batchesOf(parts) : this.marks.among(build(this.marks.isChanged));
  }

  /** The rows to send, as long as they were not taken; null where they were not kept. */
  changed(): ItemBatch[] | null {
    return this.#parts?.map(({ changed }) => changed) ?? null;
  }
}

/** How many accepted rows of an input are in each class. */
export type Classes = Record<RowClass, number>;

function* batchesOf(parts: ChangedPart[]): Generator<ItemBatch> {
  for (let part = parts.shift(); part; part = parts.shift()) yield withUnchanged(part);
}

/**
 * Reads the whole input once, and finds in the same pass which of its rows are unchanged, where that is known.
 * @param room bytes that may be kept of the rows
 * @returns `kept` is null where all rows must be built to tell; then `classes` is, too
 * @throws as `scanInput` does
 */
export async function scanChanges(
  input: OpenedInput,
  { known, room, ...options }: ScanOptions & { known: Known | undefined; room: number },
): Promise<{ scan: Scan; kept: KeptRows | null; classes: Classes | null }> {
  const types = known && known.index.rows > 0 ? typesOfLastTime(input, known.types) : null;
  if (!known || !types) return { scan: await scanInput(input, options), kept: null, classes: null };
  let parts: ChangedPart[] | null = [];
  let classes: Classes | null = { new: 0, changed: 0, refreshed: 0, unchanged: 0 };
  const marks = new RowMarks();
  let bytes = 0;
  const scan = await scanInput(input, options, {
    known: knownItems(known, types),
    onChanges(part) {
      if (!part || !classes) {
        classes = parts = null;
        return;
      }
      count(part, known.index, classes);
      marks.add(part);
      if (parts === null) return;
      bytes += sizeOf(part);
      // Of ten million rows there may be 14,000 parts in which nothing has changed.
      if (part.kept && bytes <= room)
        parts.push(part.changed.ends.length === 0 ? { ...part, changed: NO_ITEMS } : part);
      else parts = null;
    },
  });
  const decided = metadataTypes(input.targets, (_, index) => scan.schema.types[index]!);
  const same = types.every((type, index) => type === decided[index]);
  if (!same || !classes) return { scan, kept: null, classes: null };
  return { scan, kept: new KeptRows(parts, marks, known, parts ? bytes : 0), classes };
}

function count({ changed, runs }: ChangedPart, index: FingerprintIndex, classes: Classes): void {
  for (let run = 1; run < runs.length; run += 2) classes.unchanged += runs[run]!;
  for (let at = 0; at < changed.ends.length; at++) classes[index.classOf(changed, at)]++;
}

const knownItems = ({ index }: Known, types: CellType[]): KnownItems => ({
  tables: index.tables,
  schema: { types, itemLimitBytes: Number.POSITIVE_INFINITY },
});

/**
 * The types that columns had last time; null where one had none, or one of JSON's. Where the decided types differ from
 * them, any item of a cell may differ.
 */
function typesOfLastTime(input: OpenedInput, last: Known['types']): CellType[] | null {
  const types = metadataTypes(input.targets, ({ key, pinned }) => pinned ?? inferred(last.get(key!)));
  return types.every((type) => type !== undefined) ? (types as CellType[]) : null;
}

/** A type that a column can have without a rule. */
const inferred = (type: string | undefined): CellType | undefined =>
  COLUMN_TYPES.find((known) => known === type);

function sizeOf({ changed, runs }: ChangedPart): number {
  const arrays = [...Object.values(changed), runs];
  return arrays.reduce(
    (sum: number, array) => sum + (ArrayBuffer.isView(array) ? array.buffer.byteLength : 0),
    0,
  );
}
