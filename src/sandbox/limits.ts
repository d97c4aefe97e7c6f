/** What the sandbox allows, how fast it is, and which rows fail. Can be changed while it runs. */
import type { Item } from './body.js';
import { ID_FIELD, type Kind } from './profile.js';

/**
 * What rows at fault do: the job fails, the job completes without them, or the request is refused with 422.
 */
export const FAIL_ROWS_WITH = ['failed', 'short', '422'] as const;
export type FailRowsWith = (typeof FAIL_ROWS_WITH)[number];

/** A rule for rows at fault: an identifier field or a top-level metadata key, and its value as text. */
export type FailRow = readonly [key: string, value: string];

/** How fast the sandbox is, and what it refuses. */
export interface Limits {
  /** Milliseconds before each answer. Default 0. */
  latencyMs: number;
  /** Rows that a job processes per second. A job takes at least 300 ms. Default 2,000. */
  rowsPerSecond: number;
  /**
   * Answers a bulk request with 409 while a job of its region, of either kind, is unfinished. Default false.
   */
  oneJobAtATime: boolean;
  /** Maximum number of items in a bulk request; more are refused with 413. Default: null, no limit. */
  maxItems: number | null;
  /** Maximum size of a body in bytes; more is refused with 413. Default 268,435,456. */
  maxBytes: number;
  /**
   * Maximum number of requests per second, over all operations; more are refused with 429. Default: null, no
   * limit.
   */
  rateLimit: number | null;
  /** Share of jobs that fail, from 0 to 1. Default 0. */
  failJobs: number;
  /**
   * Every job that contains an item with one of these identifiers or metadata values fails. Default: none.
   */
  failRows: readonly FailRow[];
  /**
   * How it fails: the job fails (`failed`, the default), it completes without these rows (`short`), or its
   * request is refused (`422`).
   */
  failRowsWith: FailRowsWith;
}

export const DEFAULT_LIMITS: Readonly<Limits> = {
  latencyMs: 0,
  rowsPerSecond: 2_000,
  oneJobAtATime: false,
  maxItems: null,
  // A body becomes one string: for larger ones, Node's own limits would apply before this one.
  maxBytes: 256 * 1024 * 1024,
  rateLimit: null,
  failJobs: 0,
  failRows: [],
  failRowsWith: 'failed',
};

/**
 * Counts requests.
 * @returns whether one at `now` (milliseconds) is more than the limit allows in a second
 */
export function createRate(limits: Readonly<Limits>): (now: number) => boolean {
  let [second, requests] = [0, 0];
  return (now) => {
    const current = Math.floor(now / 1_000);
    requests = current === second ? requests + 1 : 1;
    second = current;
    return limits.rateLimit !== null && requests > limits.rateLimit;
  };
}

/** The items with those at fault last, because a short job leaves out its last rows. */
export function atFaultLast(kind: Kind, items: Item[], rules: readonly FailRow[]) {
  const bad = new Set(rules.length === 0 ? [] : items.filter((item) => isAtFault(kind, item, rules)));
  const ordered = bad.size === 0 ? items : [...items.filter((item) => !bad.has(item)), ...bad];
  return { items: ordered, atFault: bad.size };
}

function isAtFault(kind: Kind, { id, companyId, metadata }: Item, rules: readonly FailRow[]): boolean {
  let parsed: Record<string, unknown> | undefined;
  return rules.some(([key, value]) => {
    if (key === ID_FIELD[kind]) return id === value;
    if (key === 'company_id') return companyId === value;
    parsed ??= JSON.parse(metadata ?? '{}') as Record<string, unknown>;
    if (!Object.hasOwn(parsed, key)) return false;
    const found = parsed[key];
    return (typeof found === 'string' ? found : JSON.stringify(found)) === value;
  });
}
