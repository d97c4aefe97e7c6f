/** Makes a profile from what was sent for it: the contract's merging upsert, as a fold. */
import { members } from './raw-json.js';

/** What one accepted item says about a profile. JSON stays text, so that numbers keep their form. */
export interface Piece {
  companyId: string | null;
  /** Text of a JSON object, or null when the item had no metadata. */
  metadata: string | null;
}

/** A profile, with the text of each value by its key. */
export interface Folded {
  companyId: string | null;
  values: Map<string, string>;
}

/**
 * Folds pieces, oldest first, into one: of each metadata key the last value wins, whole (objects inside
 * are not merged), and `null` removes the key. A company that is not named again stays.
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

/** The same with the metadata as the text of one object. */
export function mergePieces(pieces: readonly Piece[]): { companyId: string | null; metadata: string } {
  const { companyId, values } = foldPieces(pieces);
  return { companyId, metadata: objectOf(values) };
}

/** The text of an object, of the texts of its values. */
export function objectOf(values: ReadonlyMap<string, string>): string {
  const parts = [...values].map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  return `{${parts.join(',')}}`;
}
