/** The story of a profile: what each upsert changed. Computed from the same pieces as the profile itself. */
import type { Piece } from './profile.js';
import { members } from './raw-json.js';

/** One upsert from the log. */
export interface Upsert extends Piece {
  /** The number of its submission. */
  n: number;
  /** Whether it came with a job. A single company's upsert is not a job. */
  bulk: boolean;
  /** When it took effect, in milliseconds since 1970. */
  at: number;
}

/** What an upsert changed in one key, as JSON text. Null means that the key was absent. */
export interface Change {
  key: string;
  before: string | null;
  after: string | null;
}

export interface Chapter {
  n: number;
  bulk: boolean;
  at: number;
  /** Keys that got another value. */
  changes: Change[];
  /** The number of keys that were sent with the value that they had. */
  unchanged: number;
  /** Set if it gave the profile another company, or its first one. */
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
