/** The form of the file beside a rejects file (`origin-file.ts`). Loaded when one is read, because zod loads slowly. */
import * as z from 'zod';
import { EMPTY_CELLS, KEY_STYLES, KINDS } from '../model.js';
import { ORIGIN_MEMBER } from '../read/index.js';

const text = z.string();
const pairs = z.array(z.tuple([text, text]));
const rules = z.strictObject({
  map: pairs,
  include: z.array(text),
  exclude: z.array(text),
  set: pairs,
  types: pairs,
  infer: z.boolean(),
  empty: z.enum(EMPTY_CELLS),
  keys: z.enum(KEY_STYLES).optional(),
  nulls: z.array(text).optional(),
  trim: z.boolean().optional(),
  allowIds: z.array(text).optional(),
});

/** What stands in the file beside a rejects file. */
export const originSchema = z.strictObject({
  [ORIGIN_MEMBER]: z.literal(1),
  run: text,
  input: z.int().min(0),
  owner: text,
  digest: text,
  key: text.regex(/^[0-9a-f]{64}$/),
  reading: z.strictObject({
    path: text,
    columns: z.array(text),
    kind: z.enum(KINDS),
    id: text,
    companyId: text.nullable(),
    rules,
    set: pairs,
    maxCellBytes: z.int().min(1),
    maxColumns: z.int().min(1),
    maxDepth: z.int().min(1),
    excelText: z.boolean().optional(),
  }),
  unsent: z
    .strictObject({
      rows: z.int(),
      inputs: z.array(z.strictObject({ path: text, digest: text, valid: z.int(), filtered: z.int() })),
    })
    .nullable(),
  unedited: z.base64(),
});
