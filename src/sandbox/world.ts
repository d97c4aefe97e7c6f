/**
 * The service without HTTP: a state machine over a clock and a store. Nothing runs in the background:
 * everything that it returns is computed from what was accepted and from the time.
 */
import type { LookupList } from '../engine/service/names.js';
import type { Bulk, Item } from './body.js';
import { formatJobId, type JobRecord, jobRecord, parseJobId } from './job-record.js';
import type { Lookups } from './lookups.js';
import { mergePieces } from './profile.js';
import type { ProfilePage, ProfileQuery } from './profile-index.js';
import { userProperties } from './properties.js';
import type { Counts, JobCounts, NumberedSubmission, Store, Submission } from './store.js';
import { type Chapter, storyOf } from './story.js';
import { type JobPhase, jobDuration, jobPhases, type SimulatedOutcome } from './timeline.js';
import { ID_FIELD, type Kind, type Region, type SandboxClock } from './types.js';

/** Where a request arrived, and facts about its body. */
export interface Arrival {
  region: Region;
  /** URL of the listener that received the request. Job records link to it. */
  baseUrl: string;
  bytes: number;
  /** SHA-256 of the body, in hexadecimal. */
  sha256: string;
}

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

/** A job with more than its record: its number, its region, and when each state begins and ends. */
export interface JobView {
  n: number;
  region: Region;
  record: JobRecord;
  phases: JobPhase[];
}

/**
 * Maximum number of entries that are added to the list of profiles at a time, before other requests get a
 * turn.
 */
const SLICE = 500;

export interface World {
  /**
   * Endpoints 1 and 3. `busy`: a job of the region is unfinished, and only one may run. `rules.outcome` is
   * called only if the job is accepted.
   */
  submit(arrival: Arrival, kind: Kind, bulk: Bulk, rules: JobRules): JobRecord | 'busy';
  /** Endpoint 2: takes effect at once. */
  upsertCompany(arrival: Arrival, item: Item): void;
  /** Endpoint 4. Undefined for an id that is not one of this region. */
  job(region: Region, jobId: string, baseUrl: string): JobRecord | undefined;
  /** Endpoints 5 to 7. There is one lookup host, so the lists cover both regions. */
  lookup(list: LookupList): unknown[];
  profile(kind: Kind, id: string, region: Region): Profile | undefined;
  /** Whether an unfinished job will change the profile when it completes. */
  pending(kind: Kind, id: string, region: Region): boolean;
  /** What each upsert changed, oldest first; empty if there is no such profile. */
  story(kind: Kind, id: string, region: Region): (Chapter & { jobId: string | null })[];
  /**
   * Profiles as they are now.
   * @param patient whether to let other work run in between; otherwise, everything is done at once
   */
  profiles(query: ProfileQuery, patient?: boolean): Promise<ProfilePage>;
  /** Adds a slice of what was applied to the list of profiles; true if nothing is left. */
  catchUp(): boolean;
  /** Jobs of all regions, newest first. */
  jobs(offset: number, limit: number): JobView[];
  jobView(jobId: string): JobView | undefined;
  /** Identifiers that a completed job upserted, at most `limit`. */
  idsOf(n: number, limit: number): string[];
  jobCounts(): JobCounts;
  profileCounts(): Record<Region, Record<Kind, number>>;
  /** Increases with every change of the list of profiles. */
  readonly revision: number;
  /** Erases all profiles and jobs. Returns the totals before that. */
  reset(): Counts;
  close(): void;
}

export interface JobRules {
  rowsPerSecond: number;
  oneAtATime: boolean;
  outcome(): SimulatedOutcome;
}

/**
 * @param lookups the lists that imports do not change
 * @param baseUrl returns the URL of a region's listener, for links; empty if there is none
 */
export function createWorld(
  store: Store,
  clock: SandboxClock,
  lookups: Lookups,
  baseUrl: (region: Region) => string = () => '',
): World {
  const { instance } = store;
  const now = (): number => {
    const at = clock.now();
    store.moveBack(at);
    return at;
  };
  const view = (submission: NumberedSubmission, time: number): JobView => {
    const { n, region } = submission;
    const at = { now: time, instance, baseUrl: baseUrl(region) };
    return { n, region, record: jobRecord('status', n, submission, at), phases: jobPhases(submission) };
  };

  return {
    submit(arrival, kind, bulk, rules) {
      return store.transaction(() => {
        const acceptedAt = now();
        if (rules.oneAtATime && store.unfinished(arrival.region, acceptedAt) > 0) return 'busy';
        const rows = bulk.items.length;
        const submission: Submission = {
          bulk: true,
          kind,
          region: arrival.region,
          bytes: arrival.bytes,
          sha256: arrival.sha256,
          acceptedAt,
          rows,
          durationMs: jobDuration(rows, rules.rowsPerSecond),
          outcome: rules.outcome(),
          properties: bulk.properties,
        };
        const n = store.add(submission, bulk.items);
        // The record at the time of acceptance: queued, however long the writing took.
        return jobRecord('accepted', n, submission, { now: acceptedAt, instance, baseUrl: arrival.baseUrl });
      });
    },

    upsertCompany(arrival, item) {
      store.transaction(() =>
        store.add(
          {
            bulk: false,
            kind: 'companies',
            region: arrival.region,
            bytes: arrival.bytes,
            sha256: arrival.sha256,
            acceptedAt: now(),
            rows: 1,
            durationMs: 0,
            outcome: { type: 'completed' },
            properties: {},
          },
          [item],
        ),
      );
    },

    job(region, jobId, baseUrl) {
      const at = { now: now(), instance, baseUrl }; // first: it moves submissions back if the clock was set back
      const n = parseJobId(jobId, region, instance);
      const submission = n === undefined ? undefined : store.get(n);
      if (n === undefined || !submission?.bulk || submission.region !== region) return undefined;
      return jobRecord('status', n, submission, at);
    },

    lookup(list) {
      return list === 'user_properties' ? userProperties(store.properties(now())) : lookups[list];
    },

    profile(kind, id, region) {
      const pieces = store.upserts(region, kind, id, now());
      if (pieces.length === 0) return undefined;
      const { companyId, metadata } = mergePieces(pieces);
      const parts = [`${JSON.stringify(ID_FIELD[kind])}:${JSON.stringify(id)}`];
      if (companyId !== null) parts.push(`"company_id":${JSON.stringify(companyId)}`);
      parts.push(`"metadata":${metadata}`);
      return {
        kind,
        region,
        id,
        companyId,
        metadata: JSON.parse(metadata) as Record<string, unknown>,
        json: `{${parts.join(',')}}`,
      };
    },

    story: (kind, id, region) =>
      storyOf(store.upserts(region, kind, id, now())).map((chapter) => ({
        ...chapter,
        jobId: chapter.bulk ? formatJobId(region, instance, chapter.n) : null,
      })),

    async profiles(query, patient = false) {
      const { profiles } = store;
      const asOf = now(); // read once, or the loop might never catch up with an import
      while (!profiles.advance(asOf, patient ? SLICE : Number.MAX_SAFE_INTEGER))
        await new Promise((resolve) => setImmediate(resolve));
      return profiles.list(query);
    },

    catchUp: () => store.profiles.advance(now(), SLICE),

    jobs(offset, limit) {
      const at = now();
      return store.jobs(offset, limit).map((submission) => view(submission, at));
    },

    jobView(jobId) {
      const at = now();
      for (const region of ['default', 'eu'] as const) {
        const n = parseJobId(jobId, region, instance);
        const submission = n === undefined ? undefined : store.get(n);
        if (n !== undefined && submission?.bulk && submission.region === region)
          return view({ n, ...submission }, at);
      }
      return undefined;
    },

    idsOf: (n, limit) => store.idsOf(n, limit),

    jobCounts: () => store.jobCounts(now()),

    profileCounts() {
      const count = (region: Region) => ({
        companies: store.profiles.count('companies', region),
        users: store.profiles.count('users', region),
      });
      return { default: count('default'), eu: count('eu') };
    },

    get revision() {
      return store.profiles.revision;
    },

    pending: (kind, id, region) => store.pending(region, kind, id, now()),

    reset() {
      const counts = store.counts();
      store.clear();
      return counts;
    },

    close: () => store.close(),
  };
}
