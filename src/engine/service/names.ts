/** Names of the specification that need no schema, so that commands that only need these do not load zod. */
import type { Job } from './contract.js';

/** The states of a job (spec: States and transitions). */
export const JOB_STATES = [
  'queued',
  'validating',
  'processing',
  'pending_refresh',
  'completed',
  'failed',
] as const;

/**
 * Whether a job has ended. Any other status, including one that the specification does not name, is
 * unfinished.
 */
export const isFinal = (status: string): boolean => status === 'completed' || status === 'failed';

/**
 * Whether a completed job completed fewer rows than its request or its `total_rows`.
 * @param rows items of the request
 */
export const isShort = (
  { status, completed_rows, total_rows }: Pick<Job, 'status' | 'completed_rows' | 'total_rows'>,
  rows: number,
): boolean =>
  status === 'completed' && completed_rows != null && completed_rows < Math.max(rows, total_rows ?? 0);

/** The different texts among these members, joined by `: `; null if there are none. */
export function textsOf(value: Readonly<Record<string, unknown>>, keys: readonly string[]): string | null {
  const texts = keys.map((key) => value[key]).filter((text) => typeof text === 'string' && text !== '');
  return texts.length === 0 ? null : [...new Set(texts)].join(': ');
}

/** Why a job failed. The specification has no field for it (spec: Job), but a service may send one. */
export const failureReason = (job: Readonly<Record<string, unknown>>): string | null =>
  job.status === 'failed' ? textsOf(job, ['error_code', 'error', 'message', 'details', 'reason']) : null;

/** The names of all lookup lists (spec: Endpoints 5 to 7). */
export const LOOKUP_LISTS = ['user_properties', 'embeds', 'checklists'] as const;
/** A lookup list, by the last segment of its path (spec: Endpoints 5 to 7). */
export type LookupList = (typeof LOOKUP_LISTS)[number];

/** Paths of requests (spec: Endpoints), relative to `{base_url}`; for lookups, to `{lookup_base_url}`. */
export const PATHS = {
  bulkCompanies: '/v1/companies/bulk_identify',
  identifyCompany: '/v1/companies/identify',
  bulkUsers: '/v1/users/bulk_identify',
  jobs: '/v1/background_jobs/',
  lookups: '/api/v1/analytics/exports/lookups/',
} as const;

/** Whether a job will not change anymore: it has ended, or the service no longer knows it. */
export const hasEnded = ({ status }: { status: string }): boolean => isFinal(status) || status === 'unknown';
