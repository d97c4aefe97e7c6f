/**
 * An index of all profiles as they are now, to search, sort, and page them. The data is a log: appending to
 * it and reading one profile are cheap, but listing all profiles is not. The index is a temporary table of
 * this connection. It is updated when it is queried, and ends with the process. So it adds nothing to the
 * cost of accepting a request, and no other process sees it.
 */
import type { Database } from './database.js';
import { foldPieces, objectOf, plain } from './profile.js';
import { members } from './raw-json.js';
import type { Kind, Region } from './types.js';

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

/** A submission in the index. While it is being added, also the entry after which to continue. */
interface Added {
  n: number;
  at: number;
  region: Region;
  kind: Kind;
  id: string;
  ordinal: number;
}
const NONE: Added = { n: 0, at: 0, region: 'default', kind: 'users', id: '', ordinal: -1 };

export class ProfileIndex {
  readonly #db: Database;
  /** The submission that was added last, in the order in which submissions take effect. */
  #last = NONE;
  /** Whether the last one is complete. */
  #complete = true;
  /** The number of submissions in the index, with the last one. */
  #count = 0;
  /** Increases with every change. */
  revision = 0;

  constructor(db: Database) {
    this.#db = db;
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
    return this.#db.transaction(() => {
      if (!this.#holds()) this.#clear();
      for (let left = most; ; ) {
        if (this.#complete && !this.#next(now)) return true;
        if (left <= 0) return false;
        left -= this.#add(left);
      }
    }, 'DEFERRED');
  }

  list({ kind, region, search = '', sort, offset = 0, limit = -1 }: ProfileQuery): ProfilePage {
    const needle = search.trim().toLowerCase();
    const { by, keys } = orderBy(sort);
    const those = "WHERE kind = ? AND region = ? AND (? = '' OR instr(text, ?) > 0)";
    const values = [kind, region, needle, needle];
    const total = this.count(kind, region);
    const sql = `SELECT count(*) AS n FROM temp.profile NOT INDEXED ${those}`;
    const found = needle === '' ? total : this.#db.count(sql, ...values);
    // In the order of an index, few profiles among many are found slowly.
    const way = found < total / 20 ? 'NOT INDEXED' : '';
    const rows = this.#db.all<ProfileRow>(
      `SELECT id, companyId, createdAt, updatedAt, upserts, metadata FROM temp.profile ${way} ${those}
       ORDER BY ${by} LIMIT ? OFFSET ?`,
      ...[...values, ...keys, limit, offset],
    );
    return { total, found, rows };
  }

  count(kind: Kind, region: Region): number {
    const sql = 'SELECT count(*) AS n FROM temp.profile WHERE kind = ? AND region = ?';
    return this.#db.count(sql, kind, region);
  }

  /**
   * Whether everything up to the last submission is in the index. It is not if another process erased the data or
   * was late, or if a clock was set back.
   */
  #holds(): boolean {
    const { n, at } = this.#last;
    const sql = `SELECT count(*) * max(n = ?2 AND applies_at = ?1) AS n FROM submission
      WHERE (applies_at, n) <= (?1, ?2)`;
    return this.#db.count(sql, at, n) === this.#count;
  }

  #clear(): void {
    this.#db.exec('DELETE FROM temp.profile;');
    this.#last = NONE;
    this.#complete = true;
    this.#count = 0;
    this.revision++;
  }

  #next(now: number): boolean {
    const next = this.#db.one<Added>(
      `SELECT n, region, kind, applies_at AS at, '' AS id, -1 AS ordinal FROM submission
       WHERE applies_at <= ? AND (applies_at, n) > (?, ?) ORDER BY applies_at, n LIMIT 1`,
      ...[now, this.#last.at, this.#last.n],
    );
    if (next === undefined) return false;
    this.#last = next;
    this.#complete = false;
    this.#count++;
    return true;
  }

  /** Adds entries of the last submission, and returns how many. */
  #add(most: number): number {
    const { n, region, kind, at, id: afterId, ordinal } = this.#last;
    const entries = this.#db.all<{ id: string; ordinal: number; company: string | null; metadata: string }>(
      `SELECT id, ordinal, company_id AS company, coalesce(metadata, '{}') AS metadata FROM entry
       WHERE submission = ? AND (id, ordinal) > (?, ?) ORDER BY id, ordinal LIMIT ?`,
      ...[n, afterId, ordinal, most],
    );
    for (const { id, company, metadata } of entries) {
      const fresh = merged(metadata);
      const text = searched(company === null ? [id] : [id, company], fresh);
      this.#db.run(ADD, kind, region, at, id, company, objectOf(fresh), text, metadata);
    }
    Object.assign(this.#last, entries.at(-1));
    this.#complete = entries.length < most;
    if (entries.length > 0) this.revision++;
    // A submission without entries counts as one: otherwise, a slice over many of them would not end.
    return Math.max(1, entries.length);
  }
}

const merged = (...metadata: string[]): Map<string, string> =>
  foldPieces(metadata.map((text) => ({ companyId: null, metadata: text }))).values;

/** What the search reads of a profile: its names and values, one per line, in lower case. */
const searched = (names: string[], values: Map<string, string>): string =>
  [...names, ...[...values.values()].map(plain)].join('\n').slice(0, SEARCHED_CHARACTERS).toLowerCase();

/** The order as SQL, and the values for its parameters. */
function orderBy({ by, descending }: NonNullable<ProfileQuery['sort']> = { by: 'id', descending: false }): {
  by: string;
  keys: string[];
} {
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
