/**
 * The schema of a saved plan, for reading one and for its JSON Schema. Loaded only when needed, because zod
 * loads slowly.
 */
import * as z from 'zod';
import { FORMATS, KINDS } from '../model.js';

const count = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits');
const text = z.string();

const range = {
  input: count.describe('Its place in inputs, from 0.'),
  first_row: count.describe('From 0; rejected and unchanged rows count.'),
  end_row: count.describe('The row after its last one.'),
  first_line: count.describe('Where its first row begins; 0 where no row of the range is sent.'),
  last_line: count.describe('Where its last row begins.'),
};

const requestSchema = z.strictObject({
  ...range,
  offset: count
    .describe('Byte of the file at which first_line begins, where the format allows to read from there.')
    .optional(),
  more: z
    .array(z.strictObject({ ...range, rows: count }))
    .describe('Ranges of further inputs that are in the same request.')
    .optional(),
  rows: count.describe('Items of the body. 0: nothing of the range is sent.'),
  merged: count.describe('Rows that are merged into others of the same identifier.'),
  unchanged: count.describe('Rows that the service has as they are.'),
  rejected: z
    .literal(true)
    .describe('The service rejected these rows before, as they are. They are not sent.')
    .optional(),
  bytes: count.describe('Of the body.'),
  digest: sha256.describe('Of the body.'),
});

const columnSchema = z.strictObject({
  column: text,
  key: text.nullable().describe('null: left out.'),
  type: text.nullable(),
  conversion: text.optional(),
  empty: count.describe('Rows without a value.'),
});

const inputSchema = z.strictObject({
  path: text.describe('As it was named.'),
  kind: z.enum(KINDS),
  format: z.enum(FORMATS),
  bytes: count.describe('Size of the file.'),
  digest: sha256.describe('Of the file.'),
  read: count.describe('Rows.'),
  filtered: count.describe('Rows that where and limit leave out.'),
  rejected: count,
  types: z.array(text).describe('What each column is read as, by position.'),
  columns: z.array(columnSchema),
});

export const planSchema = z.strictObject({
  $schema: text.optional(),
  version: z.literal(1).describe('Of this format.'),
  totals: z
    .strictObject({
      read: count,
      filtered: count,
      rejected: count,
      merged: count,
      unchanged: count,
      to_send: count,
      requests: count,
      bytes: count,
      duplicates: count.describe('Rows whose identifier appears earlier in the inputs of their kind.'),
    })
    .describe('Rows, requests, and bytes of all request bodies.'),
  changes: z
    .strictObject({
      new: count.describe('Rows whose identifier the state does not know.'),
      changed: count,
      refreshed: count.describe('Rows that are as they were, and are sent only because of refreshAfterMs.'),
      unchanged: count,
      rejected: count
        .describe('Rows that the service rejected before, as they are. They are not sent.')
        .optional(),
      keys: z
        .array(z.strictObject({ key: text, rows: count }))
        .describe('With trackKeys: in how many changed rows each key differs.')
        .optional(),
    })
    .describe('With changedOnly: how the rows compare with what the service has.')
    .optional(),
  account: text.nullable().describe('Configured name; null for an account without one.'),
  account_hash: sha256.describe('Of an account without a name: hash of token, host, and inputs.').optional(),
  region: text,
  base_url: text,
  state: z
    .record(text, text)
    .describe('With changedOnly: which state it was made with, and where that stood.')
    .optional(),
  item_format: count.describe('Version of the rules by which rows become items.'),
  options: z.record(text, z.json()).describe("The import's options, by their names in the library."),
  inputs: z.array(inputSchema).min(1),
  requests: z.array(requestSchema).describe('In the order in which they are sent.'),
  run: text.regex(/^\d{8}-\d{6}-[a-z0-9]{4}$/, 'is not a run').describe('The run that carries it out.'),
  created_at: z.iso.datetime(),
  made_after: z
    .strictObject({ state: text, number: count })
    .describe(
      'The state that the plan was made with, and the number that it gave to the plan. Of runs and requests of that state, those with a larger number are newer than the plan, whatever the clocks say.',
    )
    .optional(),
  digest: sha256.describe('SHA-256 of everything else but run, created_at, and made_after.'),
});

export type SavedPlan = Omit<z.infer<typeof planSchema>, '$schema'>;
export type SavedRequest = SavedPlan['requests'][number];
