/** The sandbox's data, limits, and log in the form of its API. */
import * as z from 'zod';
import type { LedgerEntry } from './ledger.js';
import { FAIL_ROWS_WITH, type Limits } from './limits.js';
import { dataType } from './lookups.js';
import { plain } from './profile.js';
import type { ProfileRow } from './profile-index.js';
import { members } from './raw-json.js';
import type { JobView } from './timeline.js';
import type { World } from './world.js';

/** Maximum number of characters of a value in a profile, and in a change. */
const LONGEST_VALUE = 2_000;
const LONGEST_CHANGE = 300;
/** Maximum number of characters of a profile's preview, and of one key or value in it. */
const LONGEST_PREVIEW = 160;
const LONGEST_PREVIEW_VALUE = 60;
/** Maximum number of upserts in a story, and of changed keys in an upsert. */
const LONGEST_STORY = 100;
const MOST_CHANGES = 200;

const iso = (ms: number): string => new Date(ms).toISOString();

/** A value for display. A long one is cut; `characters` is its full length. */
function shown(json: string, most: number) {
  const text = plain(json);
  return { type: typeOf(json), text: cut(text, most), characters: text.length };
}

/** Cuts a text, but never within a surrogate pair. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(most - 1)) ? most - 1 : most;
  return `${text.slice(0, end)}…`;
}

/**
 * The type, named as in the lookup lists. The text may be long, so only its first character is used where
 * possible.
 */
function typeOf(json: string): string {
  const first = json.charAt(0);
  if (first === '"') return 'string';
  if (first === '[') return 'list';
  return first === '{' ? 'object' : (dataType(JSON.parse(json)) ?? 'null');
}

export function profileLine(row: ProfileRow) {
  const short = (text: string): string => cut(text, LONGEST_PREVIEW_VALUE);
  const parts = [...members(row.metadata)].map(([key, value]) => `${short(key)}: ${short(plain(value))}`);
  return {
    id: row.id,
    company_id: row.companyId,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
    upserts: row.upserts,
    preview: cut(parts.join(' · '), LONGEST_PREVIEW),
  };
}

export function profileDetail({ profile, values, story }: NonNullable<ReturnType<World['history']>>) {
  const { kind, region, id, companyId } = profile;
  const fields = [...values].map(([key, value]) => ({ key, ...shown(value, LONGEST_VALUE) }));
  const changed = (value: string | null) => (value === null ? null : shown(value, LONGEST_CHANGE));
  const newest = story
    .slice(-LONGEST_STORY)
    .reverse()
    .map(({ at, jobId, company, changes, unchanged }) => ({
      at: iso(at),
      job_id: jobId,
      company_id: company,
      changes: changes
        .slice(0, MOST_CHANGES)
        .map(({ key, before, after }) => ({ key, before: changed(before), after: changed(after) })),
      more_changes: Math.max(0, changes.length - MOST_CHANGES),
      unchanged,
    }));
  return { kind, region, id, company_id: companyId, fields, upserts: story.length, story: newest };
}

export const jobLine = ({ region, record, phases }: JobView) => ({ ...record, region, phases });

export function requestLine({ accepted, ...entry }: LedgerEntry) {
  if (accepted === null) return { ...entry, accepted };
  const { ids: _, ...rest } = accepted;
  return { ...entry, path: cut(entry.path, LONGEST_VALUE), accepted: rest };
}

/** Limits, as they are read and changed. */
export const settingsSchema = z
  .strictObject({
    latency_ms: z.number().min(0).max(86_400_000),
    rows_per_second: z.number().positive(),
    one_job_at_a_time: z.boolean(),
    max_items: z.int().positive().nullable(),
    max_bytes: z.int().positive(),
    rate_limit: z.number().positive().nullable(),
    fail_jobs: z.number().min(0).max(1),
    fail_rows: z.array(z.string().regex(/^[^=]+=/, 'must be key=value')),
    fail_rows_with: z.enum(FAIL_ROWS_WITH),
  })
  .partial();
type Settings = z.infer<typeof settingsSchema>;

/** The same names in the form of the API: `max_items` for `maxItems`. */
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name: string): string => name.replace(/_[a-z]/g, (pair) => pair.charAt(1).toUpperCase());
const renamed = (value: object, rename: (name: string) => string): object =>
  Object.fromEntries(Object.entries(value).map(([name, one]) => [rename(name), one]));

export function settingsOf({ failRows, ...limits }: Readonly<Limits>): Required<Settings> {
  const fail_rows = failRows.map((rule) => rule.join('='));
  return { ...(renamed(limits, snake) as Required<Settings>), fail_rows };
}

export function limitsOf(settings: Settings): Partial<Limits> {
  const limits: Partial<Limits> = renamed(settings, camel);
  const failRows = settings.fail_rows?.map((rule) => rule.split(/=(.*)/s) as [string, string, string]);
  return failRows ? { ...limits, failRows: failRows.map(([key, value]) => [key, value]) } : limits;
}
