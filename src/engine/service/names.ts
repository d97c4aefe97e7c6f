/** Words of the wire (`service.md`) that need no schema: commands that only name them load no zod. */
import type { Job } from './contract.js';

/** The states a job is known to take (spec: States and transitions). */
export const JOB_STATES = [
  'queued',
  'validating',
  'processing',
  'pending_refresh',
  'completed',
  'failed',
] as const;

/** A job has ended in one of these two; any other status, an unknown one included, is unfinished. */
export const isFinal = (status: string): boolean => status === 'completed' || status === 'failed';

/** Whether a completed job worked off fewer rows than its request had, or than it says there were. */
export const isShort = (
  { status, completed_rows, total_rows }: Pick<Job, 'status' | 'completed_rows' | 'total_rows'>,
  rows: number,
): boolean =>
  status === 'completed' && completed_rows != null && completed_rows < Math.max(rows, total_rows ?? 0);

/** Lookup lists, by the last segment of their path (spec: Endpoints 5 to 7). */
export const LOOKUP_LISTS = ['user_properties', 'embeds', 'checklists'] as const;
/** A lookup list, by the last segment of its path (spec: Endpoints 5 to 7). */
export type LookupList = (typeof LOOKUP_LISTS)[number];

/** Request paths (spec: Endpoints), relative to `{base_url}` or, for lookups, `{lookup_base_url}`. */
export const PATHS = {
  bulkCompanies: '/v1/companies/bulk_identify',
  identifyCompany: '/v1/companies/identify',
  bulkUsers: '/v1/users/bulk_identify',
  jobs: '/v1/background_jobs/',
  lookups: '/api/v1/analytics/exports/lookups/',
} as const;
