/** Merges rows with the same identifier into what consecutive upserts result in (contract §3 "Plan, then send", 5). */
import { ID_FIELD, type Kind } from '../model.js';
import { Hashes } from './hashes.js';

/** An item as it is sent (spec: Company, User). */
export type Item = Record<string, unknown> & { metadata?: Record<string, unknown> };

export const parseItem = (bytes: Uint8Array): Item =>
  JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as Item;

/** The result of two consecutive upserts: keys of the later win, others stay. */
export function mergeUpserts(earlier: Item, later: Item): Item {
  const { metadata: under, ...fields } = earlier;
  const { metadata: over, ...laterFields } = later;
  const merged: Item = { ...fields, ...laterFields };
  if (under || over) merged.metadata = { ...under, ...over };
  return merged;
}

/** Keyed hashes of merged items. Equal items have equal hashes, regardless of the order of their keys. */
export class MergedHashes {
  readonly #hashes: Hashes;
  readonly #field: string;

  constructor(kind: Kind, hashKey: Uint8Array) {
    this.#hashes = new Hashes(hashKey, 'merged');
    this.#field = ID_FIELD[kind];
  }

  of({ metadata = {}, ...fields }: Item): bigint {
    const { [this.#field]: _, ...others } = fields;
    const sorted = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
    return this.#hashes.of(JSON.stringify([others, sorted]));
  }
}
