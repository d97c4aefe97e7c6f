/**
 * The wire, as `service.md` describes it, and nothing more: zod schemas of every reply. Its words are in `names.ts`.
 * All objects keep fields that the spec does not name; `status` accepts any string, since the spec
 * shows no transitions and a service may add a state. What the spec calls "not shown" is optional here.
 */
import * as z from 'zod';

/**
 * Job record (spec: Job). Only `job_id` and `status` are needed to follow a job, so only they are
 * required of a reply; a number that arrives as `null` counts as absent.
 */
export const jobSchema = z.looseObject({
  job_id: z.string().min(1),
  type: z.string().nullish(),
  status: z.string().min(1),
  filename: z.string().nullish(),
  file_size: z.number().nullish(),
  total_rows: z.number().nullish(),
  /** Only in the job status response. */
  completed_rows: z.number().nullish(),
  /** Only in the job status response. Unit: not shown. */
  elapsed_time: z.number().nullish(),
  start_time: z.string().nullish(),
  end_time: z.string().nullish(),
  /** Optional like the rest: a bare `z.unknown()` refuses an object without the key. */
  links: z.unknown().optional(),
});
export type Job = z.infer<typeof jobSchema>;

/** Error body (spec: Errors). Every field optional: other operations' bodies are not shown. */
export const errorBodySchema = z.looseObject({
  errors: z.array(
    z.looseObject({
      details: z.string().nullish(),
      error: z.string().nullish(),
      error_code: z.string().nullish(),
      message: z.string().nullish(),
    }),
  ),
});

/** A record of a lookup list. Its fields depend on the list; none is dropped. */
export type LookupRecord = Record<string, unknown>;

export const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A lookup reply: an array of records. Which fields a record has is shown, not required. Checked in place: copying 10,000 records would cost more than reading them. */
export const lookupSchema = z.custom<LookupRecord[]>(
  (value) => Array.isArray(value) && value.every(isRecord),
);
