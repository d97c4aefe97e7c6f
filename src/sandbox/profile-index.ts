/**
 * An index of all profiles as they are now, to search, sort, and page them. The store is a log: appending to
 * it and reading one profile are cheap, but listing all profiles is not. The index is a temporary table of
 * this connection. It is updated when it is queried, and ends with the process. So it adds nothing to the
 * cost of accepting a request, and no other process sees it.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
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
    region TEXT NOT NULL,
    kind TEXT NOT NULL,
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

interface Pending {
  n: number;
  region: Region;
  kind: Kind;
  at: number;
}

interface EntryRow {
  id: string;
  ordinal: number;
  companyId: string | null;
  metadata: string | null;
}

export class ProfileIndex {
  readonly #db: DatabaseSyncInstance;
  readonly #inMemory: boolean;
  #made = false;
  /** The submission that is being read, and the entry after which to continue. */
  #current: (Pending & { afterId: string; afterOrdinal: number }) | undefined;
  /** The submission read last. While it is in the store, nothing was erased. */
  #last: { n: number; at: number } | undefined;
  #revision = 0;

  /** @param inMemory whether the temporary table must not use the disk, either */
  constructor(db: DatabaseSyncInstance, inMemory: boolean) {
    this.#db = db;
    this.#inMemory = inMemory;
  }

  /** Increases with every change. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * Adds what was applied by `now`, up to `entries` entries, so that a server can answer other requests in
   * between.
   * @returns whether the index is up to date
   */
  advance(now: number, entries: number): boolean {
    if (!this.#made) this.#make();
    if (this.#erased()) this.#clear();
    let left = entries;
    this.#db.exec('BEGIN');
    try {
      while (left > 0) {
        this.#current ??= this.#next(now);
        if (this.#current === undefined) return true;
        left -= this.#takeIn(this.#current, left);
      }
      return this.#current === undefined && this.#next(now) === undefined;
    } finally {
      this.#db.exec('COMMIT');
    }
  }

  list({ kind, region, search = '', sort, offset = 0, limit = -1 }: ProfileQuery): ProfilePage {
    if (!this.#made) this.#make();
    const total = this.count(kind, region);
    const needle = search.trim().toLowerCase();
    const { by, values: keys } = orderBy(sort);
    const columns = 'id, companyId, createdAt, updatedAt, upserts, metadata';
    if (needle === '') {
      const rows = this.#all<ProfileRow>(
        `SELECT ${columns} FROM temp.profile WHERE kind = ? AND region = ? ORDER BY ${by} LIMIT ? OFFSET ?`,
        ...[kind, region, ...keys, limit, offset],
      );
      return { total, found: total, rows };
    }
    // One pass over all texts, in the order in which they are stored, finds both the number and the page.
    const found = this.#all<{ at: number }>(
      `SELECT rowid AS at FROM temp.profile NOT INDEXED
       WHERE kind = ? AND region = ? AND instr(text, ?) > 0 ORDER BY ${by}`,
      ...[kind, region, needle, ...keys],
    );
    const one = this.#db.prepare(`SELECT ${columns} FROM temp.profile WHERE rowid = ?`);
    const page = found.slice(offset, limit < 0 ? undefined : offset + limit);
    return { total, found: found.length, rows: page.map(({ at }) => one.get(at) as unknown as ProfileRow) };
  }

  count(kind: Kind, region: Region): number {
    if (!this.#made) this.#make();
    const counted = this.#db
      .prepare('SELECT count(*) AS n FROM temp.profile WHERE kind = ? AND region = ?')
      .get(kind, region) as { n: number };
    return counted.n;
  }

  #all<T>(sql: string, ...values: (string | number)[]): T[] {
    return this.#db.prepare(sql).all(...values) as T[];
  }

  #make(): void {
    this.#db.exec(
      `PRAGMA temp_store = ${this.#inMemory ? 'MEMORY' : 'FILE'}; PRAGMA temp.journal_mode = MEMORY; PRAGMA temp.cache_size = -16000; ${TABLES}`,
    );
    this.#db.function('sort_value', { deterministic: true }, (metadata: unknown, key: unknown) =>
      sortValue(String(metadata), String(key)),
    );
    this.#made = true;
  }

  #erased(): boolean {
    return (
      this.#last !== undefined &&
      this.#db.prepare('SELECT 1 FROM submission WHERE n = ?').get(this.#last.n) === undefined
    );
  }

  #clear(): void {
    this.#db.exec('DELETE FROM temp.profile; DELETE FROM temp.indexed;');
    this.#current = undefined;
    this.#last = undefined;
    this.#revision++;
  }

  /** The next submission to add, in the order in which submissions took effect. */
  #next(now: number): (Pending & { afterId: string; afterOrdinal: number }) | undefined {
    const found = this.#db
      .prepare(
        `SELECT n, region, kind, applies_at AS at FROM submission s
         WHERE applies_at <= ? AND NOT EXISTS (SELECT 1 FROM temp.indexed i WHERE i.submission = s.n)
         ORDER BY applies_at, n LIMIT 1`,
      )
      .get(now) as Pending | undefined;
    if (found === undefined) return undefined;
    // If the clock was set back, this submission comes before ones that were already added: start again.
    if (this.#last !== undefined && found.at < this.#last.at) {
      this.#clear();
      return this.#next(now);
    }
    this.#last = found;
    return { ...found, afterId: '', afterOrdinal: -1 };
  }

  /** Adds entries of one submission, and returns how many. */
  #takeIn(from: Pending & { afterId: string; afterOrdinal: number }, most: number): number {
    const { n, region, kind, at } = from;
    const entries = this.#db
      .prepare(
        `SELECT id, ordinal, company_id AS companyId, metadata FROM entry
         WHERE submission = ? AND (id, ordinal) > (?, ?) ORDER BY id, ordinal LIMIT ?`,
      )
      .all(n, from.afterId, from.afterOrdinal, most) as unknown as EntryRow[];
    const insert = this.#db.prepare(
      'INSERT INTO temp.profile VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT DO NOTHING',
    );
    const held = this.#db.prepare(
      'SELECT companyId, metadata FROM temp.profile WHERE kind = ? AND region = ? AND id = ?',
    );
    const update = this.#db.prepare(
      `UPDATE temp.profile SET companyId = ?, updatedAt = ?, upserts = upserts + 1, text = ?, metadata = ?
       WHERE kind = ? AND region = ? AND id = ?`,
    );
    for (const entry of entries) {
      const { id } = entry;
      const fresh = foldPieces([entry]);
      const texts = [searchedText(id, fresh), objectOf(fresh.values)] as const;
      if (insert.run(region, kind, id, fresh.companyId, at, at, ...texts).changes !== 0) continue;
      const before = held.get(kind, region, id) as unknown as Piece;
      const folded = foldPieces([before, entry]);
      const text = searchedText(id, folded);
      update.run(folded.companyId, at, text, objectOf(folded.values), kind, region, id);
    }
    const last = entries.at(-1);
    if (last !== undefined) {
      from.afterId = last.id;
      from.afterOrdinal = last.ordinal;
      this.#revision++;
    }
    if (entries.length < most) {
      this.#db.prepare('INSERT INTO temp.indexed VALUES (?)').run(n);
      this.#current = undefined;
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
