/** How a profile became what it is: for each upsert, what it changed. A fold over the same pieces as the profile itself. */
import type { Piece } from './profile.js';
import { members } from './raw-json.js';

/** One upsert, as it is in the log. */
export interface Upsert extends Piece {
  /** Number of the submission. */
  n: number;
  /** Whether a job brought it; a single company's upsert is none. */
  bulk: boolean;
  /** When it took effect, milliseconds since the epoch. */
  at: number;
}

/** What an upsert did to one key, as JSON text; null: the key was not there. */
export interface Change {
  key: string;
  before: string | null;
  after: string | null;
}

export interface Chapter {
  n: number;
  bulk: boolean;
  at: number;
  /** Keys whose value is another one now. */
  changes: Change[];
  /** Keys that were sent with the value that they had. */
  unchanged: number;
  /** Set when it moved the profile to another company. */
  company: { before: string | null; after: string } | null;
}

/** @param upserts oldest first */
export function storyOf(upserts: Iterable<Upsert>): Chapter[] {
  const values = new Map<string, string>();
  let companyId: string | null = null;
  const story: Chapter[] = [];
  for (const { n, bulk, at, metadata, companyId: named } of upserts) {
    const chapter: Chapter = { n, bulk, at, changes: [], unchanged: 0, company: null };
    if (named !== null && named !== companyId) {
      chapter.company = { before: companyId, after: named };
      companyId = named;
    }
    for (const [key, sent] of metadata === null ? [] : members(metadata)) {
      const before = values.get(key) ?? null;
      const after = sent === 'null' ? null : sent;
      if (before === after) chapter.unchanged++;
      else chapter.changes.push({ key, before, after });
      if (after === null) values.delete(key);
      else values.set(key, after);
    }
    story.push(chapter);
  }
  return story;
}
