/** The events of an import. */

import type { PlanTotals } from './model/plan-changes.js';
import type { Kind, Place, Plan, Rejection, RunJob, Summary } from './model.js';
import type { Warning } from './problems.js';

/**
 * An event of an import. Events are in order, and the summary is the last one. It also counts what earlier
 * attempts of the same run have sent. `progress` and `notice` are for people: the command does not print them
 * as NDJSON.
 */
export type ImportEvent =
  | { type: 'plan'; plan: Plan; totals: PlanTotals }
  | ({ type: 'rejected' } & Rejection)
  | ({
      type: 'submitted';
      /** Number of the request in the run, from 1. */
      request: number;
      kind: Kind;
      rows: number;
      /** Null if the reply named no job. */
      job_id: string | null;
    } & Place)
  | {
      /** The status or the `completed_rows` of a job has changed. */
      type: 'job';
      kind: Kind;
      /** Rows of its request. */
      rows: number;
      job: RunJob;
      /** Its request is part of a search for rows at fault. */
      searching?: true;
    }
  | {
      type: 'retry';
      request: number;
      attempt: number;
      /** Milliseconds until the next attempt. */
      delay_ms: number;
      reason: string;
      maybe_sent_twice: boolean;
    }
  | ({ type: 'warning' } & Warning)
  /** A message for people, such as about an interrupt. */
  | { type: 'notice'; message: string }
  | {
      type: 'progress';
      phase: 'downloading' | 'planning' | 'sending' | 'following';
      kind: Kind | null;
      /** Downloading: 0, and `bytes` of `total_bytes`. Planning: rows read so far, of `total_bytes` bytes. Sending: rows submitted of `total_rows`. Following: rows completed. */
      rows: number;
      total_rows: number | null;
      bytes?: number;
      total_bytes?: number | null;
    }
  | { type: 'summary'; summary: Summary };
