/** The bodies of the service (spec: Resources and their fields): requests are read by them, and OpenAPI shows them. */
import * as z from 'zod';
import { JOB_STATES } from '../engine/service/names.js';

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** What is said of a value of another type; of unknown keys, it is said elsewhere. */
const unless = (message: string) => ({
  error: ({ code }: { code: string }) => (code === 'unrecognized_keys' ? undefined : message),
});

const text = (name: string) =>
  z.string({ error: ({ input }) => `${name} ${input === undefined ? 'is missing' : 'must be a string'}` });
const metadata = z.custom<Record<string, unknown>>(isObject, 'metadata must be an object').meta({
  type: 'object',
  description: 'Free-form: any property names. Values seen are strings, integers, and decimals.',
});

/** One item, by kind. */
const ITEMS = {
  companies: z.strictObject(
    { company_id: text('company_id').min(1, 'company_id is empty'), metadata: metadata.optional() },
    unless('an item must be an object'),
  ),
  users: z.strictObject(
    {
      user_id: text('user_id').min(1, 'user_id is empty'),
      company_id: text('company_id').optional(),
      metadata: metadata.optional(),
    },
    unless('an item must be an object'),
  ),
};
const bulk = <K extends keyof typeof ITEMS>(kind: K) =>
  z.strictObject(
    { [kind]: z.array(ITEMS[kind], `${kind} must be an array`).min(1, `${kind} is empty`) },
    unless('must be an object'),
  );

export const BODIES = {
  companies: { bulk: bulk('companies'), single: ITEMS.companies },
  users: { bulk: bulk('users'), single: ITEMS.users },
};

/** The job record of the job status operation (spec: Job). */
export const jobRecord = z.looseObject({
  job_id: z.string().meta({ format: 'uri' }),
  type: z.string().describe('Kind of job. Values: not shown.'),
  status: z.string().meta({ description: 'Transitions: not shown.', examples: [...JOB_STATES] }),
  filename: z.string(),
  file_size: z.int().describe('Unit: not shown.'),
  total_rows: z.int(),
  completed_rows: z.int(),
  elapsed_time: z.number().describe('Unit: not shown.'),
  start_time: z.string().describe('Format: not shown.'),
  end_time: z.string().nullable().describe('Format: not shown.'),
  links: z.string().describe('Meaning: not shown.'),
});
/** That of bulk operations, without progress. */
export const acceptedJob = jobRecord.omit({ completed_rows: true, elapsed_time: true });

/** A record of each lookup list. */
export const RECORDS = {
  user_properties: z.looseObject({
    id: z.int(),
    type: z.string().meta({ examples: ['user_property'] }),
    key: z.string(),
    display_name: z.string(),
    data_type: z.string().describe('Allowed values: not shown.'),
    is_auto_property: z.boolean(),
  }),
  embeds: z.looseObject({ id: z.int(), title: z.string(), type: z.enum(['banner', 'card']) }),
  checklists: z.looseObject({ display_name: z.string(), key: z.string(), data_type: z.string() }),
};

/** Only the identify-company operation documents its error body (spec: Errors). */
export const errors = z.looseObject({
  errors: z.array(
    z.looseObject({ details: z.string(), error: z.string(), error_code: z.string(), message: z.string() }),
  ),
});
