/** What an import is told, validated and in units: bytes, milliseconds, rows. */
import type { InputOptions } from '../input/index.js';

/** How the inputs are read and what becomes of their columns. A run keeps these for its resume. */
export interface ReadOptions extends Omit<InputOptions, 'path' | 'location' | 'cwd'> {
  /** As the user wrote them; `-` is stdin. */
  paths: string[];
}

/** How many invalid rows an import puts up with: none, a count, a share of the rows read, or any number. */
export type InvalidBound = 'none' | 'any' | { rows: number } | { percent: number };

/** How requests are cut, sent and followed. */
export interface SendOptions {
  /** Items a request. */
  chunkSize: number;
  /** UTF-8 bytes of a request's body. */
  chunkBytes: number;
  /** Submitted and unfinished jobs; without waiting, requests in flight. */
  concurrency: number;
  /** Follow jobs to their end. */
  wait: boolean;
  /** For the whole run; null: none. */
  waitTimeoutMs: number | null;
  /** Fixed interval between polls; null: a tenth of the job's age. */
  intervalMs: number | null;
  retries: number;
  retryDelayMs: number;
  maxRetryAfterMs: number;
  busyTimeoutMs: number;
  invalid: InvalidBound;
  /** Where rejects go, when there is one input; null: beside nothing, by the input's name. */
  rejects: string | null;
  changedOnly: boolean;
  continueOnError: boolean;
}

export interface ImportOptions extends ReadOptions, SendOptions {
  dryRun: boolean;
  checkProperties: boolean;
  /** Clear this kind's fingerprints first. */
  full: boolean;
  /** Continue the unfinished run of the same content, if there is one. */
  resume: boolean;
}

export const DEFAULTS = {
  chunkSize: 5_000,
  chunkBytes: 4 * 1024 * 1024,
  concurrency: 1,
  retries: 5,
  retryDelayMs: 1_000,
  maxRetryAfterMs: 5 * 60_000,
  busyTimeoutMs: 30 * 60_000,
} as const;
