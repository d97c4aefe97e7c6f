/**
 * What the sandbox holds, as a log. An accepted request is one submission with one entry for each item,
 * written in one transaction and not changed again; what a profile is, is read from the log. So nothing
 * acknowledged can be lost, no two writers lose each other's update, and accepting costs an append.
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
  /** False for a single company's upsert, which is no job. */
  bulk: boolean;
  region: Region;
  kind: Kind;
  bytes: number;
  /** Of the body, hex. Null in what is read back once the entries were dropped as repeated. */
  sha256: string | null;
  /** Metadata keys and their types, of users. */
  properties: Record<string, DataType>;
}

/** How much was accepted, in all regions. @internal */
export interface Counts {
  /** An identifier counts once in each region. */
  companies: number;
  users: number;
  /** Bulk requests: a single company's upsert is no job. */
  jobs: number;
}

/** A submission and its number. */
export interface NumberedSubmission extends Submission {
  n: number;
}

export interface JobCounts {
  total: number;
  unfinished: number;
  /** Of those that ended. */
  failed: number;
}

export interface Store {
  /** Random, made with the data: keeps its job ids apart from another sandbox's. */
  readonly instance: string;
  /** Runs `work` as one transaction that no other process interrupts; it is on disk when this returns. */
  transaction<T>(work: () => T): T;
  /** Appends; returns its number, which is never used again, not even after `clear`. */
  add(submission: Submission, items: readonly Item[]): number;
  get(n: number): Submission | undefined;
  /** How many jobs of a region have not ended at `now`. */
  unfinished(region: Region, now: number): number;
  /** What completed jobs said about a profile, in order of completion. */
  upserts(region: Region, kind: Kind, id: string, now: number): Upsert[];
  /** All profiles as they are now. */
  readonly profiles: ProfileIndex;
  /** Jobs of both regions, newest first. */
  jobs(offset: number, limit: number): NumberedSubmission[];
  jobCounts(now: number): JobCounts;
  /** Identifiers that a submission holds; none where they were dropped as repeated. */
  idsOf(n: number, limit: number): string[];
  /** Whether a job that has not completed at `now` holds the profile. */
  pending(region: Region, kind: Kind, id: string, now: number): boolean;
  /** Of users' imports that completed, in all regions, in order of completion. */
  properties(now: number): Record<string, DataType>[];
  /** What was accepted, whether or not it has been applied. */
  counts(): Counts;
  /** If the clock was set back to `now`, moves everything back with it. */
  moveBack(now: number): void;
  /** Erases everything that was accepted, from the disk too. */
  clear(): void;
  close(): void;
}

/**
 * Opens the data in a folder, or an empty store in memory.
 * @param dataDir null: memory
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
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK'); // a full disk has rolled it back already
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
   * Drops entries that change nothing any more: those of an applied request that was sent again, byte for
   * byte, and applied again later. So rehearsing one file over and over does not fill the disk.
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
