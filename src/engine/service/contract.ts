/**
 * zod schemas of all replies, as the specification describes them. Names and paths are in `names.ts`. All
 * objects keep fields that the specification does not name. `status` accepts any string, since a service may
 * add a state. What the specification calls "not shown" is optional.
 */
import * as z from 'zod';

/**
 * A field that is only shown: one of a wrong type stays as it came, since an import does not depend on it. Check its
 * type before you use it.
 */
const shownText = z
  .string()
  .nullish()
  .catch(({ input }) => input as undefined);
const shownNumber = z
  .number()
  .nullish()
  .catch(({ input }) => input as undefined);

/**
 * Job record (spec: Job). Only `job_id` and `status` are required, because they are enough to follow a job. A
 * field that is `null` counts as absent. The numbers of rows must be numbers: they say which rows were completed.
 */
export const jobSchema = z.looseObject({
  job_id: z.string().min(1),
  type: shownText,
  status: z.string().min(1),
  filename: shownText,
  file_size: shownNumber,
  total_rows: z.number().nullish(),
  /** Only in the job status response. */
  completed_rows: z.number().nullish(),
  /** Only in the job status response. Unit: not shown. */
  elapsed_time: shownNumber,
  start_time: shownText,
  end_time: shownText,
  /** `z.unknown()` alone would require the key. */
  links: z.unknown().optional(),
});
export type Job = z.infer<typeof jobSchema>;

/**
 * Error body (spec: Errors). All fields are optional, because the bodies of other operations are not shown.
 */
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

/** A record of a lookup list. Its fields depend on the list, and all of them are kept. */
export type LookupRecord = Record<string, unknown>;

export const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A lookup reply: an array of records, with no required fields. Checked without copying: to copy 10,000
 * records would take longer than to parse them.
 */
export const lookupSchema = z.custom<LookupRecord[]>(
  (value) => Array.isArray(value) && value.every(isRecord),
);
