/** Makes a profile from what was sent for it: the contract's merging upsert, as a fold. */
import { members } from './raw-json.js';

/** What one accepted item says about a profile. JSON stays text, so that numbers keep their form. */
export interface Piece {
  companyId: string | null;
  /** Text of a JSON object, or null when the item had no metadata. */
  metadata: string | null;
}

/**
 * Folds pieces, oldest first, into one: of each metadata key the last value wins, whole (objects inside
 * are not merged), and `null` removes the key. A company that is not named again stays.
 */
export function mergePieces(pieces: readonly Piece[]): { companyId: string | null; metadata: string } {
  let companyId: string | null = null;
  const merged = new Map<string, string>();
  for (const piece of pieces) {
    companyId = piece.companyId ?? companyId;
    if (piece.metadata === null) continue;
    for (const [key, value] of members(piece.metadata)) {
      if (value === 'null') merged.delete(key);
      else merged.set(key, value);
    }
  }
  const parts = [...merged].map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  return { companyId, metadata: `{${parts.join(',')}}` };
}
