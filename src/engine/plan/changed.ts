/** Rows of an input that are left to send, kept from the scan of it (contract §3 "Only what changed"). */

import { COLUMN_TYPES, type ColumnType } from '../model.js';
import { metadataTypes } from '../read/mapping/types.js';
import { type Held, type SiftedPart, withHeld } from '../read/sifter.js';
import type { ItemBatch, OpenedInput, Schema } from '../read/types.js';
import type { FingerprintIndex } from '../state/fingerprint-index.js';

/** Bytes that are kept of all inputs of a kind. Beyond them an input is read again: sending takes far longer then. */
export const MOST_KEPT_BYTES = 16 * 1024 * 1024;

/** What the service holds of a kind. */
export interface Known {
  index: FingerprintIndex;
  /** Type of each metadata key in the last import. */
  types: ReadonlyMap<string, string>;
  /** Bytes that may still be kept; less with each input. At first `MOST_KEPT_BYTES`. */
  room: number;
}

/** Collects what the parts of a scan left to send. */
export class ChangedRows {
  /** For the threads; null where rows can only be told once the types are decided. */
  readonly held: Held | null;
  readonly #input: OpenedInput;
  readonly #known: Known | undefined;
  #parts: SiftedPart[] | null;
  #bytes = 0;

  constructor(input: OpenedInput, known: Known | undefined) {
    const types = known && known.index.size > 0 && known.room > 0 ? typesAgain(input, known.types) : null;
    // A type that is not what it was may make any item of a cell; it is not looked at then.
    this.held = types && {
      tables: known!.index.tables,
      schema: { types, itemLimitBytes: Number.POSITIVE_INFINITY },
    };
    this.#input = input;
    this.#known = known;
    this.#parts = this.held && [];
  }

  add(part: SiftedPart | null): void {
    if (this.#parts === null) return;
    const bytes = part === null ? 0 : sizeOf(part);
    this.#bytes += bytes;
    this.#known!.room -= bytes;
    if (part === null || this.#known!.room < 0) this.#letGo();
    else this.#parts.push(part);
  }

  /** Once the types are decided: null where they are not what they were, and where there was too much to keep. */
  decide({ types }: Schema): SiftedPart[] | null {
    const guessed = this.held?.schema.types;
    const decided = metadataTypes(this.#input, (_, index) => types[index]!);
    if (!guessed?.every((type, index) => type === decided[index])) this.#letGo();
    return this.#parts;
  }

  #letGo(): void {
    if (this.#parts !== null) this.#known!.room += this.#bytes;
    this.#parts = null;
  }
}

/** The types of the columns, if they are what they were; null where one has none to go by, or had one of JSON's. */
function typesAgain(input: OpenedInput, last: Known['types']): ColumnType[] | null {
  const types = metadataTypes(input, ({ key, pinned }) => pinned ?? last.get(key!));
  return types.every(isColumnType) ? types : null;
}

const isColumnType = (type: string | undefined): type is ColumnType =>
  COLUMN_TYPES.some((known) => known === type);

function sizeOf({ changed, held }: SiftedPart): number {
  const arrays = [...Object.values(changed), held];
  return arrays.reduce((sum: number, array) => sum + (ArrayBuffer.isView(array) ? array.byteLength : 0), 0);
}

/** All accepted rows in batches and in order, as they were kept. */
export function* changedItems(parts: readonly SiftedPart[]): Generator<ItemBatch> {
  for (const part of parts) yield withHeld(part);
}
