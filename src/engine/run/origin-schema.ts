/** How the rows of a rejects file were read, as the state and the file beside it have it. Loaded when one is read, because zod loads slowly. */
import * as z from 'zod';
import { EMPTY_CELLS, KEY_STYLES, KINDS } from '../model.js';
import { ORIGIN_MEMBER } from '../read/index.js';

const text = z.string();
const texts = z.array(text).readonly();
const pairs = z.array(z.tuple([text, text]).readonly()).readonly();
const rules = z.strictObject({
  map: pairs,
  include: texts,
  exclude: texts,
  set: pairs.describe('A keyed digest in place of each value.'),
  types: pairs.describe('Of all columns.'),
  infer: z.boolean(),
  empty: z.enum(EMPTY_CELLS),
  keys: z.enum(KEY_STYLES).optional(),
  nulls: texts.optional(),
  trim: z.boolean().optional(),
  allowIds: texts.optional(),
});

const reading = z.strictObject({
  path: text.describe('As the user wrote it.'),
  columns: texts.describe('Of a CSV, without those that an earlier rejects file added.'),
  kind: z.enum(KINDS),
  id: text,
  companyId: text.nullable(),
  rules,
  maxCellBytes: z.int().min(1),
  excelText: z.boolean().optional(),
});

/** What stands in the file beside a rejects file. */
export const originSchema = z.strictObject({
  [ORIGIN_MEMBER]: z.literal(1),
  run: text,
  input: z.int().min(0),
  owner: text,
  digest: text,
  key: text.regex(/^[0-9a-f]{64}$/),
  reading,
  unsent: z
    .strictObject({
      rows: z.int(),
      inputs: z.array(z.strictObject({ path: text, digest: text, valid: z.int(), filtered: z.int() })),
    })
    .nullable(),
  unedited: z.base64(),
});
