/** The limits in the form that the control API and the page use. */
import * as z from 'zod';
import { FAIL_ROWS_WITH, type Limits } from './limits.js';
import type { Settings } from './page/wire.js';

export const settingsSchema = z
  .strictObject({
    latency_ms: z.number().min(0).max(86_400_000),
    rows_per_second: z.number().positive(),
    one_job_at_a_time: z.boolean(),
    max_items: z.int().positive().nullable(),
    max_bytes: z.int().positive(),
    rate_limit: z.number().positive().nullable(),
    fail_jobs: z.number().min(0).max(1),
    fail_rows: z.array(z.string().regex(/^[^=]+=/, 'must be key=value')),
    fail_rows_with: z.enum(FAIL_ROWS_WITH),
  })
  .partial();

export function settingsOf(limits: Readonly<Limits>): Settings {
  return {
    latency_ms: limits.latencyMs,
    rows_per_second: limits.rowsPerSecond,
    one_job_at_a_time: limits.oneJobAtATime,
    max_items: limits.maxItems,
    max_bytes: limits.maxBytes,
    rate_limit: limits.rateLimit,
    fail_jobs: limits.failJobs,
    fail_rows: limits.failRows.map(([key, value]) => `${key}=${value}`),
    fail_rows_with: limits.failRowsWith,
  };
}

export function limitsOf(change: z.infer<typeof settingsSchema>): Partial<Limits> {
  const all: { [K in keyof Limits]: Limits[K] | undefined } = {
    latencyMs: change.latency_ms,
    rowsPerSecond: change.rows_per_second,
    oneJobAtATime: change.one_job_at_a_time,
    maxItems: change.max_items,
    maxBytes: change.max_bytes,
    rateLimit: change.rate_limit,
    failJobs: change.fail_jobs,
    failRows: change.fail_rows?.map((rule) => {
      const at = rule.indexOf('=');
      return [rule.slice(0, at), rule.slice(at + 1)] as const;
    }),
    failRowsWith: change.fail_rows_with,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
