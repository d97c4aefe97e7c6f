/**
 * The records of the service, as the specification describes them. Names and paths are in `names.ts`. Fields that the
 * specification does not name are kept. `status` accepts any string, since a service may add a state. What the
 * specification calls "not shown" is optional.
 */
import * as z from 'zod';

/**
 * A field that is only shown: one of a wrong type stays as it came, since an import does not depend on it. Check its
 * type before you use it.
 */
const shown = <T>(type: z.ZodType<T>) => type.nullish().catch(({ input }) => input as undefined);
const shownText = shown(z.string());
const shownNumber = shown(z.number());

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

/** A record of a lookup list. Its fields depend on the list, and all of them are kept. */
export type LookupRecord = Record<string, unknown>;
