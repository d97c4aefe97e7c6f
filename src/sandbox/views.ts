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

/** Maximum number of characters of a value in a profile, of one in a change, and of a profile's preview. */
const LONGEST_VALUE = 2_000;
const LONGEST_CHANGE = 300;
const LONGEST_PREVIEW = 160;
/** Maximum number of upserts in a story. */
const LONGEST_STORY = 100;

const iso = (ms: number): string => new Date(ms).toISOString();
const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);

/** A value for display, with its type as in the lookup lists. A long one is cut; `characters` is its full length. */
function shown(json: string, most: number) {
  const text = plain(json);
  return { type: dataType(JSON.parse(json)) ?? 'null', text: cut(text, most), characters: text.length };
}

export function profileLine({ id, companyId, createdAt, updatedAt, upserts, metadata }: ProfileRow) {
  const preview = [...members(metadata)].map(([key, value]) => `${key}: ${plain(value)}`).join(' · ');
  return {
    ...{ id, company_id: companyId, created_at: iso(createdAt), updated_at: iso(updatedAt), upserts },
    preview: cut(preview, LONGEST_PREVIEW),
  };
}

export function profileDetail({ profile, values, story }: NonNullable<ReturnType<World['history']>>) {
  const { kind, region, id, companyId } = profile;
  const fields = [...values].map(([key, value]) => ({ key, ...shown(value, LONGEST_VALUE) }));
  const changed = (value: string | null) => (value === null ? null : shown(value, LONGEST_CHANGE));
  const newest = story
    .slice(-LONGEST_STORY)
    .reverse()
    .map(({ at, jobId, changes, unchanged }) => ({
      ...{ at: iso(at), job_id: jobId, unchanged },
      changes: changes.map((one) => ({ ...one, before: changed(one.before), after: changed(one.after) })),
    }));
  return { kind, region, id, company_id: companyId, fields, upserts: story.length, story: newest };
}

export const jobLine = ({ region, record, phases }: JobView) => ({ ...record, region, phases });

export function requestLine({ path, accepted, ...entry }: LedgerEntry) {
  const withoutIds = accepted && (({ ids: _, ...rest }) => rest)(accepted);
  return { ...entry, path: cut(path, LONGEST_VALUE), accepted: withoutIds };
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
