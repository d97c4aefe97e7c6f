/** A profile, and how it comes from the items that were sent for it, with merging upserts as in contract §8. */
import { members } from './raw-json.js';

// The embedded service does not use types of the client, because both would then share their mistakes.

/** The key in a bulk body (spec: Endpoints 1 and 3). */
export type Kind = 'companies' | 'users';

/** Data residency: each region has its own base listener and profiles. */
export type Region = 'default' | 'eu';

/** The field of the identifier, by kind (spec: Company, User). */
export const ID_FIELD = { companies: 'company_id', users: 'user_id' } as const satisfies Record<Kind, string>;

/** A company or user in the sandbox. */
export interface Profile {
  kind: Kind;
  region: Region;
  id: string;
  /** The company of a user. Null if none was named, and for companies. */
  companyId: string | null;
  metadata: Record<string, unknown>;
  /** The complete profile as JSON text, with numbers as they were sent. */
  json: string;
}

/** What one accepted item contains about a profile. JSON stays text, so that numbers keep their form. */
export interface Piece {
  companyId: string | null;
  /** The text of a JSON object, or null if the item had no metadata. */
  metadata: string | null;
}

/**
 * Merges metadata into the JSON text of each value by its key. A value replaces the earlier one completely
 * (objects in it are not merged), and `null` removes the key.
 */
export function merge(
  values: Map<string, string>,
  metadata: string,
  sent?: (change: Chapter['changes'][number]) => void,
): void {
  for (const [key, value] of members(metadata)) {
    const after = value === 'null' ? null : value;
    sent?.({ key, before: values.get(key) ?? null, after });
    if (after === null) values.delete(key);
    else values.set(key, after);
  }
}

/** The JSON text of an object, from the JSON texts of its values. */
export function objectOf(values: ReadonlyMap<string, string>): string {
  return `{${[...values].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
}

/** A JSON value as readers see it: a string without quotes and escapes. */
export function plain(json: string): string {
  if (!json.startsWith('"')) return json;
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
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
export interface Chapter extends Pick<Upsert, 'n' | 'bulk' | 'at'> {
  /** Keys that got another value, as JSON text, and `company_id`. Null means that the key was absent. */
  changes: { key: string; before: string | null; after: string | null }[];
  /** The number of keys that were sent with the value that they had. */
  unchanged: number;
}

/**
 * Everything about a profile that follows from its upserts. The company stays if an upsert does not name one.
 * @param upserts oldest first
 */
export function tell(kind: Kind, region: Region, id: string, upserts: readonly Upsert[]) {
  const values = new Map<string, string>();
  let companyId: string | null = null;
  const text = (id: string | null): string | null => (id === null ? null : JSON.stringify(id));
  const story = upserts.map((upsert): Chapter => {
    const { n, bulk, at, metadata } = upsert;
    const before = companyId;
    companyId = upsert.companyId ?? companyId;
    const sent: Chapter['changes'] = [];
    merge(values, metadata ?? '{}', (change) => sent.push(change));
    const changes = sent.filter((change) => change.before !== change.after);
    const unchanged = sent.length - changes.length;
    if (before !== companyId)
      changes.unshift({ key: 'company_id', before: text(before), after: text(companyId) });
    return { n, bulk, at, changes, unchanged };
  });
  const metadata = objectOf(values);
  const item = new Map<string, string>([[ID_FIELD[kind], JSON.stringify(id)]]);
  if (companyId !== null) item.set('company_id', JSON.stringify(companyId));
  const json = objectOf(item.set('metadata', metadata));
  const profile: Profile = { kind, region, id, companyId, metadata: JSON.parse(metadata), json };
  return { profile, values, story };
}
