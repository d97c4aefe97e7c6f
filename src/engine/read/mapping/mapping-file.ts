/** The mapping file (contract §3 "Columns"): the same rules as the flags, to keep in version control. */
import { resolve } from 'node:path';
import * as z from 'zod';
import { ConfigError, ProfilesError, UsageError } from '../../errors.js';
import { KINDS } from '../../model.js';
import { FACTS } from '../../options/file-facts.js';
import { WORDS } from '../../options.js';
import { troubleOf } from '../../util/file-trouble.js';
import { nearest } from '../../util/nearest.js';
import { readSmallFile } from '../../util/read-small-file.js';
import { askedDialect } from '../csv/dialect.js';
import { itemPath } from '../json/shape.js';
import { encodingLabel } from '../text/encoding.js';
import {
  factKey,
  factsIn,
  type Mapping,
  openZones,
  typeRules,
  type WrittenFacts,
  type Zones,
} from './rules.js';

const text = z.string();
const name = text.min(1, 'must not be empty');

/** What a mapping can set for all inputs, or for those of one kind. */
const sectionShape = {
  id: text.describe("The identifier's column."),
  company_id: text.describe("The column of a user's company."),
  map: z.record(text, name).describe('Column to metadata key. A column that is not named keeps its name.'),
  include: z.array(name).describe('Only these columns become metadata.'),
  exclude: z.array(name).describe('Columns that are left out.'),
  set: z.record(text, text).describe('Key and value for every item. A value is typed as a CSV cell is.'),
  keys: z.enum(WORDS.keys).describe('How a column that is not in map becomes a key. Default as-is.'),
  type: z
    .record(text, text)
    .describe(
      'Column to type, such as integer, money, or date:MM/dd/yyyy. auto: decided over the whole column. *: string, for all columns that are not named.',
    ),
  zone: name.describe('Time zone of dates without an offset, for types that name none.'),
  empty: z.enum(WORDS.empty).describe('What an empty cell becomes. Default omit.'),
  null: z.array(name).describe('Texts that count as an empty cell, such as NULL or n/a.'),
  trim: z.boolean().describe('true: white space around cells is removed.'),
  allow_id: z.array(name).describe('Identifiers to accept that look like a missing value, such as NULL.'),
};

const section = z.strictObject(sectionShape).partial();

/** How all inputs are read: known before the kind of their rows is, so no section can say it. */
const factsShape = {
  format: z.enum(WORDS.format).describe('Format of the inputs.'),
  delimiter: name.describe('CSV: separator of cells, such as ; or tab.'),
  sheet: name.describe('Sheet of a workbook: its name, or its number from 1.'),
  encoding: name.describe('Encoding of the text, such as windows-1252.'),
  quote: name.describe('CSV: the quote character, or none.'),
  escape: name.describe('CSV: the character before a quote inside quotes.'),
  comment: name.describe('CSV: lines that begin with it are left out.'),
  skip_lines: z
    .int('must be a whole number')
    .min(0, 'must be 0 or more')
    .describe('CSV: lines to leave out above the header.'),
  lenient_quotes: z.boolean().describe('CSV: true: text after a closing quote is text.'),
  short_rows: z.enum(WORDS.shortRows).describe('CSV: what to do with rows that are too short.'),
  excel_text: z.boolean().describe('CSV: true: cells like ="0012" are read as their text.'),
  rename_duplicates: z.boolean().describe('CSV: true: columns with one name are numbered.'),
  json_path: name.describe('JSON: path to the array of items, such as data.items.'),
  round_numbers: z.boolean().describe('JSON: true: numbers that a double cannot hold exactly are rounded.'),
} satisfies Record<keyof WrittenFacts, z.ZodType>;

/** Published as `schemas/mapping.schema.json`. */
export const mappingSchema = z
  .strictObject({
    $schema: text.describe('Address of this schema, for editors.'),
    kind: z.enum(WORDS.kind).describe('What the rows are.'),
    ...sectionShape,
    user_id: text.describe(
      "The column of a user's identifier, where companies and users are imported together.",
    ),
    ...factsShape,
    companies: section.describe('Rules for companies only.'),
    users: section.describe('Rules for users only.'),
  })
  .partial();

export type MappingFile = z.infer<typeof mappingSchema>;
export type MappingSection = z.infer<typeof section>;

/** Whether this is a mapping, and not an item whose fields have the same names: it has a rule of several members. */
export const isMapping = (value: object): boolean =>
  Object.values(value).some((member) => typeof member === 'object') && mappingSchema.safeParse(value).success;

/**
 * Reads a mapping file: the mapping for all inputs, and one for each kind that has a section.
 * @throws ConfigError if the file is missing, not JSON, or has a member or value that is not allowed;
 * InterruptedError
 */
export async function readMapping(
  path: string,
  cwd: string,
  zones: Zones = {},
  stop?: AbortSignal,
): Promise<Mapping[]> {
  return mappingsIn(checked(path, await jsonOf(path, cwd, stop)), path, zones);
}

/** The mappings of a file's content. Each has the facts of the file. @param path for messages @throws ConfigError */
export function mappingsIn(content: MappingFile, path: string, zones: Zones = {}): Mapping[] {
  const facts = factsIn(content);
  named(path, () => {
    askedDialect(facts);
    if (facts.encoding !== undefined) encodingLabel(facts.encoding);
    if (facts.jsonPath !== undefined) itemPath(facts.jsonPath, 'json_path');
  });
  const columns = (zones.zone ?? zones.otherwise) === undefined ? openZones(content) : [];
  if (columns.length > 0) {
    throw new ConfigError(`${path}: name the time zone in place of <zone>: ${columns.join(', ')}`, {
      hint: 'write it there, such as Europe/Berlin or UTC',
      problem: { code: 'zone_open', path, columns },
    });
  }
  return rulesIn(content, path, zones).map((one) =>
    Object.keys(facts).length === 0 ? one : { ...one, facts },
  );
}

function rulesIn(
  { $schema, kind, companies, users, ...more }: MappingFile,
  path: string,
  zones: Zones,
): Mapping[] {
  const all: typeof more = Object.fromEntries(Object.entries(more).filter(([key]) => !(key in factsShape)));
  const below = { ...zones, otherwise: all.zone ?? zones.otherwise };
  const sections = KINDS.flatMap((kind): Mapping[] => {
    const found = { companies, users }[kind];
    return found ? [{ kind, ...mappingOf(found, path, `${kind}.`, below) }] : [];
  });
  if (sections.length > 0 && kind !== undefined) {
    throw new ConfigError(`${path}: kind: the file has a section for each kind`, {
      hint: 'leave "kind" out, or move what it holds into one section',
    });
  }
  const own = Object.keys(all).length > 0 || sections.length === 0;
  return [...(own ? [{ kind, ...mappingOf(all, path, '', zones) }] : []), ...sections];
}

/** @param where the section's name, for messages */
function mappingOf(
  from: MappingSection & { user_id?: string | undefined },
  path: string,
  where: string,
  zones: Zones,
): Mapping {
  const { id, user_id: userId, company_id: companyId, zone, ...rules } = from;
  const { include, exclude, empty, keys, trim, null: nulls, allow_id: allowIds } = rules;
  const types = pairs(path, `${where}type`, rules.type, text);
  const map = pairs(path, `${where}map`, rules.map, name);
  const set = pairs(path, `${where}set`, rules.set, text);
  const zoneOf = zones.zone ?? zone ?? zones.otherwise;
  const typed = named(path, () => typeRules(types, (column) => `${where}type.${column}`, zoneOf));
  const others = { include, exclude, empty, keys, nulls, trim, allowIds };
  return { id, userId, companyId, zone, rules: { ...others, map, set, ...typed } };
}

/** Runs a check of flags, which does not know the file. @throws ConfigError that names it */
function named<T>(path: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new ConfigError(`${path}: ${error.message}`, { hint: error.hint, cause: error });
  }
}

/** The members of an object, including `__proto__`, which zod would leave out unchecked. */
function pairs<T>(
  path: string,
  key: string,
  members: object | undefined,
  schema: z.ZodType<T>,
): [string, T][] | undefined {
  return (
    members &&
    Object.entries(members).map(([member, value]) => {
      const result = schema.safeParse(value);
      if (result.success) return [member, result.data];
      throw new ConfigError(`${path}: ${key}.${member}: ${result.error.issues[0]?.message}`);
    })
  );
}

async function jsonOf(path: string, cwd: string, stop: AbortSignal | undefined): Promise<unknown> {
  let text: string;
  try {
    text = (await readSmallFile(resolve(cwd, path), stop)).toString();
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    throw new ConfigError(`${path}: the mapping file cannot be read: ${troubleOf(error)}`, {
      hint: 'check the path',
      cause: error,
    });
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
    const [part] = issue.path;
    if (part !== undefined && FACTS.some((fact) => factKey(fact) === key)) {
      throw new ConfigError(`${path}: ${String(part)}.${key}: this holds for all inputs, not for one kind`, {
        hint: `move "${key}" to the top of the file`,
      });
    }
    const known = Object.keys(part === undefined ? mappingSchema.shape : section.shape);
    const like = nearest(key, known);
    const where =
      part === undefined ? 'the mapping file' : `the section "${String(part)}" of the mapping file`;
    throw new ConfigError(`${path}: ${where} has an unknown key "${key}"`, {
      hint: like ? `did you mean "${like}"?` : `its keys are ${known.join(', ')}`,
    });
  }
  throw new ConfigError(`${path}: ${issue?.path.join('.') || 'the mapping file'}: ${issue?.message}`);
}
