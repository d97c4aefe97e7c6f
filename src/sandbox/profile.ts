/** Builds a profile from the items that were sent for it, with merging upserts as in contract §8. */
import { members } from './raw-json.js';

/** What one accepted item contains about a profile. JSON stays text, so that numbers keep their form. */
export interface Piece {
  companyId: string | null;
  /** The text of a JSON object, or null if the item had no metadata. */
  metadata: string | null;
}

/** A profile, with the JSON text of each value by its key. */
export interface Folded {
  companyId: string | null;
  values: Map<string, string>;
}

/**
 * Merges pieces, oldest first. For each metadata key, the last value replaces earlier ones completely
 * (objects in it are not merged), and `null` removes the key. The company stays if a later piece does not
 * name one.
 */
export function foldPieces(pieces: readonly Piece[]): Folded {
  let companyId: string | null = null;
  const values = new Map<string, string>();
  for (const piece of pieces) {
    companyId = piece.companyId ?? companyId;
    if (piece.metadata === null) continue;
    for (const [key, value] of members(piece.metadata)) {
      if (value === 'null') values.delete(key);
      else values.set(key, value);
    }
  }
  return { companyId, values };
}

/** Like `foldPieces`, with the metadata as the JSON text of one object. */
export function mergePieces(pieces: readonly Piece[]): { companyId: string | null; metadata: string } {
  const { companyId, values } = foldPieces(pieces);
  return { companyId, metadata: objectOf(values) };
}

/** The JSON text of an object, from the JSON texts of its values. */
export function objectOf(values: ReadonlyMap<string, string>): string {
  const parts = [...values].map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  return `{${parts.join(',')}}`;
}
