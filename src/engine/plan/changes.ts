/**
 * Finds the unchanged rows of an input during its scan, and keeps the other items (contract §3 "Only what
 * changed").
 */
import type { FingerprintIndex } from '../fingerprint-index.js';
import { type CellType, COLUMN_TYPES } from '../model.js';
import type { RowClass } from '../plan-changes.js';
import type { ItemBatch } from '../read/batch.js';
import { type ChangedPart, type KnownItems, NO_ITEMS, withUnchanged } from '../read/change-detector.js';
import { metadataTypes } from '../read/mapping/targets.js';
import { type ScanOptions, scanInput } from '../read/scan.js';
import type { OpenedInput, Scan } from '../read/types.js';
import { RowMarks } from './row-marks.js';

/**
 * The most bytes of items to keep for all inputs of a kind. If an input has more, its changed rows are built
 * again when they are sent.
 */
export const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** What is known about the profiles of a kind. */
export interface Known {
  readonly index: FingerprintIndex;
  /** The type of each metadata key in the last import. */
  readonly types: ReadonlyMap<string, string>;
}

/** Builds items of an input, only those of wanted rows. */
type Build = (isWanted: (row: number) => boolean) => AsyncIterable<ItemBatch>;

/** The accepted rows of an input: items for changed rows, and runs of unchanged rows. */
export class KeptRows {
  /** Null if there were too many items, or `take` has returned them. */
  #parts: ChangedPart[] | null;

  constructor(
    parts: ChangedPart[] | null,
    private readonly marks: RowMarks,
    private readonly known: Known,
    /** Memory of the items, in bytes. */
    readonly bytes: number,
  ) {
    this.#parts = parts;
  }

  /** Whether these rows were compared with `known`, and not with an older index. */
  isOf(known: Known | undefined): boolean {
    return known === this.known;
  }

  /**
   * The rows in batches, in order. Kept items are released as they are read; later calls build them again
   * with `build`.
   */
  take(build: Build): AsyncIterable<ItemBatch> | Iterable<ItemBatch> {
    const parts = this.#parts;
    this.#parts = null;
    return parts ? batchesOf(parts) : this.marks.among(build(this.marks.isChanged));
  }

  /** The changed rows; null if they were not kept, or were taken. */
  changed(): ItemBatch[] | null {
    return this.#parts?.map(({ changed }) => changed) ?? null;
  }
}

/** The number of accepted rows in each class. */
export type Classes = Record<RowClass, number>;

function* batchesOf(parts: ChangedPart[]): Generator<ItemBatch> {
  for (let part = parts.shift(); part; part = parts.shift()) yield withUnchanged(part);
}

/**
 * Scans an input, and in the same pass finds its unchanged rows if possible.
 * @param known undefined if the import sends everything
 * @param room how many bytes of items may be kept
 * @returns `kept` and `classes` are null if all rows must be built to find the unchanged ones
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
      // Parts without changes share one empty batch: ten million rows may have 14,000 such parts.
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
 * The column types of the last import, for comparing rows before the types of this import are decided. Null
 * if a column had none, or a type that only JSON has. If the decided types turn out to be others, the
 * comparison is void.
 */
function typesOfLastTime(input: OpenedInput, last: Known['types']): CellType[] | null {
  const types = metadataTypes(input.targets, ({ key, pinned }) => pinned ?? inferred(last.get(key!)));
  return types.every((type) => type !== undefined) ? (types as CellType[]) : null;
}

/** A type that a column can have without a rule; otherwise undefined. */
const inferred = (type: string | undefined): CellType | undefined =>
  COLUMN_TYPES.find((known) => known === type);

function sizeOf({ changed, runs }: ChangedPart): number {
  const arrays = [...Object.values(changed), runs];
  return arrays.reduce(
    (sum: number, array) => sum + (ArrayBuffer.isView(array) ? array.buffer.byteLength : 0),
    0,
  );
}
