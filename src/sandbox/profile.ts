/** Builds a profile from the items that were sent for it, with merging upserts as in contract §8. */
import { members } from './raw-json.js';
import { ID_FIELD, type Kind } from './types.js';

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

/** What an upsert changed in one key, as JSON text. Null means that the key was absent. */
export interface Change {
  key: string;
  before: string | null;
  after: string | null;
}

/**
 * Merges a piece into a profile. For each metadata key, the value replaces the earlier one completely
 * (objects in it are not merged), and `null` removes the key. The company stays if the piece does not name
 * one.
 */
function merge(profile: Folded, { companyId, metadata }: Piece, sent?: (change: Change) => void): void {
  profile.companyId = companyId ?? profile.companyId;
  if (metadata === null) return;
  for (const [key, value] of members(metadata)) {
    sent?.({ key, before: profile.values.get(key) ?? null, after: value === 'null' ? null : value });
    if (value === 'null') profile.values.delete(key);
    else profile.values.set(key, value);
  }
}

/** Merges pieces, oldest first. */
export function foldPieces(pieces: readonly Piece[]): Folded {
  const profile: Folded = { companyId: null, values: new Map() };
  for (const piece of pieces) merge(profile, piece);
  return profile;
}

/** The JSON text of an object, from the JSON texts of its values. */
export function objectOf(values: ReadonlyMap<string, string>): string {
  const parts = [...values].map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  return `{${parts.join(',')}}`;
}

/** A JSON value as readers see it: a string without quotes and escapes. */
export function plain(json: string): string {
  if (!json.startsWith('"')) return json;
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

/** A whole profile in the form of an item, as JSON text. */
export function documentOf(kind: Kind, id: string, { companyId, values }: Folded): string {
  const parts = new Map([[ID_FIELD[kind] as string, JSON.stringify(id)]]);
  if (companyId !== null) parts.set('company_id', JSON.stringify(companyId));
  return objectOf(parts.set('metadata', objectOf(values)));
}

/** One upsert from the log. */
export interface Upsert extends Piece {
  /** The number of its submission. */
  n: number;
  /** Whether it came with a job. A single company's upsert is not a job. */
  bulk: number;
  /** When it took effect, in milliseconds since 1970. */
  at: number;
}

/** What an upsert changed. */
export interface Chapter {
  n: number;
  bulk: number;
  at: number;
  /** Keys that got another value. */
  changes: Change[];
  /** The number of keys that were sent with the value that they had. */
  unchanged: number;
  /** Set if it gave the profile another company, or its first one. */
  company: { before: string | null; after: string } | null;
}

/** The story of a profile: what each upsert changed. @param upserts oldest first */
export function storyOf(upserts: readonly Upsert[]): Chapter[] {
  const profile = foldPieces([]);
  return upserts.map((upsert) => {
    const { n, bulk, at } = upsert;
    const before = profile.companyId;
    const sent: Change[] = [];
    merge(profile, upsert, (change) => sent.push(change));
    const changes = sent.filter((change) => change.before !== change.after);
    const after = profile.companyId;
    const company = after === null || after === before ? null : { before, after };
    return { n, bulk, at, changes, unchanged: sent.length - changes.length, company };
  });
}
