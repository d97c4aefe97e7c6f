/** The mapping file (contract §3 "Columns"): what the flags say, kept in version control. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import * as z from 'zod';
import { ConfigError, UsageError } from '../../errors.js';
import type { Kind } from '../../model.js';
import { nearest } from '../../nearest.js';
import { type MappingRules, WORDS } from '../../options.js';
import { cellType } from '../conversion/type.js';

const text = z.string();
const name = text.min(1, 'must not be empty');
const columnType = text;

const mappingSchema = z.strictObject({
  $schema: text.describe('Address of this schema, for editors.').optional(),
  kind: z.enum(WORDS.kind).describe('What the rows are.').optional(),
  id: name.describe("The identifier's column.").optional(),
  company_id: name.describe("The column of a user's company.").optional(),
  map: z
    .record(text, name)
    .describe('Column to metadata key. A column that is not named keeps its name.')
    .optional(),
  include: z.array(name).describe('Only these columns become metadata.').optional(),
  exclude: z.array(name).describe('Columns that are left out.').optional(),
  set: z
    .record(text, text)
    .describe('Key and value for every item. A value is typed as a CSV cell is.')
    .optional(),
  type: z
    .record(z.string(), columnType)
    .describe(
      'Column to type, such as integer, money, or date:MM/dd/yyyy. auto: decided over the whole column.',
    )
    .optional(),
  types: z.enum(WORDS.types).describe('strings: columns without a type of their own are text.').optional(),
  empty: z.enum(WORDS.empty).describe('What an empty cell becomes. Default omit.').optional(),
});

export type MappingFile = z.infer<typeof mappingSchema>;

/** JSON Schema of the file: `schemas/mapping.schema.json`. */
export function mappingJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(mappingSchema);
  return { $schema, title: 'Mapping file of an import', ...schema };
}

export interface Mapping {
  kind?: Kind;
  id?: string;
  companyId?: string;
  rules: Partial<MappingRules>;
}

/**
 * Reads a mapping file.
 * @throws ConfigError when it is missing, not JSON, or says something that no flag can say
 */
export async function readMapping(path: string, cwd: string): Promise<Mapping> {
  const file = checked(path, await jsonOf(path, cwd));
  const { map, set, type, types, include, exclude, empty } = file;
  const rules = {
    ...(map && { map: pairs(path, 'map', map, name) }),
    ...(set && { set: pairs(path, 'set', set, text) }),
    ...(type && { types: typePairs(path, type) }),
    ...(types && { infer: types === 'auto' }),
    ...(include && { include }),
    ...(exclude && { exclude }),
    ...(empty && { empty }),
  };
  return {
    ...(file.kind && { kind: file.kind }),
    ...(file.id !== undefined && { id: file.id }),
    ...(file.company_id !== undefined && { companyId: file.company_id }),
    rules,
  };
}

function typePairs(path: string, types: object): MappingRules['types'] {
  return pairs(path, 'type', types, text).map(([column, type]) => {
    try {
      return [column, cellType(type, `type.${column}`)];
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new ConfigError(`${path}: ${error.message}`, { hint: error.hint, cause: error });
    }
  });
}

/** The members of an object, one called `__proto__` included: zod leaves that out and does not look at it. */
function pairs<T>(path: string, key: string, members: object, schema: z.ZodType<T>): [string, T][] {
  return Object.entries(members).map(([member, value]) => {
    const result = schema.safeParse(value);
    if (result.success) return [member, result.data];
    throw new ConfigError(`${path}: ${key}.${member}: ${result.error.issues[0]?.message}`);
  });
}

async function jsonOf(path: string, cwd: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, path), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(
      `${path}: the mapping file cannot be read: ${code === 'ENOENT' ? 'no such file' : code}`,
      { cause: error },
    );
  }
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new ConfigError(`${path}: the mapping file is not JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function checked(path: string, value: unknown): MappingFile {
  const result = mappingSchema.safeParse(value);
  if (result.success) return value as MappingFile;
  const [issue] = result.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    const key = issue.keys[0]!;
    const like = nearest(key, Object.keys(mappingSchema.shape));
    throw new ConfigError(`${path}: the mapping file has an unknown key "${key}"`, {
      hint: like ? `did you mean "${like}"?` : `its keys are ${Object.keys(mappingSchema.shape).join(', ')}`,
    });
  }
  throw new ConfigError(`${path}: ${issue?.path.join('.') || 'the mapping file'}: ${issue?.message}`);
}
