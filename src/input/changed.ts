/** Rows of an input that are left to send, kept from the survey of it (contract §3 "Only what changed"). */
import type { FingerprintIndex } from '../fingerprint-index.js';
import type { ColumnType } from '../model.js';
import { metadataTypes } from './columns/types.js';
import { type Held, type SiftedPart, withHeld } from './sifter.js';
import type { ItemBatch, OpenedInput, Schema } from './types.js';

/** What the service holds of a kind. */
export interface Known {
  index: FingerprintIndex;
  /** Type of each metadata key in the last import. */
  types: ReadonlyMap<string, string>;
}

/** Collects what the parts of a survey left to send. */
export class ChangedRows {
  /** For the threads; null where rows can only be told once the types are decided. */
  readonly held: Held | null;
  readonly #input: OpenedInput;
  #parts: SiftedPart[] | null;

  constructor(input: OpenedInput, known: Known | undefined, itemLimitBytes: number) {
    const types = known && known.index.size > 0 ? typesAgain(input, known.types) : null;
    this.held = types && { tables: known!.index.tables, schema: { types, itemLimitBytes } };
    this.#input = input;
    this.#parts = this.held && [];
  }

  add(part: SiftedPart | null): void {
    if (part === null) this.#parts = null;
    else this.#parts?.push(part);
  }

  /** Once the types are decided: null where they are not what they were, and where there was too much to keep. */
  decide({ types }: Schema): SiftedPart[] | null {
    const guessed = this.held?.schema.types;
    const decided = metadataTypes(this.#input, (_, index) => types[index]!);
    return guessed && decided.every((type, index) => type === guessed[index]) ? this.#parts : null;
  }
}

/** The types of the columns, if they are what they were; null where one has none to go by. */
function typesAgain(input: OpenedInput, last: Known['types']): ColumnType[] | null {
  const types = metadataTypes(input, ({ key, pinned }) => pinned ?? last.get(key!));
  return types.includes(undefined) ? null : (types as ColumnType[]);
}

/** All accepted rows in batches and in order, as they were kept. */
export function* changedItems(parts: readonly SiftedPart[]): Generator<ItemBatch> {
  for (const part of parts) yield withHeld(part);
}
