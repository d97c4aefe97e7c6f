/**
 * The job record for programs. Written out here for the documentation; `service/contract.ts` checks that it
 * matches.
 */

/**
 * A background job (spec: Job). Fields that the spec does not name are kept. Where a service sends another type than
 * the spec shows, `job_id`, `status` and the numbers of rows still have the type below; the other fields are as they came.
 */
export interface Job {
  job_id: string;
  /** `queued`, `validating`, `processing`, `pending_refresh`, `completed`, `failed`, or one that the spec does not name. */
  status: string;
  /** Kind of job. Values: not shown. */
  type?: string | null | undefined;
  filename?: string | null | undefined;
  /** Unit: not shown. */
  file_size?: number | null | undefined;
  total_rows?: number | null | undefined;
  /** Only in the job status response. */
  completed_rows?: number | null | undefined;
  /** Only in the job status response. Unit: not shown. */
  elapsed_time?: number | null | undefined;
  /** Format: not shown. */
  start_time?: string | null | undefined;
  /** Null in the response to a bulk submission. */
  end_time?: string | null | undefined;
  /** Meaning: not shown. */
  links?: unknown;
  [field: string]: unknown;
}
