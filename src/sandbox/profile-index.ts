/**
 * An index of all profiles as they are now, to search, sort, and page them. The data is a log: appending to
 * it and reading one profile are cheap, but listing all profiles is not. The index is a temporary table of
 * this connection. It is updated when it is queried, and ends with the process. So it adds nothing to the
 * cost of accepting a request, and no other process sees it.
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

/** Maximum number of characters of a profile that are searched. */
const SEARCHED_CHARACTERS = 20_000;

const TABLE = `
  CREATE TEMP TABLE profile (
    kind TEXT NOT NULL,
    region TEXT NOT NULL,
    id TEXT NOT NULL,
    companyId TEXT,
    createdAt INTEGER NOT NULL,
    updatedAt INTEGER NOT NULL,
    upserts INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (kind, region, id)
  );
  CREATE INDEX temp.profile_updated ON profile (kind, region, updatedAt DESC, id);
`;
/** ?6 and ?7 are for a new profile; one that is there is merged with ?8, as it was sent. */
const ADD = `
  INSERT INTO temp.profile (kind, region, createdAt, updatedAt, upserts, id, companyId, metadata, text)
  VALUES (?1, ?2, ?3, ?3, 1, ?4, ?5, ?6, ?7)
  ON CONFLICT DO UPDATE SET updatedAt = ?3, upserts = upserts + 1, companyId = coalesce(?5, companyId),
    metadata = merged(metadata, ?8),
    text = searched(concat_ws(char(10), id, coalesce(?5, companyId)), merged(metadata, ?8))
`;
/** The entries that follow, in the order in which they take effect: ?1 and ?2 to ?4 say what was added last. */
const NEXT = `
  SELECT s.applies_at AS at, s.n, e.id, e.ordinal, s.kind, s.region, e.company_id AS company,
    coalesce(e.metadata, '{}') AS metadata
  FROM submission s CROSS JOIN entry e ON e.submission = s.n
  WHERE s.applies_at BETWEEN ?1 AND ?5 AND (s.applies_at, s.n, e.id, e.ordinal) > (?1, ?2, ?3, ?4)
  ORDER BY s.applies_at, s.n, e.id, e.ordinal LIMIT ?6
`;

interface Entry {
  at: number;
  n: number;
  id: string;
  ordinal: number;
  kind: Kind;
  region: Region;
  company: string | null;
  metadata: string;
}
const NONE: Pick<Entry, 'at' | 'n' | 'id' | 'ordinal'> = { at: 0, n: 0, id: '', ordinal: -1 };

export class ProfileIndex {
  /** The entry that was added last. */
  #last = NONE;
  /** The number of submissions up to that entry. */
  #count = 0;
  /** Increases with every change. */
  revision = 0;

  constructor(private readonly db: Database) {
    const store = db.inMemory ? 'MEMORY' : 'FILE';
    db.define('merged', (held, sent) => objectOf(merged(held, sent)));
    db.define('searched', (names, metadata) => searched([names], members(metadata)));
    db.define('sort_value', sortValue);
    db.exec(
      `PRAGMA temp_store = ${store}; PRAGMA temp.journal_mode = MEMORY; PRAGMA temp.cache_size = -16000; ${TABLE}`,
    );
  }

  /**
   * Adds what was applied by `now`, up to `most` entries, so that a server can answer other requests in
   * between.
   * @returns whether the index is up to date
   */
  advance(now: number, most: number): boolean {
    return this.db.transaction(() => {
      // Another process may have erased the data or been late, or a clock may have been set back.
      if (this.#counted() !== this.#count) this.#clear();
      const { at, n, id, ordinal } = this.#last;
      const entries = this.db.all<Entry>(NEXT, at, n, id, ordinal, now, most);
      for (const entry of entries) {
        const { company, metadata } = entry;
        const fresh = merged(metadata);
        const text = searched(company === null ? [entry.id] : [entry.id, company], fresh);
        const { kind, region, at: since } = entry;
        this.db.run(ADD, kind, region, since, entry.id, company, objectOf(fresh), text, metadata);
      }
      if (entries.length > 0) {
        this.#last = entries.at(-1)!;
        this.#count = this.#counted();
        this.revision++;
      }
      return entries.length < most;
    }, 'DEFERRED');
  }

  list({ kind, region, search = '', sort, offset = 0, limit = -1 }: ProfileQuery): ProfilePage {
    const needle = search.trim().toLowerCase();
    const { by, keys } = orderBy(sort);
    const those = "WHERE kind = ? AND region = ? AND (? = '' OR instr(text, ?) > 0)";
    const values = [kind, region, needle, needle];
    const total = this.count(kind, region);
    const sql = `SELECT count(*) AS n FROM temp.profile NOT INDEXED ${those}`;
    const found = needle === '' ? total : this.db.count(sql, ...values);
    // In the order of an index, few profiles among many are found slowly.
    const way = found < total / 20 ? 'NOT INDEXED' : '';
    const rows = this.db.all<ProfileRow>(
      `SELECT id, companyId, createdAt, updatedAt, upserts, metadata FROM temp.profile ${way} ${those}
       ORDER BY ${by} LIMIT ? OFFSET ?`,
      ...[...values, ...keys, limit, offset],
    );
    return { total, found, rows };
  }

  count(kind: Kind, region: Region): number {
    const sql = 'SELECT count(*) AS n FROM temp.profile WHERE kind = ? AND region = ?';
    return this.db.count(sql, kind, region);
  }

  /** How many submissions take effect up to the last one that was added; 0 if that one is not there. */
  #counted(): number {
    const { at, n } = this.#last;
    const sql = `SELECT count(*) * max(n = ?2 AND applies_at = ?1) AS n FROM submission
      WHERE (applies_at, n) <= (?1, ?2)`;
    return this.db.count(sql, at, n);
  }

  #clear(): void {
    this.db.exec('DELETE FROM temp.profile;');
    this.#last = NONE;
    this.#count = 0;
    this.revision++;
  }
}

const merged = (...metadata: string[]): Map<string, string> => {
  const values = new Map<string, string>();
  for (const text of metadata) merge(values, text);
  return values;
};

/** What the search reads of a profile: its names and values, one per line, in lower case. */
const searched = (names: string[], values: Map<string, string>): string =>
  [...names, ...[...values.values()].map(plain)].join('\n').slice(0, SEARCHED_CHARACTERS).toLowerCase();

/** The order as SQL, and the values for its parameters. */
function orderBy({ by, descending } = { by: 'id' as ProfileSort, descending: false }) {
  const way = descending ? 'DESC' : 'ASC';
  if (by === 'id') return { by: `id ${way}`, keys: [] };
  if (by === 'updated') return { by: `updatedAt ${way}, id ${descending ? 'ASC' : 'DESC'}`, keys: [] };
  if (by === 'company_id') return { by: `companyId IS NULL, companyId ${way}, id`, keys: [] };
  return { by: `sort_value(metadata, ?) IS NULL, sort_value(metadata, ?) ${way}, id`, keys: [by, by] };
}

/**
 * The value to sort by: a number, a text in lower case, or null if the key is absent. SQLite puts numbers
 * before text.
 */
function sortValue(metadata: string, key: string): number | string | null {
  const found = members(metadata).get(key);
  if (found === undefined) return null;
  return /^-?\d/.test(found) ? Number(found) : plain(found).toLowerCase();
}
