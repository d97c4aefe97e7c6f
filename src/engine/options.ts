/** What an import is told, validated and in units: bytes, milliseconds, rows. */
import type { InputOptions } from './read/index.js';

/** How the inputs are read and what becomes of their columns. A run keeps these for its resume. */
export interface ReadOptions extends Omit<InputOptions, 'path' | 'location' | 'cwd'> {
  /** As the user wrote them; `-` is stdin. */
  paths: string[];
}

/**
 * How many invalid rows an import puts up with: none, so many, a share of the rows read (`percent`, 0 to 100), or any
 * number. With more nothing is sent (contract §3 "Plan, then send", 2).
 */
export type InvalidBound = 'none' | 'any' | { rows: number } | { percent: number };

/** How requests are cut, sent and followed (contract §3 "Plan, then send", §4). */
export interface SendOptions {
  /** Items a request, at least 1. Default 5,000. */
  chunkSize: number;
  /** UTF-8 bytes of a request's body. A row whose item alone has more is rejected. Default 4 MiB. */
  chunkBytes: number;
  /** Submitted and unfinished jobs; without waiting, requests in flight. Default 1. */
  concurrency: number;
  /** Follow jobs to their end. Default true. */
  wait: boolean;
  /** Milliseconds for the whole run, after which waiting ends and the jobs go on. Null, the default: none. */
  waitTimeoutMs: number | null;
  /** Milliseconds between two polls of a job, at least 1. Null, the default: a tenth of its age, 200 to 10,000. */
  intervalMs: number | null;
  /** Further attempts of a bulk request after passing failures (contract §4). Default 5. */
  retries: number;
  /**
   * Milliseconds: bound of the first backoff, which doubles up to a minute, and the first pause after a 409, which
   * doubles up to 10 s. Default 1,000.
   */
  retryDelayMs: number;
  /** Milliseconds: a longer `Retry-After` is not waited for, but ends the run, which can be continued. Default 5 min. */
  maxRetryAfterMs: number;
  /** Milliseconds that a request waits for a service which answers 409, before the run ends. Default 30 min. */
  busyTimeoutMs: number;
  /** Default `none`. */
  invalid: InvalidBound;
  /** Path of the rejects file, for one input. Null, the default: in the working directory, by the input's name. */
  rejects: string | null;
  /** Leave out rows that the service completed as they are, as far as the state knows (contract §3). Default false. */
  changedOnly: boolean;
  /**
   * With `changedOnly`, milliseconds, at least 1: what was completed longer ago counts as unknown, so that every row
   * goes out at least that often (contract §4). Null, the default: no matter how long ago.
   */
  refreshAfterMs: number | null;
  /** Where the service refuses a request (400, 415, 422): reject its rows and go on. Default false: the run ends. */
  continueOnError: boolean;
}

export interface ImportOptions extends ReadOptions, SendOptions {
  /** Plan only: nothing is sent. */
  dryRun: boolean;
  /** Hold users' keys against the service's user properties (spec: Endpoint 5), in the plan. Default false. */
  checkProperties: boolean;
  /** Forget first what of these kinds the service has completed, so that no row counts as unchanged. Default false. */
  full: boolean;
  /** Continue the unfinished run of the same content, if there is one (contract §4). Default false. */
  resume: boolean;
}

/** What holds where nothing is said, in the same units. */
export const DEFAULTS = {
  chunkSize: 5_000,
  chunkBytes: 4 * 1024 * 1024,
  concurrency: 1,
  retries: 5,
  retryDelayMs: 1_000,
  maxRetryAfterMs: 5 * 60_000,
  busyTimeoutMs: 30 * 60_000,
} as const;
