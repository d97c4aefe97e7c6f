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
import { type Chapter, type Kind, type Profile, type Region, tell, type Upsert } from './profile.js';
import { ProfileIndex, type ProfilePage, type ProfileQuery } from './profile-index.js';
import * as timeline from './timeline.js';

/** The clock of the sandbox, in milliseconds since 1970. All progress of jobs is computed from it. */
export interface SandboxClock {
  now(): number;
}

/** Totals over all regions. @internal */
export interface Counts {
  /** An identifier counts once per region. */
  companies: number;
  users: number;
  /** Bulk requests. A single company's upsert is not a job. */
  jobs: number;
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

/** Entries of one profile, with their submissions. */
const ENTRIES = `FROM submission s CROSS JOIN entry e ON e.submission = s.n AND e.id = ?
  WHERE s.region = ? AND s.kind = ?`;

/** Several processes may write at the same time: if the clock is set back by less, it does not count. */
const SET_BACK_MS = 1_000;

/** How many entries are added to the list of profiles at a time, before other requests get a turn. */
const SLICE = 500;

export class World {
  #index: ProfileIndex | undefined;
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
      const unfinished =
        'SELECT count(*) AS n FROM submission WHERE region = ? AND bulk AND (ends_at IS NULL OR ends_at > ?)';
      if (rules?.oneAtATime && this.db.count(unfinished, region, now) > 0) return 'busy';
      const rows = items.length;
      const durationMs = rules ? timeline.jobDuration(rows, rules.rowsPerSecond) : 0;
      const outcome = rules?.outcome() ?? { type: 'completed' };
      const job = { region, kind, bytes, rows, durationMs, outcome, acceptedAt: now };
      const [ends, applied] = [timeline.jobEnd(job), timeline.appliedRows(job)];
      const fate = JSON.stringify(outcome);
      const { lastInsertRowid: n } = this.db.run(
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
        `SELECT n FROM submission WHERE sha256 = ? AND region = ? AND kind = ? AND fate = ? AND applies_at <= ?
         ORDER BY applies_at DESC, n DESC LIMIT 10 OFFSET 1`,
        ...[sha256, region, kind, fate, now],
      );
      for (const one of repeated) {
        this.db.run('DELETE FROM entry WHERE submission = ?', one.n);
        this.db.run('UPDATE submission SET sha256 = NULL WHERE n = ?', one.n);
      }
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
    const { story, ...told } = tell(kind, region, id, upserts);
    const jobIdOf = ({ bulk, n }: Chapter): string | null =>
      bulk ? timeline.formatJobId(region, this.#instance, n) : null;
    return { ...told, story: story.map((chapter) => ({ ...chapter, jobId: jobIdOf(chapter) })) };
  }

  /** Whether an unfinished job will change the profile when it completes. */
  pending(kind: Kind, id: string, region: Region): boolean {
    const sql = `SELECT count(*) AS n ${ENTRIES} AND s.applies_at > ?`;
    return this.db.count(sql, id, region, kind, this.#now()) > 0;
  }

  /** Profiles as they are now. Lets other work run in between. */
  async profiles(query: ProfileQuery): Promise<ProfilePage> {
    const asOf = this.#now(); // read once, or the loop might never catch up with an import
    while (!this.#list.advance(asOf, SLICE)) await new Promise((resolve) => setImmediate(resolve));
    return this.#list.list(query);
  }

  /** Adds a slice of what was applied to the list of profiles; true if nothing is left. */
  catchUp(): boolean {
    return this.#list.advance(this.#now(), SLICE);
  }

  profileCounts(): Record<Region, Record<Kind, number>> {
    const count = (region: Region) => ({
      companies: this.#list.count('companies', region),
      users: this.#list.count('users', region),
    });
    return { default: count('default'), eu: count('eu') };
  }

  /** Increases with every change of the list of profiles. */
  get revision(): number {
    return this.#list.revision;
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
    return row && timeline.formatJobId(row.region, this.#instance, n) === jobId
      ? this.#view(row, now)
      : undefined;
  }

  /** Identifiers that a completed job upserted, at most `limit`. */
  idsOf(n: number, limit: number): string[] {
    const sql = 'SELECT DISTINCT id FROM entry WHERE submission = ? LIMIT ?';
    return this.db.all<{ id: string }>(sql, n, limit).map(({ id }) => id);
  }

  jobCounts(): { total: number; unfinished: number; failed: number } {
    return this.db.one<ReturnType<World['jobCounts']>>(
      `SELECT count(*) AS total,
         count(*) FILTER (WHERE ends_at IS NULL OR ends_at > ?1) AS unfinished,
         count(*) FILTER (WHERE ends_at <= ?1 AND fate = '{"type":"failed"}') AS failed
       FROM submission WHERE bulk`,
      this.#now(),
    )!;
  }

  /** Erases everything that was accepted, from the disk too. Returns the totals before that. */
  reset(): Counts {
    const profiles = `SELECT count(*) AS n FROM
      (SELECT DISTINCT s.region, e.id FROM submission s JOIN entry e ON e.submission = s.n WHERE s.kind = ?)`;
    const counts = {
      companies: this.db.count(profiles, 'companies'),
      users: this.db.count(profiles, 'users'),
      jobs: this.db.count('SELECT count(*) AS n FROM submission WHERE bulk'),
    };
    // Numbers are not given twice.
    this.db.transaction(() => this.db.exec('DELETE FROM entry; DELETE FROM submission;'));
    this.db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE);');
    return counts;
  }

  close(): void {
    this.db.close();
  }

  /** The list of profiles, which is made when it is first asked for. */
  get #list(): ProfileIndex {
    this.#index ??= new ProfileIndex(this.db);
    return this.#index;
  }

  /**
   * The time. If something was accepted later than it, the clock was set back: everything is moved back with
   * it, so that the last job ends now. Otherwise, jobs would stand still until the clock is there again.
   */
  #now(): number {
    const now = this.clock.now();
    const newest = 'SELECT accepted_at AS n FROM submission ORDER BY n DESC LIMIT 1';
    const isSetBack = (): boolean => this.db.count(newest) - now >= SET_BACK_MS;
    if (!isSetBack()) return now;
    this.db.transaction(() => {
      if (!isSetBack()) return; // another process was first
      const last = this.db.count('SELECT max(coalesce(ends_at, accepted_at)) AS n FROM submission');
      this.db.run(
        'UPDATE submission SET accepted_at = accepted_at - ?1, ends_at = ends_at - ?1, applies_at = applies_at - ?1',
        last - now,
      );
    });
    return now;
  }

  #view({ fate, ...row }: JobRow, now: number): timeline.JobView {
    const job = { ...row, outcome: JSON.parse(fate) };
    return timeline.jobView(job, this.#instance, now, this.baseUrl(job.region));
  }
}

/** The data of a sandbox without its listeners, to show or erase what a rehearsal left. @internal */
export interface SandboxData {
  profile(kind: Kind, id: string, region: Region): Profile | undefined;
  profiles(query: ProfileQuery): Promise<ProfilePage>;
  pending(kind: Kind, id: string, region: Region): boolean;
  reset(): Counts;
  close(): void;
}

/**
 * Opens the data in a folder, even while a sandbox or a command uses it.
 * @returns undefined if there is no data; creates nothing
 * @throws StateError
 * @internal
 */
export function openSandboxData(dataDir: string, clock: SandboxClock): SandboxData | undefined {
  if (!existsSync(join(dataDir, DATABASE_FILE))) return undefined;
  return new World(openDatabase(dataDir), clock);
}
