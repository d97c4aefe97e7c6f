/** Converts the sandbox's data to the form of its API. */
import type { LedgerEntry } from './ledger.js';
import { dataType } from './lookups.js';
import { type Chapter, plain } from './profile.js';
import type { ProfileRow } from './profile-index.js';
import { eachMember, space } from './raw-json.js';
import type { JobView } from './timeline.js';
import type { Profile } from './types.js';

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
  const parts: string[] = [];
  let length = 0;
  eachMember(row.metadata, space(row.metadata, 0), (key, start, end) => {
    if (length > LONGEST_PREVIEW) return;
    const value = cut(plain(row.metadata.slice(start, end)), LONGEST_PREVIEW_VALUE);
    parts.push(`${cut(key, LONGEST_PREVIEW_VALUE)}: ${value}`);
    length += key.length + value.length;
  });
  return {
    id: row.id,
    company_id: row.companyId,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
    upserts: row.upserts,
    preview: cut(parts.join(' · '), LONGEST_PREVIEW),
  };
}

/** @param chapters oldest first */
export function profileDetail(
  { kind, region, id, companyId, json }: Profile,
  chapters: readonly (Chapter & { jobId: string | null })[],
) {
  const fields: ({ key: string } & ReturnType<typeof shown>)[] = [];
  eachMember(json, 0, (name, from) => {
    if (name !== 'metadata') return;
    eachMember(json, from, (key, start, end) => {
      fields.push({ key, ...shown(json.slice(start, end), LONGEST_VALUE) });
    });
  });
  const story = chapters
    .slice(-LONGEST_STORY)
    .reverse()
    .map((chapter) => ({
      at: iso(chapter.at),
      job_id: chapter.jobId,
      company_id: chapter.company,
      changes: chapter.changes.slice(0, MOST_CHANGES).map(({ key, before, after }) => ({
        key,
        before: before === null ? null : shown(before, LONGEST_CHANGE),
        after: after === null ? null : shown(after, LONGEST_CHANGE),
      })),
      more_changes: Math.max(0, chapter.changes.length - MOST_CHANGES),
      unchanged: chapter.unchanged,
    }));
  return { kind, region, id, company_id: companyId, fields, upserts: chapters.length, story };
}

export function jobLine({ region, record, phases }: JobView) {
  return {
    ...record,
    region,
    phases: phases.map(({ status, from, until }) => ({
      status,
      from: iso(from),
      until: until === null ? null : iso(until),
    })),
  };
}

export function requestLine({ accepted, ...entry }: LedgerEntry) {
  if (accepted === null) return { ...entry, accepted };
  const { ids: _, ...rest } = accepted;
  return { ...entry, path: cut(entry.path, LONGEST_VALUE), accepted: rest };
}
