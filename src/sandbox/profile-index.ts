/**
 * An index of all profiles as they are now, to search, sort, and page them. The data is a log: appending to
 * it and reading one profile are cheap, but listing all profiles is not. The index is a temporary table of
 * this connection. It is updated when it is queried, and ends with the process. So it adds nothing to the
 * cost of accepting a request, and no other process sees it.
 */
import type { Database } from './database.js';
import { type Folded, foldPieces, objectOf, type Piece } from './profile.js';
import { eachMember, space } from './raw-json.js';
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

const TABLES = `
  CREATE TEMP TABLE profile (
    kind TEXT NOT NULL,
    region TEXT NOT NULL,
    id TEXT NOT NULL,
    companyId TEXT,
    createdAt INTEGER NOT NULL,
    updatedAt INTEGER NOT NULL,
    upserts INTEGER NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL
  );
  CREATE UNIQUE INDEX temp.profile_id ON profile (kind, region, id);
  CREATE INDEX temp.profile_updated ON profile (kind, region, updatedAt DESC, id);
  CREATE TEMP TABLE indexed (submission INTEGER PRIMARY KEY);
`;

/** A submission that is being added, and the entry after which to continue. */
interface Reading {
  n: number;
  region: Region;
  kind: Kind;
  at: number;
  afterId: string;
  afterOrdinal: number;
}

export class ProfileIndex {
  readonly #db: Database;
  #reading: Reading | undefined;
  /** The submission read last. While it is in the data, nothing was erased. */
  #last: Reading | undefined;
  #made = false;
  /** Increases with every change. */
  revision = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Adds what was applied by `now`, up to `most` entries, so that a server can answer other requests in
   * between.
   * @returns whether the index is up to date
   */
  advance(now: number, most: number): boolean {
    this.#make();
    if (this.#last && this.#db.count('SELECT n FROM submission WHERE n = ?', this.#last.n) === 0)
      this.#clear();
    let left = most;
    this.#db.exec('BEGIN');
    try {
      for (;;) {
        this.#reading ??= this.#next(now);
        if (this.#reading === undefined) return true;
        if (left <= 0) return false;
        left -= this.#add(this.#reading, left);
      }
    } finally {
      this.#db.exec('COMMIT');
    }
  }

  list({ kind, region, search = '', sort, offset = 0, limit = -1 }: ProfileQuery): ProfilePage {
    const total = this.count(kind, region);
    const needle = search.trim().toLowerCase();
    const { by, values: keys } = orderBy(sort);
    const columns = 'id, companyId, createdAt, updatedAt, upserts, metadata';
    if (needle === '') {
      const rows = this.#db.all<ProfileRow>(
        `SELECT ${columns} FROM temp.profile WHERE kind = ? AND region = ? ORDER BY ${by} LIMIT ? OFFSET ?`,
        ...[kind, region, ...keys, limit, offset],
      );
      return { total, found: total, rows };
    }
    // One pass over all texts, in the order in which they are stored, finds both the number and the page.
    const found = this.#db.all<{ at: number }>(
      `SELECT rowid AS at FROM temp.profile NOT INDEXED
       WHERE kind = ? AND region = ? AND instr(text, ?) > 0 ORDER BY ${by}`,
      ...[kind, region, needle, ...keys],
    );
    const page = found.slice(offset, limit < 0 ? undefined : offset + limit);
    const one = `SELECT ${columns} FROM temp.profile WHERE rowid = ?`;
    return { total, found: found.length, rows: page.map(({ at }) => this.#db.one<ProfileRow>(one, at)!) };
  }

  count(kind: Kind, region: Region): number {
    this.#make();
    return this.#db.count(
      'SELECT count(*) AS n FROM temp.profile WHERE kind = ? AND region = ?',
      kind,
      region,
    );
  }

  #make(): void {
    if (this.#made) return;
    this.#made = true;
    const store = this.#db.inMemory ? 'MEMORY' : 'FILE';
    this.#db.exec(
      `PRAGMA temp_store = ${store}; PRAGMA temp.journal_mode = MEMORY; PRAGMA temp.cache_size = -16000; ${TABLES}`,
    );
    this.#db.define('sort_value', sortValue);
  }

  #clear(): void {
    this.#db.exec('DELETE FROM temp.profile; DELETE FROM temp.indexed;');
    this.#reading = undefined;
    this.#last = undefined;
    this.revision++;
  }

  /** The next submission to add, in the order in which submissions took effect. */
  #next(now: number): Reading | undefined {
    const found = this.#db.one<Reading>(
      `SELECT n, region, kind, applies_at AS at, '' AS afterId, -1 AS afterOrdinal FROM submission s
       WHERE applies_at <= ? AND NOT EXISTS (SELECT 1 FROM temp.indexed i WHERE i.submission = s.n)
       ORDER BY applies_at, n LIMIT 1`,
      now,
    );
    // If the clock was set back, this submission comes before ones that were already added: start again.
    if (found !== undefined && this.#last !== undefined && found.at < this.#last.at) {
      this.#clear();
      return this.#next(now);
    }
    if (found !== undefined) this.#last = found;
    return found;
  }

  /** Adds entries of one submission, and returns how many. */
  #add(from: Reading, most: number): number {
    const { n, region, kind, at } = from;
    const entries = this.#db.all<Piece & { id: string; ordinal: number }>(
      `SELECT id, ordinal, company_id AS companyId, metadata FROM entry
       WHERE submission = ? AND (id, ordinal) > (?, ?) ORDER BY id, ordinal LIMIT ?`,
      ...[n, from.afterId, from.afterOrdinal, most],
    );
    for (const entry of entries) {
      const key = [kind, region, entry.id] as const;
      const fresh = foldPieces([entry]);
      const { changes } = this.#db.run(
        'INSERT INTO temp.profile VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT DO NOTHING',
        ...[...key, fresh.companyId, at, at, searchedText(entry.id, fresh), objectOf(fresh.values)],
      );
      if (changes !== 0) continue;
      const where = 'WHERE kind = ? AND region = ? AND id = ?';
      const held = this.#db.one<Piece>(`SELECT companyId, metadata FROM temp.profile ${where}`, ...key)!;
      const folded = foldPieces([held, entry]);
      this.#db.run(
        `UPDATE temp.profile SET companyId = ?, updatedAt = ?, upserts = upserts + 1, text = ?, metadata = ? ${where}`,
        ...[folded.companyId, at, searchedText(entry.id, folded), objectOf(folded.values), ...key],
      );
    }
    const last = entries.at(-1);
    if (last !== undefined) {
      from.afterId = last.id;
      from.afterOrdinal = last.ordinal;
      this.revision++;
    }
    if (entries.length < most) {
      this.#db.run('INSERT INTO temp.indexed VALUES (?)', n);
      this.#reading = undefined;
    }
    // A submission without entries counts as one: otherwise, a slice over many of them would not end.
    return Math.max(1, entries.length);
  }
}

/** The order as SQL, and the values for its parameters. */
function orderBy({ by, descending }: NonNullable<ProfileQuery['sort']> = { by: 'id', descending: false }): {
  by: string;
  values: string[];
} {
  const way = descending ? 'DESC' : 'ASC';
  if (by === 'id') return { by: `id ${way}`, values: [] };
  if (by === 'updated') return { by: `updatedAt ${way}, id ${descending ? 'ASC' : 'DESC'}`, values: [] };
  if (by === 'company_id') return { by: `companyId IS NULL, companyId ${way}, id`, values: [] };
  return { by: `sort_value(metadata, ?) IS NULL, sort_value(metadata, ?) ${way}, id`, values: [by, by] };
}

/** The searched text: the identifier, the company, and each value, one per line, in lower case. */
function searchedText(id: string, { companyId, values }: Folded): string {
  const lines = companyId === null ? [id] : [id, companyId];
  for (const value of values.values()) lines.push(plain(value));
  return lines.join('\n').slice(0, SEARCHED_CHARACTERS).toLowerCase();
}

/** A JSON value as readers see it: a string without quotes and escapes. */
export function plain(json: string): string {
  if (!json.startsWith('"')) return json;
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

/**
 * The value to sort by: a number, a text in lower case, or null if the key is absent. SQLite puts numbers
 * before text.
 */
function sortValue(metadata: string, key: string): number | string | null {
  let found: string | undefined;
  eachMember(metadata, space(metadata, 0), (name, start, end) => {
    if (name === key) found = metadata.slice(start, end);
  });
  if (found === undefined) return null;
  return /^-?\d/.test(found) ? Number(found) : plain(found).toLowerCase();
}
