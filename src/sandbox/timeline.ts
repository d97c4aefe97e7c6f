/**
 * The state of a job at a time. There is no timer: everything about a job is decided when it is accepted, and
 * its state is computed from that and the clock (contract §8).
 */
import type * as z from 'zod';
import type { jobRecord as jobSchema } from './schemas.js';
import type { Kind, Region } from './types.js';

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

export interface JobPlan {
  /** Milliseconds since the epoch. */
  acceptedAt: number;
  durationMs: number;
  rows: number;
  outcome: SimulatedOutcome;
}

export interface JobState {
  status: string;
  completedRows: number;
  /** Milliseconds since the job was accepted, until it ended. */
  elapsedMs: number;
  /** Milliseconds since the epoch; null while it has not ended. */
  endedAt: number | null;
}

/** The minimum duration of a job, however small it is. */
const SHORTEST_JOB_MS = 300;

/** The states of a job in order, each with the shares of the job's time at which it starts and ends. */
const PHASES = [
  { status: 'queued', from: 0, until: 0.1 },
  { status: 'validating', from: 0.1, until: 0.2 },
  { status: 'processing', from: 0.2, until: 0.9 },
  { status: 'pending_refresh', from: 0.9, until: 1 },
] as const;
const PROCESSING = PHASES[2];

/** The duration of a job of `rows` rows, in milliseconds. */
export function jobDuration(rows: number, rowsPerSecond: number): number {
  return Math.max(SHORTEST_JOB_MS, Math.round((rows / rowsPerSecond) * 1_000));
}

/** When the job ends, in milliseconds since 1970; null if it never does. */
export function jobEnd(plan: JobPlan): number | null {
  if (plan.outcome.type === 'stuck') return null;
  const share = plan.outcome.type === 'failed' ? PROCESSING.until : 1;
  return plan.acceptedAt + Math.round(plan.durationMs * share);
}

/** The number of rows that the job applies when it completes. */
export function appliedRows({ rows, outcome }: Pick<JobPlan, 'rows' | 'outcome'>): number {
  if (outcome.type === 'failed' || outcome.type === 'stuck') return 0;
  return outcome.type === 'short' ? Math.max(0, rows - outcome.rows) : rows;
}

/**
 * One state of a job, and when it starts and ends, in milliseconds since 1970; `until` is null if it never
 * ends.
 */
export interface JobPhase {
  status: string;
  from: number;
  until: number | null;
}

/**
 * All states of the job, past and future. The last one is the state in which it ends or stays. A status that
 * is not one of the states is shown instead of `processing`.
 */
export function jobPhases(plan: JobPlan): JobPhase[] {
  const { acceptedAt, durationMs, outcome } = plan;
  const at = (share: number): number => acceptedAt + Math.round(durationMs * share);
  const named = 'status' in outcome ? outcome.status : undefined;
  const known = PHASES.some((phase) => phase.status === named);
  const phases: JobPhase[] = [];
  for (const phase of PHASES) {
    const status = phase === PROCESSING && named !== undefined && !known ? named : phase.status;
    const stays = outcome.type === 'stuck' && status === named;
    phases.push({ status, from: at(phase.from), until: stays ? null : at(phase.until) });
    if (stays) return phases;
    if (outcome.type === 'failed' && phase === PROCESSING) break;
  }
  const status = outcome.type === 'failed' ? 'failed' : 'completed';
  return [...phases, { status, from: jobEnd(plan) ?? at(1), until: null }];
}

/** The job at `now`. If the clock was set back, it looks as if it had just been accepted. */
export function jobAt(plan: JobPlan, now: number): JobState {
  const end = jobEnd(plan);
  const elapsedMs = Math.max(0, now - plan.acceptedAt);
  const phases = jobPhases(plan);
  const { status, until } = phases.findLast((phase) => phase.from <= now) ?? phases[0]!;
  if (end !== null && now >= end)
    return { status, completedRows: appliedRows(plan), elapsedMs: end - plan.acceptedAt, endedAt: end };
  // A stuck job stops in the middle of its state.
  const middle = PHASES.find((phase) => phase.status === status) ?? PROCESSING;
  const share =
    until === null
      ? Math.min(elapsedMs / plan.durationMs, (middle.from + middle.until) / 2)
      : elapsedMs / plan.durationMs;
  const progress = (share - PROCESSING.from) / (PROCESSING.until - PROCESSING.from);
  const most = plan.outcome.type === 'short' ? appliedRows(plan) : plan.rows;
  const completedRows = Math.floor(most * Math.min(1, Math.max(0, progress)));
  return { status, completedRows, elapsedMs, endedAt: null };
}

/** An accepted request. */
export interface Job extends JobPlan {
  n: number;
  region: Region;
  kind: Kind;
  /** Size of the body. */
  bytes: number;
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
  phases: JobPhase[];
}

/** @param baseUrl URL of the region's listener */
export function jobRecord(job: Job, instance: string, now: number, baseUrl: string): JobRecord {
  const { n, region, kind } = job;
  const job_id = formatJobId(region, instance, n);
  const state = jobAt(job, now);
  const started = new Date(job.acceptedAt).toISOString();
  return {
    job_id,
    type: `${kind}_bulk_identify`,
    status: state.status,
    filename: `${kind}-${started.replace(/[-:]|\.\d+/g, '')}-${n}.json`,
    file_size: job.bytes,
    total_rows: job.rows,
    completed_rows: state.completedRows,
    elapsed_time: state.elapsedMs / 1_000,
    start_time: started,
    end_time: state.endedAt === null ? null : new Date(state.endedAt).toISOString(),
    // The id is one segment of the path (spec: Endpoint 4).
    links: `${baseUrl}/v1/background_jobs/${encodeURIComponent(job_id)}`,
  };
}

export function formatJobId(region: Region, instance: string, n: number): string {
  return `urn:profiles:job:${region}/${instance}-${n}`;
}
