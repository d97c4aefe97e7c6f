/** What the sandbox allows and how fast it is; can be changed while it runs. */

/** The job fails, or ends short of these rows, or the request is refused with 422. */
export const FAIL_ROWS_WITH = ['failed', 'short', '422'] as const;
export type FailRowsWith = (typeof FAIL_ROWS_WITH)[number];

/** An identifier, or a metadata key at the top level, and its value as text. */
export type FailRow = readonly [key: string, value: string];

export interface Limits {
  /** Added before each answer, milliseconds. Default 0. */
  latencyMs: number;
  /** Speed of jobs: one of n rows takes n / this, at least 300 ms (contract §8). Default 2,000. */
  rowsPerSecond: number;
  /** A second bulk request is answered 409 while a job of its region, of either kind, has not ended. */
  oneJobAtATime: boolean;
  /** Items of a bulk request; null: any number. */
  maxItems: number | null;
  /** Bytes of a body. */
  maxBytes: number;
  /** Requests a second over all operations; null: any number. */
  rateLimit: number | null;
  /** Share of jobs that fail, 0 to 1. */
  failJobs: number;
  /** What holds an item with one of these identifiers or metadata values fails, each as text. */
  failRows: readonly FailRow[];
  /** How it fails. Default `failed`: its job does. */
  failRowsWith: FailRowsWith;
}

export const DEFAULT_LIMITS: Readonly<Limits> = {
  latencyMs: 0,
  rowsPerSecond: 2_000,
  oneJobAtATime: false,
  maxItems: null,
  // A body becomes one string: beyond this, Node's own limits would answer instead of the sandbox.
  maxBytes: 256 * 1024 * 1024,
  rateLimit: null,
  failJobs: 0,
  failRows: [],
  failRowsWith: 'failed',
};

/** Requests counted in the running second. */
export interface RateWindow {
  second: number;
  requests: number;
}

/** Counts a request at `now` (milliseconds). `retryAfter`, in seconds, is null when it may continue. */
export function countRequest(
  window: RateWindow,
  now: number,
  limit: number | null,
): { window: RateWindow; retryAfter: number | null } {
  const second = Math.floor(now / 1_000);
  const requests = window.second === second ? window.requests + 1 : 1;
  return { window: { second, requests }, retryAfter: limit !== null && requests > limit ? 1 : null };
}
