/**
 * All profiles as they are now, to search, sort, and page them. The data is a log: appending to it and reading one
 * profile are cheap, but listing all profiles is not. So they are kept in memory, from the first query on, and each
 * query adds what was applied since. This adds nothing to the cost of accepting a request.
 */
import type { Database } from './database.js';
import { type Kind, merge, objectOf, plain, type Region } from './profile.js';
import { members } from './raw-json.js';

/** What to sort by. `updated` is the time of the last upsert; any other word is a metadata key. */
export type ProfileSort = 'id' | 'company_id' | 'updated' | (string & {});

/** Which profiles to list. */
export interface ProfileQuery {
  kind: Kind;
  region: Region;
  /** Text to find in the identifier, the company, or any value, ignoring case. Default: all profiles. */
  search?: string | undefined;
  /** Default: by identifier, ascending. */
  sort?: { by: ProfileSort; descending: boolean } | undefined;
  /** How many profiles to skip. Default 0. */
  offset?: number;
  /** The most profiles to return. Default: all. */
  limit?: number | undefined;
}

/** One profile of a list. */
export interface ProfileRow {
  id: string;
  companyId: string | null;
  /** Text of a JSON object, with numbers as they were sent. */
  metadata: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
  updatedAt: number;
  /** The number of its upserts. */
  upserts: number;
}

/** A part of a list of profiles. */
export interface ProfilePage {
  /** Profiles of this kind in this region. */
  total: number;
  /** How many of them the search finds. */
  found: number;
  rows: ProfileRow[];
}

/** A row with what the search reads: its names and values, one per line, in lower case. */
interface Held {
  row: ProfileRow;
  text: string;
}
/** Maximum number of characters of a profile that are searched. */
const SEARCHED_CHARACTERS = 20_000;

interface Entry {
  at: number;
  n: number;
  id: string;
  ordinal: number;
  kind: Kind;
  region: Region;
  companyId: string | null;
  metadata: string;
}
/** The entries that follow, in the order in which they take effect: ?1 to ?4 say what was added last. */
const NEXT = `
  SELECT s.applies_at AS at, s.n, e.id, e.ordinal, s.kind, s.region, e.company_id AS companyId,
    coalesce(e.metadata, '{}') AS metadata
  FROM submission s CROSS JOIN entry e ON e.submission = s.n
  WHERE s.applies_at BETWEEN ?1 AND ?5 AND (s.applies_at, s.n, e.id, e.ordinal) > (?1, ?2, ?3, ?4)
  ORDER BY s.applies_at, s.n, e.id, e.ordinal LIMIT ?6
`;
/** How many submissions take effect up to the last one that was added; 0 if that one is not there. */
const COUNTED = `SELECT count(*) * max(n = ?2 AND applies_at = ?1) AS n FROM submission
  WHERE (applies_at, n) <= (?1, ?2)`;
const BY_ID = { by: 'id', descending: false };
const NONE = { at: 0, n: 0, id: '', ordinal: -1 };

export class ProfileIndex {
  /** By kind and region, then by identifier. */
  readonly #held = new Map<string, Map<string, Held>>();
  /** The entry that was added last. */
  #last: Pick<Entry, keyof typeof NONE> = NONE;
  /** The number of submissions up to that entry. */
  #count = 0;
  /** Increases with every change. */
  revision = 0;

  constructor(private readonly db: Database) {}

  /**
   * Adds what was applied by `now`, up to `most` entries, so that a server can answer other requests in
   * between.
   * @returns whether the index is up to date
   */
  advance(now: number, most: number): boolean {
    const counted = (): number => this.db.count(COUNTED, this.#last.at, this.#last.n);
    return this.db.transaction(() => {
      // Another process may have erased the data or been late, or a clock may have been set back.
      if (counted() !== this.#count) {
        this.#held.clear();
        this.#last = NONE;
        this.revision++;
      }
      const { at, n, id, ordinal } = this.#last;
      const entries = this.db.all<Entry>(NEXT, at, n, id, ordinal, now, most);
      for (const entry of entries) this.#add(entry);
      if (entries.length > 0) this.revision++;
      this.#last = entries.at(-1) ?? this.#last;
      this.#count = counted();
      return entries.length < most;
    }, 'DEFERRED');
  }

  list({ kind, region, search = '', sort = BY_ID, offset = 0, limit = Infinity }: ProfileQuery): ProfilePage {
    const needle = search.trim().toLowerCase();
    const all = [...this.#of(kind, region).values()];
    const found = needle === '' ? all : all.filter(({ text }) => text.includes(needle));
    const rows = sorted(
      found.map(({ row }) => row),
      sort,
    ).slice(offset, offset + limit);
    return { total: all.length, found: found.length, rows };
  }

  count(kind: Kind, region: Region): number {
    return this.#of(kind, region).size;
  }

  #of(kind: Kind, region: Region): Map<string, Held> {
    const name = `${kind} ${region}`;
    const held = this.#held.get(name) ?? new Map<string, Held>();
    this.#held.set(name, held);
    return held;
  }

  #add({ kind, region, id, at, ...sent }: Entry): void {
    const those = this.#of(kind, region);
    const before = those.get(id)?.row;
    const companyId = sent.companyId ?? before?.companyId ?? null;
    const values = before ? members(before.metadata) : new Map<string, string>();
    merge(values, sent.metadata);
    const [createdAt, upserts] = [before?.createdAt ?? at, (before?.upserts ?? 0) + 1];
    const text = [id, companyId ?? '', ...[...values.values()].map(plain)].join('\n');
    those.set(id, {
      row: { id, companyId, metadata: objectOf(values), createdAt, updatedAt: at, upserts },
      text: text.slice(0, SEARCHED_CHARACTERS).toLowerCase(),
    });
  }
}

/** Those without a value come last; equal ones are in the order of their identifiers. */
function sorted(rows: ProfileRow[], { by, descending }: NonNullable<ProfileQuery['sort']>): ProfileRow[] {
  const way = descending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: sortValue(row, by) }))
    .sort((a, b) => compare(a.value, b.value, way) || compare(a.row.id, b.row.id, 1))
    .map(({ row }) => row);
}

/** The value to sort by; a text of the metadata is in lower case. */
function sortValue(row: ProfileRow, by: ProfileSort): number | string | null {
  if (by === 'id') return row.id;
  if (by === 'updated') return row.updatedAt;
  if (by === 'company_id') return row.companyId;
  const found = members(row.metadata).get(by);
  if (found === undefined) return null;
  return /^-?\d/.test(found) ? Number(found) : plain(found).toLowerCase();
}

/** Numbers come before texts. */
function compare(a: number | string | null, b: number | string | null, way: 1 | -1): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  if (typeof a !== typeof b) return typeof a === 'number' ? -way : way;
  return a < b ? -way : way;
}
