/**
 * The lookup lists. Embeds and checklists are created in the service itself and not imported; a file can replace
 * them. User properties are the metadata keys that users were imported with.
 */
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { InputError } from '../engine/errors.js';
import { troubleOf } from '../engine/util/file-trouble.js';
import { RECORDS } from './schemas.js';

/**
 * The file `sandbox-lookups.json`: fields are those of the spec (Embed, Checklist lookup record); other
 * fields are kept.
 */
const lookupsSchema = z
  .strictObject({ embeds: z.array(RECORDS.embeds), checklists: z.array(RECORDS.checklists) })
  .partial();

/** An embed of the lookup lists (spec: Embed lookup record). */
export type Embed = { id: number; title: string; type: 'banner' | 'card' } & Record<string, unknown>;
/** A checklist of the lookup lists (spec: Checklist lookup record). */
export type Checklist = { display_name: string; key: string; data_type: string } & Record<string, unknown>;

/** Lookup lists that an import does not change. */
export interface Lookups {
  embeds: Embed[];
  checklists: Checklist[];
}

/** Name of the file in the data folder; read if it exists. */
export const LOOKUPS_FILE = 'sandbox-lookups.json';

/** Example lists, with enough records to try filters. */
export const DEFAULT_LOOKUPS: Lookups = {
  embeds: [
    { id: 1, title: 'Welcome to the new dashboard', type: 'banner' },
    { id: 2, title: 'Scheduled maintenance on Sunday', type: 'banner' },
    { id: 3, title: 'Your trial ends in 7 days', type: 'banner' },
    { id: 4, title: 'Invite your team', type: 'card' },
    { id: 5, title: 'Connect a data source', type: 'card' },
    { id: 6, title: 'What’s new in March', type: 'card' },
  ],
  checklists: [
    { display_name: 'Getting started', key: 'checklist_getting_started', data_type: 'checklist' },
    { display_name: 'Set up your team', key: 'checklist_team_setup', data_type: 'checklist' },
    { display_name: 'First report', key: 'checklist_first_report', data_type: 'checklist' },
  ],
};

/**
 * Reads a file of lookup lists. For a list that is not in the file, the example is used.
 * @throws InputError that names the file and the place in it
 */
export function readLookups(file: string): Lookups {
  const hint =
    'write {"embeds":[{"id":1,"title":"…","type":"banner"}],"checklists":[{"display_name":"…","key":"…","data_type":"…"}]}';
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const what = error instanceof SyntaxError ? 'not JSON' : 'the lookup lists cannot be read';
    throw new InputError(`${what}: ${troubleOf(error)}`, { file, hint, cause: error });
  }
  const read = lookupsSchema.safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new InputError(`${issue?.path.join('.') || 'the file'}: ${issue?.message}`, { file, hint });
  }
  return { ...DEFAULT_LOOKUPS, ...(read.data as Partial<Lookups>) };
}

/** The values of `data_type` in the sandbox. The spec shows none. */
export type DataType = 'string' | 'integer' | 'number' | 'boolean' | 'list' | 'object';

/** Properties that the service maintains itself, whatever is imported. */
const AUTOMATIC: Readonly<Record<string, string>> = {
  first_seen: 'datetime',
  last_seen: 'datetime',
  web_sessions: 'integer',
  browser_name: 'string',
  country_code: 'string',
};

/** The type of one value; undefined for `null`, which removes a key and says nothing about its type. */
export function dataType(value: unknown): DataType | undefined {
  if (value === null) return undefined;
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value as 'string' | 'boolean' | 'object';
}

/** The type of a key with values of both types: `number` for integers and numbers, otherwise `string`. */
export function widen(a: DataType | undefined, b: DataType): DataType {
  if (a === undefined || a === b) return b;
  const numeric = (type: DataType): boolean => type === 'integer' || type === 'number';
  return numeric(a) && numeric(b) ? 'number' : 'string';
}

/** The name for people: `Plan tier` for `plan_tier` and `planTier`. */
function displayName(key: string): string {
  const words = key
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_\-.]+/g, ' ')
    .trim();
  return words === '' ? key : words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

/**
 * The list: automatic properties, then keys in the order in which they were first imported, so that ids do
 * not change.
 * @param imports keys and types of each completed import of users, in order of completion
 */
export function userProperties(imports: Iterable<Readonly<Record<string, DataType>>>) {
  const types = new Map<string, string>(Object.entries(AUTOMATIC));
  for (const one of imports) {
    for (const [key, type] of Object.entries(one)) {
      if (!Object.hasOwn(AUTOMATIC, key)) types.set(key, widen(types.get(key) as DataType | undefined, type));
    }
  }
  return [...types].map(([key, data_type], index) => ({
    id: index + 1,
    type: 'user_property',
    key,
    display_name: displayName(key),
    data_type,
    is_auto_property: Object.hasOwn(AUTOMATIC, key),
  }));
}
