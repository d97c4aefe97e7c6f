/**
 * The state of a job at a time. There is no timer: everything about a job is decided when it is accepted, and
 * its state is computed from that and the clock (contract §8).
 */
import type * as z from 'zod';
import type { Kind, Region } from './profile.js';
import type { jobRecord as jobSchema } from './schemas.js';

/** How a job will end, decided when it is accepted. */
export type SimulatedOutcome =
  | { type: 'completed' }
  /** Ends in `failed` after processing; none of its rows are applied. */
  | { type: 'failed' }
  /** Reaches `status` and stays there; none of its rows are applied. */
  | { type: 'stuck'; status: string }
  /** Ends in `completed`, but its last `rows` rows are neither counted nor applied. */
  | { type: 'short'; rows: number }
  /** Shows `status` instead of `processing`, then completes. */
  | { type: 'detour'; status: string };

/** An accepted request. Times are in milliseconds since 1970. */
export interface Job {
  n: number;
  region: Region;
  kind: Kind;
  rows: number;
  /** Size of the body. */
  bytes: number;
  acceptedAt: number;
  durationMs: number;
  outcome: SimulatedOutcome;
}

/** The job record of the job status operation, with every field of the spec (spec: Job). */
export type JobRecord = z.infer<typeof jobSchema>;

/** What decides whether a job is accepted, and how it ends. */
export interface JobRules {
  rowsPerSecond: number;
  oneAtATime: boolean;
  outcome(): SimulatedOutcome;
}

/** A job with more than its record: its number, its region, and when each state begins and ends. */
export interface JobView {
  n: number;
  region: Region;
  record: JobRecord;
  phases: { status: string; from: string; until: string | null }[];
}

/** The minimum duration of a job, however small it is. */
const SHORTEST_JOB_MS = 300;

/** The states of a job in order, each with the shares of the job's time at which it starts and ends. */
const SHARES = [
  ['queued', 0, 0.1],
  ['validating', 0.1, 0.2],
  ['processing', 0.2, 0.9],
  ['pending_refresh', 0.9, 1],
] as const;
const [, , [PROCESSING, PROCESSED_FROM, PROCESSED_UNTIL]] = SHARES;

/** The duration of a job of `rows` rows, in milliseconds. */
export function jobDuration(rows: number, rowsPerSecond: number): number {
  return Math.max(SHORTEST_JOB_MS, Math.round((rows / rowsPerSecond) * 1_000));
}

/** When the job ends; null if it never does. */
export function jobEnd(job: Pick<Job, 'acceptedAt' | 'durationMs' | 'outcome'>): number | null {
  return job.outcome.type === 'stuck' ? null : phasesOf(job).at(-1)!.from;
}

/** The number of rows that the job applies when it completes. */
export function appliedRows({ rows, outcome }: Pick<Job, 'rows' | 'outcome'>): number {
  if (outcome.type === 'failed' || outcome.type === 'stuck') return 0;
  return outcome.type === 'short' ? Math.max(0, rows - outcome.rows) : rows;
}

/**
 * All states of the job, past and future; `until` is null for the last one, in which it ends or stays. A status
 * that is not one of the states is shown instead of `processing`.
 */
function phasesOf({ acceptedAt, durationMs, outcome }: Pick<Job, 'acceptedAt' | 'durationMs' | 'outcome'>) {
  const at = (share: number): number => acceptedAt + Math.round(durationMs * share);
  const named = 'status' in outcome ? outcome.status : PROCESSING;
  const own = SHARES.some(([status]) => status === named) ? PROCESSING : named;
  const phases: { status: string; from: number; until: number | null }[] = [];
  for (const [name, start, end] of SHARES) {
    const status = name === PROCESSING ? own : name;
    const stays = outcome.type === 'stuck' && status === named;
    phases.push({ status, from: at(start), until: stays ? null : at(end) });
    if (stays) return phases;
    if (outcome.type === 'failed' && name === PROCESSING) break;
  }
  const status = outcome.type === 'failed' ? 'failed' : 'completed';
  return [...phases, { status, from: phases.at(-1)!.until!, until: null }];
}

/** Rows that the job has completed at `now`, before its end. */
function progressOf({ outcome, ...job }: Job, phase: number, now: number): number {
  const share = (now - job.acceptedAt) / job.durationMs;
  const [, from, until] = SHARES[phase]!;
  // A stuck job stops in the middle of its state.
  const reached = outcome.type === 'stuck' ? Math.min(share, (from + until) / 2) : share;
  const progress = (reached - PROCESSED_FROM) / (PROCESSED_UNTIL - PROCESSED_FROM);
  const rows = outcome.type === 'short' ? appliedRows({ rows: job.rows, outcome }) : job.rows;
  return Math.floor(rows * Math.min(1, Math.max(0, progress)));
}

const iso = (ms: number): string => new Date(ms).toISOString();

/**
 * The job at `now`. If the clock was set back, it looks as if it had just been accepted.
 * @param baseUrl URL of the region's listener
 */
export function jobView(job: Job, instance: string, now: number, baseUrl: string): JobView {
  const { n, region, kind, acceptedAt } = job;
  const job_id = formatJobId(region, instance, n);
  const start_time = iso(acceptedAt);
  const phases = phasesOf(job);
  const current = phases.findLastIndex(({ from }, index) => index === 0 || from <= now);
  const end = jobEnd(job);
  const ended = end !== null && now >= end;
  const record = {
    job_id,
    type: `${kind}_bulk_identify`,
    status: phases[current]!.status,
    filename: `${kind}-${start_time.replace(/[-:]|\.\d+/g, '')}-${n}.json`,
    file_size: job.bytes,
    total_rows: job.rows,
    completed_rows: ended ? appliedRows(job) : progressOf(job, current, now),
    elapsed_time: Math.max(0, (ended ? end : now) - acceptedAt) / 1_000,
    start_time,
    end_time: ended ? iso(end) : null,
    // The id is one segment of the path (spec: Endpoint 4).
    links: `${baseUrl}/v1/background_jobs/${encodeURIComponent(job_id)}`,
  };
  const untilOf = (until: number | null): string | null => (until === null ? null : iso(until));
  const times = phases.map((one) => ({ ...one, from: iso(one.from), until: untilOf(one.until) }));
  return { n, region, record, phases: times };
}

export function formatJobId(region: Region, instance: string, n: number): string {
  return `urn:profiles:job:${region}/${instance}-${n}`;
}
