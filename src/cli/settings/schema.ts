/** The config file's schema (contract §2 "Keys"). `schemas/config.schema.json` is made from it. */
import * as z from 'zod';

/** Names of accounts and regions are parts of dotted keys, so a dot cannot stand in them; `__proto__` is ruled out too. */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const name = z
  .string()
  .regex(NAME, 'a name is letters, digits, "-" and "_", and begins with a letter or digit');

const DURATION = /^\d+(\.\d+)?(ms|s|m|h)$/;
const duration = z.string().regex(DURATION, 'a duration is written like 500ms, 30s, 5m or 2h');
const pause = duration.regex(/[1-9]/, 'must be more than nothing');
const count = z.int('must be a whole number').positive('must be at least 1');
/** Both cases are spelled out: JSON Schema has no flag for them. */
const SIZE = /^0*[1-9]\d*\s*[kKmMgG]?([iI]?[bB])?$/;
const SIZE_FORM = 'a size is written like 4194304 or 4MiB';
const PERCENTAGE = /^(100(\.0+)?|\d{1,2}(\.\d+)?)%$/;
const BOUND_FORM = 'must be a number of rows or a percentage, like 10 or 2%';
/** One printable ASCII character, but for the quote; or a tab, in one of three ways. */
const DELIMITER = /^([ !#-~\t]|tab|\\t)$/;

/** `import.*`: one key for each flag of `profiles import` that a person would want every time. */
export const importShape = {
  chunk_size: count.describe('Items of one request. Default 5000.'),
  chunk_bytes: z
    .union([count, z.string().regex(SIZE, SIZE_FORM)], { error: SIZE_FORM })
    .describe('Bytes of one request. Default 4 MiB.'),
  concurrency: count.describe('Jobs submitted and unfinished at a time. Default 1.'),
  retries: z
    .int('must be a whole number')
    .nonnegative('must be 0 or more')
    .describe('Attempts after the first. Default 5.'),
  retry_delay: duration.describe('First delay before an attempt is made again. Default 1s.'),
  max_retry_after: duration.describe('Longest Retry-After that is waited for. Default 5m.'),
  busy_timeout: duration.describe('How long to wait for a service that is busy (409). Default 30m.'),
  interval: pause.describe('Fixed interval between job polls.'),
  wait_timeout: duration.describe('Stop waiting for jobs after this time.'),
  skip_invalid: z
    .boolean('must be true or false')
    .describe('Send the valid rows although others are invalid.'),
  max_invalid: z
    .union([z.int().nonnegative(), z.string().regex(PERCENTAGE, BOUND_FORM)], { error: BOUND_FORM })
    .describe('Send the valid rows while no more than this many are invalid.'),
  changed_only: z
    .boolean('must be true or false')
    .describe('Skip rows that have not changed since they were last completed.'),
  refresh_after: pause.describe('With changed_only: send again what was completed longer ago than this.'),
  continue_on_error: z
    .boolean('must be true or false')
    .describe('Go on after a request that the service refused.'),
  check_properties: z
    .boolean('must be true or false')
    .describe("Compare users' keys with the service's user properties."),
  encoding: z.string().min(1, 'must not be empty').describe('Encoding of the input, such as windows-1252.'),
  delimiter: z
    .string()
    .regex(DELIMITER, 'must be one ASCII character, or tab')
    .describe('Delimiter of CSV input.'),
  empty: z.enum(['omit', 'null', 'string']).describe('What an empty cell becomes. Default omit.'),
  types: z.enum(['auto', 'strings']).describe('strings turns type inference off. Default auto.'),
  max_cell: z
    .union([count, z.string().regex(SIZE, SIZE_FORM)], { error: SIZE_FORM })
    .describe('Longest cell. Default 1 MiB.'),
} as const;

/** What a region has; `null` is not a value: a key is unset by leaving it out. */
export const regionShape = {
  base_url: z
    .string()
    .min(1, 'must not be empty')
    .describe('Host of bulk and job operations, such as https://…'),
  lookup_base_url: z.string().min(1, 'must not be empty').describe('Host of lookup lists.'),
} as const;

const partial = <S extends z.core.$ZodLooseShape>(shape: S) => z.strictObject(shape).partial();

/** Keys that stand at the top and, for one account, under `accounts.<name>`. */
export const leafShape = {
  token: z.string().min(1, 'must not be empty').describe('API key. Better set by: profiles config set token'),
  region: name.describe('default, eu, sandbox, or a name under regions. Default: default.'),
} as const;

const regions = z
  .record(
    name.regex(/^(?!sandbox$)/, 'the sandbox is embedded and has no hosts to set'),
    partial(regionShape),
  )
  .describe('Hosts of each region.');

const section = {
  ...leafShape,
  regions,
  import: partial(importShape).describe('Defaults for flags of profiles import.'),
};

export const accountShape = {
  account: name.describe('Account to use when neither --account nor PROFILES_ACCOUNT names one.'),
} as const;

export const fileSchema = partial({
  $schema: z.string().describe('For editors.'),
  ...section,
  ...accountShape,
  accounts: z
    .record(name, partial(section))
    .describe('Settings of named accounts; each key overrides the one at the top.'),
});
export type ConfigFile = z.infer<typeof fileSchema>;
export type ConfigSection = NonNullable<ConfigFile['accounts']>[string];

/** The schema as editors take it (JSON Schema 2020-12); `schemas/config.schema.json` is this, written out. */
export function configJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(fileSchema);
  return { $schema, title: 'Config file of profiles', ...schema };
}
