/**
 * The service without HTTP: what was accepted, and what follows from it at a time. It is a log: an accepted
 * request is one submission with one entry per item, written in one transaction and not changed afterwards.
 * Profiles, jobs, and lists are computed from the log and the clock. So nothing acknowledged is lost, no
 * writer overwrites another one's update, and accepting a request only appends.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LookupList } from '../engine/service/names.js';
import type { Bulk } from './body.js';
import { DATABASE_FILE, type Database, openDatabase } from './database.js';
import { type DataType, DEFAULT_LOOKUPS, type Lookups, userProperties } from './lookups.js';
import { type Kind, type Profile, type Region, tell, type Upsert } from './profile.js';
import { ProfileIndex, type ProfilePage, type ProfileQuery } from './profile-index.js';
import * as timeline from './timeline.js';

/** The clock of the sandbox, in milliseconds since 1970. All progress of jobs is computed from it. */
export interface SandboxClock {
  now(): number;
}

/** A request to accept. */
export interface Submission extends Bulk {
  region: Region;
  kind: Kind;
  /** Size of the body, and its SHA-256 in hexadecimal. */
  bytes: number;
  sha256: string;
}

const JOB =
  'n, region, kind, rows, bytes, accepted_at AS acceptedAt, duration_ms AS durationMs, fate FROM submission';
type JobRow = Omit<timeline.Job, 'outcome'> & { fate: string };

const UNFINISHED = 'bulk AND (ends_at IS NULL OR ends_at > ?1)';

/** Entries of one profile, with their submissions. */
const ENTRIES = `FROM submission s CROSS JOIN entry e ON e.submission = s.n AND e.id = ?
  WHERE s.region = ? AND s.kind = ?`;

/** Several processes may write at the same time: if the clock is set back by less, it does not count. */
const SET_BACK_MS = 1_000;
const NEWEST = 'SELECT accepted_at AS n FROM submission ORDER BY submission.n DESC LIMIT 1';
/** In one statement: of several processes that find the clock set back, the first one moves everything. */
const MOVE_BACK = `UPDATE submission SET accepted_at = accepted_at - late, ends_at = ends_at - late, applies_at = applies_at - late
  FROM (SELECT max(coalesce(ends_at, accepted_at)) - ?1 AS late, (${NEWEST}) AS newest FROM submission)
  WHERE newest - ?1 >= ${SET_BACK_MS}`;

/** How many entries are added to the list of profiles at a time, before other requests get a turn. */
const SLICE = 500;

export class World {
  readonly #index: ProfileIndex;
  /** A random text, created with the data, which makes job ids different from those of other sandboxes. */
  readonly #instance: string;

  /**
   * @param lookups the lists that imports do not change
   * @param baseUrl returns the URL of a region's listener, for links; empty if there is none
   */
  constructor(
    private readonly db: Database,
    private readonly clock: SandboxClock,
    private readonly lookups: Lookups = DEFAULT_LOOKUPS,
    private readonly baseUrl: (region: Region) => string = () => '',
  ) {
    this.#index = new ProfileIndex(db);
    this.#instance = db.one<{ value: string }>("SELECT value FROM meta WHERE key = 'instance'")!.value;
  }

  /**
   * Endpoints 1 to 3. `busy`: a job of the region is unfinished, and only one may run.
   * @param rules `outcome` is called only if the job is accepted. Without rules, there is no job, and the items take
   * effect at once.
   */
  accept(submission: Submission, rules?: timeline.JobRules): timeline.JobRecord | 'busy' {
    const { region, kind, bytes, sha256, items, properties } = submission;
    return this.db.transaction(() => {
      const now = this.#now();
      const unfinished = `SELECT count(*) AS n FROM submission WHERE ${UNFINISHED} AND region = ?2`;
      if (rules?.oneAtATime && this.db.count(unfinished, now, region) > 0) return 'busy';
      const rows = items.length;
      const durationMs = rules ? timeline.jobDuration(rows, rules.rowsPerSecond) : 0;
      const outcome = rules?.outcome() ?? { type: 'completed' };
      const job = { region, kind, bytes, rows, durationMs, outcome, acceptedAt: now };
      const [ends, applied] = [timeline.jobEnd(job), timeline.appliedRows(job)];
      const fate = JSON.stringify(outcome);
      const n = this.db.run(
        `INSERT INTO submission (bulk, region, kind, rows, bytes, sha256, accepted_at, duration_ms, fate, ends_at, applies_at, properties)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[rules ? 1 : 0, region, kind, rows, bytes, sha256, now, durationMs, fate],
        ...[ends, applied > 0 ? ends : null, JSON.stringify(properties)],
      );
      for (const [ordinal, { id, companyId, metadata }] of items.slice(0, applied).entries())
        this.db.run('INSERT INTO entry VALUES (?, ?, ?, ?, ?)', n, id, ordinal, companyId, metadata);
      // Entries of requests that were sent again with the same body, and applied again, no longer matter. So
      // repeated rehearsals with one file do not fill the disk. The newest applied ones stay.
      const repeated = this.db.all<{ n: number }>(
        `UPDATE submission SET sha256 = NULL WHERE n IN (
           SELECT n FROM submission WHERE sha256 = ? AND region = ? AND kind = ? AND fate = ? AND applies_at <= ?
           ORDER BY applies_at DESC, n DESC LIMIT 10 OFFSET 1) RETURNING n`,
        ...[sha256, region, kind, fate, now],
      );
      for (const one of repeated) this.db.run('DELETE FROM entry WHERE submission = ?', one.n);
      // As of its acceptance: queued, however long the writing took.
      return this.#view({ n, ...job, fate }, now).record;
    });
  }

  /** Endpoints 5 to 7. There is one lookup host, so the lists cover both regions. */
  lookup(list: LookupList): unknown[] {
    return list === 'user_properties' ? this.userProperties() : this.lookups[list];
  }

  userProperties(): ReturnType<typeof userProperties> {
    const rows = this.db.all<{ properties: string }>(
      "SELECT properties FROM submission WHERE kind = 'users' AND applies_at <= ? ORDER BY applies_at, n",
      this.#now(),
    );
    return userProperties(rows.map((row) => JSON.parse(row.properties) as Record<string, DataType>));
  }

  profile(kind: Kind, id: string, region: Region): Profile | undefined {
    return this.history(kind, id, region)?.profile;
  }

  /** A profile, and what each upsert changed in it, oldest first. */
  history(kind: Kind, id: string, region: Region) {
    // Those that have taken effect, in order.
    const upserts = this.db.all<Upsert>(
      `SELECT s.n, s.bulk, s.applies_at AS at, e.company_id AS companyId, e.metadata ${ENTRIES}
       AND s.applies_at <= ? ORDER BY s.applies_at, s.n, e.ordinal`,
      ...[id, region, kind, this.#now()],
    );
    if (upserts.length === 0) return undefined;
    const { profile, values, story } = tell(kind, region, id, upserts);
    const jobIdOf = (n: number): string => timeline.formatJobId(region, this.#instance, n);
    const chapters = story.map((chapter) => ({
      ...chapter,
      jobId: chapter.bulk ? jobIdOf(chapter.n) : null,
    }));
    return { profile, values, story: chapters };
  }

  /** Whether an unfinished job will change the profile when it completes. */
  pending(kind: Kind, id: string, region: Region): boolean {
    const sql = `SELECT count(*) AS n ${ENTRIES} AND s.applies_at > ?`;
    return this.db.count(sql, id, region, kind, this.#now()) > 0;
  }

  /** Profiles as they are now. Lets other work run in between. */
  async profiles(query: ProfileQuery): Promise<ProfilePage> {
    const asOf = this.#now(); // read once, or the loop might never catch up with an import
    while (!this.#index.advance(asOf, SLICE)) await new Promise((resolve) => setImmediate(resolve));
    return this.#index.list(query);
  }

  /** Adds a slice of what was applied to the list of profiles; true if nothing is left. */
  catchUp(): boolean {
    return this.#index.advance(this.#now(), SLICE);
  }

  profileCounts(): Record<Region, Record<Kind, number>> {
    const count = (region: Region) => ({
      companies: this.#index.count('companies', region),
      users: this.#index.count('users', region),
    });
    return { default: count('default'), eu: count('eu') };
  }

  /** Increases with every change of the list of profiles. */
  get revision(): number {
    return this.#index.revision;
  }

  /** Jobs of all regions, newest first. */
  jobs(offset: number, limit: number): timeline.JobView[] {
    const now = this.#now();
    const sql = `SELECT ${JOB} WHERE bulk ORDER BY n DESC LIMIT ? OFFSET ?`;
    return this.db.all<JobRow>(sql, limit, offset).map((row) => this.#view(row, now));
  }

  /** Endpoint 4. Undefined for an id that is not one of this sandbox. */
  job(jobId: string): timeline.JobView | undefined {
    const now = this.#now(); // first: it moves submissions back if the clock was set back
    const n = Number(jobId.slice(jobId.lastIndexOf('-') + 1));
    const row = this.db.one<JobRow>(`SELECT ${JOB} WHERE n = ? AND bulk`, Number.isSafeInteger(n) ? n : -1);
    const view = row && this.#view(row, now);
    return view?.record.job_id === jobId ? view : undefined;
  }

  /** Identifiers that a completed job upserted, at most `limit`. */
  idsOf(n: number, limit: number): string[] {
    const sql = 'SELECT DISTINCT id FROM entry WHERE submission = ? LIMIT ?';
    return this.db.all<{ id: string }>(sql, n, limit).map(({ id }) => id);
  }

  jobCounts() {
    return this.db.one<{ total: number; unfinished: number; failed: number }>(
      `SELECT count(*) AS total,
         count(*) FILTER (WHERE ${UNFINISHED}) AS unfinished,
         count(*) FILTER (WHERE ends_at <= ?1 AND fate = '{"type":"failed"}') AS failed
       FROM submission WHERE bulk`,
      this.#now(),
    )!;
  }

  /**
   * Erases everything that was accepted, from the disk too.
   * @returns what there was: profiles of each kind, where an identifier counts once per region, and bulk requests
   */
  reset(): { companies: number; users: number; jobs: number } {
    const profiles = `SELECT count(*) AS n FROM
      (SELECT DISTINCT s.region, e.id FROM submission s JOIN entry e ON e.submission = s.n WHERE s.kind = ?)`;
    const counts = {
      companies: this.db.count(profiles, 'companies'),
      users: this.db.count(profiles, 'users'),
      jobs: this.jobCounts().total,
    };
    // Numbers are not given twice.
    this.db.transaction(() => this.db.exec('DELETE FROM entry; DELETE FROM submission;'));
    this.db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE);');
    return counts;
  }

  close(): void {
    this.db.close();
  }

  /**
   * The time. If something was accepted later than it, the clock was set back: everything is moved back with
   * it, so that the last job ends now. Otherwise, jobs would stand still until the clock is there again.
   */
  #now(): number {
    const now = this.clock.now();
    if (this.db.count(NEWEST) - now >= SET_BACK_MS) this.db.run(MOVE_BACK, now);
    return now;
  }

  #view({ fate, ...row }: JobRow, now: number): timeline.JobView {
    const job = { ...row, outcome: JSON.parse(fate) };
    return timeline.jobView(job, this.#instance, now, this.baseUrl(job.region));
  }
}

/**
 * Opens the data in a folder, without listeners, even while a sandbox or a command uses it.
 * @returns undefined if there is no data; creates nothing
 * @throws StateError
 */
export function openSandboxData(dataDir: string, clock: SandboxClock): World | undefined {
  return existsSync(join(dataDir, DATABASE_FILE)) ? new World(openDatabase(dataDir), clock) : undefined;
}
