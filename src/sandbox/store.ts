/**
 * The sandbox's data as a log. An accepted request is one submission with one entry per item, written in one transaction
 * and not changed afterwards. Profiles are computed from the log. So nothing acknowledged is lost, no writer overwrites
 * another one's update, and accepting a request only appends.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Item } from './body.js';
import { openDatabase } from './database.js';
import { ProfileIndex } from './profile-index.js';
import type { DataType } from './properties.js';
import { moveBack } from './set-back.js';
import type { Upsert } from './story.js';
import { appliedRows, type JobPlan, jobEnd } from './timeline.js';
import type { Kind, Region } from './types.js';

/** One accepted request. */
export interface Submission extends JobPlan {
  /** False for a single company's upsert, which is not a job. */
  bulk: boolean;
  region: Region;
  kind: Kind;
  bytes: number;
  /** SHA-256 of the body, hexadecimal. Null once the entries were dropped (`#dropRepeated`). */
  sha256: string | null;
  /** For users: metadata keys and their types. */
  properties: Record<string, DataType>;
}

/** Totals over all regions. @internal */
export interface Counts {
  /** An identifier counts once per region. */
  companies: number;
  users: number;
  /** Bulk requests. A single company's upsert is not a job. */
  jobs: number;
}

/** A submission and its number. */
export interface NumberedSubmission extends Submission {
  n: number;
}

export interface JobCounts {
  total: number;
  unfinished: number;
  /** Those of the ended jobs that failed. */
  failed: number;
}

export interface Store {
  /** A random text, created with the data, which makes job ids different from those of other sandboxes. */
  readonly instance: string;
  /** Runs `work` as one transaction, isolated from other processes. It is on disk when this returns. */
  transaction<T>(work: () => T): T;
  /** Appends a submission. Returns its number, which is never used again, not even after `clear`. */
  add(submission: Submission, items: readonly Item[]): number;
  get(n: number): Submission | undefined;
  /** The number of jobs of a region that have not ended at `now`. */
  unfinished(region: Region, now: number): number;
  /** The upserts of a profile that took effect by `now`, in order. */
  upserts(region: Region, kind: Kind, id: string, now: number): Upsert[];
  /** All profiles as they are now. */
  readonly profiles: ProfileIndex;
  /** Jobs of both regions, newest first. */
  jobs(offset: number, limit: number): NumberedSubmission[];
  jobCounts(now: number): JobCounts;
  /** Identifiers in a submission; none if its entries were dropped. */
  idsOf(n: number, limit: number): string[];
  /** Whether a job that will complete after `now` contains the profile. */
  pending(region: Region, kind: Kind, id: string, now: number): boolean;
  /** Metadata keys and types of each import of users that completed, in all regions, in order. */
  properties(now: number): Record<string, DataType>[];
  /** Totals of what was accepted, including unfinished jobs. Items of failed and stuck jobs are not stored. */
  counts(): Counts;
  /** If the clock was set back to `now`, moves everything back with it. */
  moveBack(now: number): void;
  /** Erases everything that was accepted, from the disk too. */
  clear(): void;
  close(): void;
}

/**
 * Opens the data in a folder, or an empty store in memory.
 * @param dataDir null for memory
 * @throws StateError
 */
export function openStore(dataDir: string | null): Store {
  return new SqliteStore(openDatabase(dataDir), dataDir === null);
}

class SqliteStore implements Store {
  readonly instance: string;
  readonly profiles: ProfileIndex;
  readonly #db: DatabaseSyncInstance;
  readonly #submission;
  readonly #entry;
  readonly moveBack = (now: number): void => moveBack(this.#db, now);

  constructor(db: DatabaseSyncInstance, inMemory: boolean) {
    this.#db = db;
    this.profiles = new ProfileIndex(db, inMemory);
    this.instance = this.#one<{ value: string }>("SELECT value FROM meta WHERE key = 'instance'").value;
    this.#submission = db.prepare(
      `INSERT INTO submission (bulk, region, kind, rows, bytes, sha256, accepted_at, duration_ms, fate, ends_at, applies_at, properties)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#entry = db.prepare('INSERT INTO entry VALUES (?, ?, ?, ?, ?)');
  }

  transaction<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK'); // on a full disk, SQLite has rolled back already
      throw error;
    }
  }

  add(s: Submission, items: readonly Item[]): number {
    const ends = jobEnd(s);
    const applied = appliedRows(s);
    const { lastInsertRowid } = this.#submission.run(
      s.bulk ? 1 : 0,
      s.region,
      s.kind,
      s.rows,
      s.bytes,
      s.sha256,
      s.acceptedAt,
      s.durationMs,
      JSON.stringify(s.outcome),
      ends,
      applied > 0 ? ends : null,
      JSON.stringify(s.properties),
    );
    const n = Number(lastInsertRowid);
    for (let i = 0; i < applied; i++) {
      const item = items[i]!;
      this.#entry.run(n, item.id, i, item.companyId, item.metadata);
    }
    this.#dropRepeated(s);
    return n;
  }

  /**
   * Drops entries that no longer matter: those of requests that were sent again with the same body, and
   * applied again. So repeated rehearsals with one file do not fill the disk. The newest applied ones stay.
   */
  #dropRepeated(s: Submission): void {
    const repeated = this.#all<{ n: number }>(
      `SELECT n FROM submission WHERE sha256 = ? AND region = ? AND kind = ? AND fate = ? AND applies_at <= ?
       ORDER BY applies_at DESC, n DESC LIMIT 10 OFFSET 1`,
      s.sha256,
      s.region,
      s.kind,
      JSON.stringify(s.outcome),
      s.acceptedAt,
    );
    for (const { n } of repeated) {
      this.#db.prepare('DELETE FROM entry WHERE submission = ?').run(n);
      this.#db.prepare('UPDATE submission SET sha256 = NULL WHERE n = ?').run(n);
    }
  }

  get(n: number): Submission | undefined {
    const [row] = this.#all<SubmissionRow>('SELECT * FROM submission WHERE n = ?', n);
    return row && submissionOf(row);
  }

  jobs(offset: number, limit: number): NumberedSubmission[] {
    const rows = this.#all<SubmissionRow>(
      'SELECT * FROM submission WHERE bulk ORDER BY n DESC LIMIT ? OFFSET ?',
      limit,
      offset,
    );
    return rows.map((row) => ({ n: row.n, ...submissionOf(row) }));
  }

  jobCounts(now: number): JobCounts {
    return this.#one<JobCounts>(
      `SELECT count(*) AS total,
         count(*) FILTER (WHERE ends_at IS NULL OR ends_at > ?1) AS unfinished,
         count(*) FILTER (WHERE ends_at <= ?1 AND fate = '{"type":"failed"}') AS failed
       FROM submission WHERE bulk`,
      now,
    );
  }

  idsOf(n: number, limit: number): string[] {
    const rows = this.#all<{ id: string }>(
      'SELECT DISTINCT id FROM entry WHERE submission = ? LIMIT ?',
      n,
      limit,
    );
    return rows.map(({ id }) => id);
  }

  unfinished(region: Region, now: number): number {
    return this.#one<{ n: number }>(
      'SELECT count(*) AS n FROM submission WHERE region = ? AND bulk AND (ends_at IS NULL OR ends_at > ?)',
      region,
      now,
    ).n;
  }

  upserts(region: Region, kind: Kind, id: string, now: number): Upsert[] {
    const rows = this.#all<Omit<Upsert, 'bulk'> & { bulk: number }>(
      `SELECT s.n, s.bulk, s.applies_at AS at, e.company_id AS companyId, e.metadata
       FROM submission s CROSS JOIN entry e ON e.submission = s.n AND e.id = ?
       WHERE s.region = ? AND s.kind = ? AND s.applies_at <= ?
       ORDER BY s.applies_at, s.n, e.ordinal`,
      id,
      region,
      kind,
      now,
    );
    return rows.map((row) => ({ ...row, bulk: row.bulk === 1 }));
  }

  pending(region: Region, kind: Kind, id: string, now: number): boolean {
    const { n } = this.#one<{ n: number }>(
      `SELECT count(*) AS n FROM submission s CROSS JOIN entry e ON e.submission = s.n AND e.id = ?
       WHERE s.region = ? AND s.kind = ? AND s.applies_at > ?`,
      id,
      region,
      kind,
      now,
    );
    return n > 0;
  }

  properties(now: number): Record<string, DataType>[] {
    const rows = this.#all<{ properties: string }>(
      "SELECT properties FROM submission WHERE kind = 'users' AND applies_at <= ? ORDER BY applies_at, n",
      now,
    );
    return rows.map((row) => JSON.parse(row.properties) as Record<string, DataType>);
  }

  counts(): Counts {
    const profiles = (kind: Kind): number =>
      this.#one<{ n: number }>(
        `SELECT count(*) AS n FROM
           (SELECT DISTINCT s.region, e.id FROM submission s JOIN entry e ON e.submission = s.n WHERE s.kind = ?)`,
        kind,
      ).n;
    const jobs = this.#one<{ n: number }>('SELECT count(*) AS n FROM submission WHERE bulk').n;
    return { companies: profiles('companies'), users: profiles('users'), jobs };
  }

  clear(): void {
    this.transaction(() => this.#db.exec('DELETE FROM entry; DELETE FROM submission;'));
    this.#db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE);');
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #all<T>(sql: string, ...values: unknown[]): T[] {
    return this.#db.prepare(sql).all(...values) as T[];
  }

  #one<T>(sql: string, ...values: unknown[]): T {
    return this.#db.prepare(sql).get(...values) as T;
  }
}

function submissionOf(row: SubmissionRow): Submission {
  return {
    bulk: row.bulk === 1,
    region: row.region,
    kind: row.kind,
    rows: row.rows,
    bytes: row.bytes,
    sha256: row.sha256,
    acceptedAt: row.accepted_at,
    durationMs: row.duration_ms,
    outcome: JSON.parse(row.fate) as Submission['outcome'],
    properties: JSON.parse(row.properties) as Submission['properties'],
  };
}

interface SubmissionRow {
  n: number;
  bulk: number;
  region: Region;
  kind: Kind;
  rows: number;
  bytes: number;
  sha256: string | null;
  accepted_at: number;
  duration_ms: number;
  fate: string;
  properties: string;
}
