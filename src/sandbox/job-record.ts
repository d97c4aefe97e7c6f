/** The job record, with every field of the spec (spec: Job). */
import type { Submission } from './store.js';
import { jobAt } from './timeline.js';
import type { Region } from './types.js';

export interface JobRecord {
  job_id: string;
  type: string;
  status: string;
  filename: string;
  /** Bytes of the request's body. */
  file_size: number;
  total_rows: number;
  /** Only in the job status response. */
  completed_rows?: number;
  /** Seconds. Only in the job status response. */
  elapsed_time?: number;
  /** ISO 8601. */
  start_time: string;
  end_time: string | null;
  /** The URL of the job status operation for this job. */
  links: string;
}

/** The path of the job status operation: the id is one segment (spec: Endpoint 4). */
function jobPath(jobId: string): string {
  return `/v1/background_jobs/${encodeURIComponent(jobId)}`;
}

/**
 * @param reply `accepted` for the record of a bulk operation, `status` for that of the job status operation,
 * with progress
 * @param at.baseUrl URL of the listener that received the request
 */
export function jobRecord(
  reply: 'accepted' | 'status',
  n: number,
  submission: Submission,
  at: { now: number; instance: string; baseUrl: string },
): JobRecord {
  const { region, kind, acceptedAt } = submission;
  const job_id = formatJobId(region, at.instance, n);
  const state = jobAt(submission, at.now);
  const started = new Date(acceptedAt).toISOString();
  return {
    job_id,
    type: `${kind}_bulk_identify`,
    status: state.status,
    filename: `${kind}-${started.replace(/[-:]|\.\d+/g, '')}-${n}.json`,
    file_size: submission.bytes,
    total_rows: submission.rows,
    ...(reply === 'status' && {
      completed_rows: state.completedRows,
      elapsed_time: state.elapsedMs / 1_000,
    }),
    start_time: started,
    end_time: state.endedAt === null ? null : new Date(state.endedAt).toISOString(),
    links: at.baseUrl + jobPath(job_id),
  };
}

export function formatJobId(region: Region, instance: string, n: number): string {
  return `urn:profiles:job:${region}/${instance}-${n}`;
}

/** The number of the job, or undefined if the id is not one of this instance and region. */
export function parseJobId(id: string, region: Region, instance: string): number | undefined {
  const n = Number(id.slice(id.lastIndexOf('-') + 1));
  return Number.isSafeInteger(n) && formatJobId(region, instance, n) === id ? n : undefined;
}
