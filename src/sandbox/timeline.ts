/**
 * What a job looks like at a moment. Nothing ticks: a job is what was decided when it was accepted,
 * and its state is a function of that and the clock (contract §8).
 */

/** How a job will end, decided when it is accepted. */
export type SimulatedOutcome =
  | { type: 'completed' }
  /** Ends in `failed` when processing is over; nothing of it is applied. */
  | { type: 'failed' }
  /** Reaches `status` and stays there; nothing of it is applied. */
  | { type: 'stuck'; status: string }
  /** Ends in `completed`, but its last `rows` rows are neither counted nor applied. */
  | { type: 'short'; rows: number }
  /** Shows `status` in place of `processing`, then completes. */
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

/** A job takes at least this long, however small it is. */
const SHORTEST_JOB_MS = 300;

/** The states that a job passes through, each with the share of its time at which it begins and ends. */
const PHASES = [
  { status: 'queued', from: 0, until: 0.1 },
  { status: 'validating', from: 0.1, until: 0.2 },
  { status: 'processing', from: 0.2, until: 0.9 },
  { status: 'pending_refresh', from: 0.9, until: 1 },
] as const;
const PROCESSING = PHASES[2];

/** Milliseconds that a job of `rows` rows takes. */
export function jobDuration(rows: number, rowsPerSecond: number): number {
  return Math.max(SHORTEST_JOB_MS, Math.round((rows / rowsPerSecond) * 1_000));
}

/** When the job ends, milliseconds since the epoch; null when it never does. */
export function jobEnd(plan: JobPlan): number | null {
  if (plan.outcome.type === 'stuck') return null;
  const share = plan.outcome.type === 'failed' ? PROCESSING.until : 1;
  return plan.acceptedAt + Math.round(plan.durationMs * share);
}

/** Rows that the job applies when it completes. */
export function appliedRows({ rows, outcome }: Pick<JobPlan, 'rows' | 'outcome'>): number {
  if (outcome.type === 'failed' || outcome.type === 'stuck') return 0;
  return outcome.type === 'short' ? Math.max(0, rows - outcome.rows) : rows;
}

/** The job as it looks at `now`. A clock that was set back shows a job that has just been accepted. */
export function jobAt(plan: JobPlan, now: number): JobState {
  const end = jobEnd(plan);
  const elapsedMs = Math.max(0, now - plan.acceptedAt);
  if (end !== null && now >= end) {
    const status = plan.outcome.type === 'failed' ? 'failed' : 'completed';
    return { status, completedRows: appliedRows(plan), elapsedMs: end - plan.acceptedAt, endedAt: end };
  }
  return { ...underWay(plan, elapsedMs / plan.durationMs), elapsedMs, endedAt: null };
}

/** One state of a job, and when it began and ends, milliseconds since the epoch; `until` is null for one without end. */
export interface JobPhase {
  status: string;
  from: number;
  until: number | null;
}

/** All states that the job passes through, past and to come; the last one is where it ends, or stays. */
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

/** For a stuck job, time stops in the middle of its state. A state that no job passes through is shown instead of `processing`. */
function underWay({ rows, outcome }: JobPlan, share: number): { status: string; completedRows: number } {
  const named = 'status' in outcome ? outcome.status : undefined;
  const known = PHASES.find((phase) => phase.status === named);
  const held = known ?? PROCESSING;
  const at = outcome.type === 'stuck' ? Math.min(share, (held.from + held.until) / 2) : share;
  const phase = PHASES.find((one) => at < one.until) ?? PHASES[3];
  const progress = (at - PROCESSING.from) / (PROCESSING.until - PROCESSING.from);
  const most = outcome.type === 'short' ? appliedRows({ rows, outcome }) : rows;
  return {
    status: phase === PROCESSING && named !== undefined && !known ? named : phase.status,
    completedRows: Math.floor(most * Math.min(1, Math.max(0, progress))),
  };
}
