/**
 * The options of an import. Their names, units, bounds, and defaults are only here (those of columns in
 * `mapping-rules.ts`); the option table of the command line refers to them.
 */

import { UsageError } from './errors.js';
import { EMPTY_CELLS, FORMATS, KEY_STYLES, KINDS, type Kind, SHORT_ROWS } from './model.js';
import type { Bound } from './options/bounds.js';
import type { FileFacts } from './options/file-facts.js';
import type { Condition, KindMapping, MappingRules, Stated } from './options/mapping-rules.js';
import { nearest } from './util/nearest.js';
import { wholeNumber } from './util/numbers.js';

/** A number option: its unit, bounds, and default. Without `most`, there is no upper bound. */
export interface NumberOption {
  unit: 'count' | 'bytes' | 'ms';
  least: number;
  most?: number;
  default: number | null;
}

const MIB = 1024 ** 2;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** The options of an import that are whole numbers, by their name in the library. */
export const IMPORT_NUMBERS = {
  chunkSize: { unit: 'count', least: 1, default: 5_000 },
  chunkBytes: { unit: 'bytes', least: 1, default: 4 * MIB },
  concurrency: { unit: 'count', least: 1, default: 1 },
  maxCellBytes: { unit: 'bytes', least: 1, default: MIB },
  retries: { unit: 'count', least: 0, default: 5 },
  retryDelayMs: { unit: 'ms', least: 0, default: SECOND },
  maxRetryAfterMs: { unit: 'ms', least: 0, default: 5 * MINUTE },
  busyTimeoutMs: { unit: 'ms', least: 0, default: 30 * MINUTE },
  waitTimeoutMs: { unit: 'ms', least: 0, default: null },
  waitForLockMs: { unit: 'ms', least: 0, default: null },
  intervalMs: { unit: 'ms', least: 1, default: null },
  refreshAfterMs: { unit: 'ms', least: 1, default: null },
  isolateJobs: { unit: 'count', least: 1, default: 128 },
  canary: { unit: 'count', least: 1, default: null },
} as const satisfies Record<string, NumberOption>;

/** All options that are whole numbers. */
export const NUMBERS = {
  ...IMPORT_NUMBERS,
  timeoutMs: { unit: 'ms', least: 1, default: 2 * MINUTE },
  threads: { unit: 'count', least: 0, default: 2 },
} as const satisfies Record<string, NumberOption>;

/** Options with a fixed set of words as values. */
export const WORDS = {
  kind: KINDS,
  format: FORMATS,
  empty: EMPTY_CELLS,
  shortRows: SHORT_ROWS,
  is: ['=', '!='],
  keys: KEY_STYLES,
  onFailure: ['stop', 'continue', 'isolate'],
} as const;

/** What happens at a request that was refused, and at a job that failed. */
export type OnFailure = (typeof WORDS.onFailure)[number];

type NumberName = keyof typeof NUMBERS;
type NumberValue<K extends NumberName> = number | (typeof NUMBERS)[K]['default'];

/**
 * Checks a number that a program gave. Without one, returns the default of the option. Unchecked, a wait of
 * NaN or a negative number of threads would never end.
 * @param called name of the option for the caller, if it is another one
 * @throws UsageError
 */
export function numberOption<K extends NumberName>(
  name: K,
  value: number | null | undefined,
  called: string = name,
): NumberValue<K> {
  const option: NumberOption = NUMBERS[name];
  const given = value ?? option.default;
  return given === null ? (given as NumberValue<K>) : wholeNumber(given, called, option);
}

type ImportNumbers = { -readonly [K in keyof typeof IMPORT_NUMBERS]: NumberValue<K> };

/** Checks all numbers of an import, and adds defaults. @throws UsageError */
export function importNumbers(
  given: { [K in keyof ImportNumbers]?: number | null | undefined },
): ImportNumbers {
  const names = Object.keys(IMPORT_NUMBERS) as (keyof ImportNumbers)[];
  return Object.fromEntries(
    names.map((name) => [name, numberOption(name, given[name])]),
  ) as unknown as ImportNumbers;
}

/** Checks a word of an option. @throws UsageError that suggests a similar word */
export function wordOption<T extends string>(name: string, value: string, words: readonly T[]): T {
  const found = words.find((word) => word === value);
  if (found !== undefined) return found;
  const like = nearest(value, words);
  throw new UsageError(`${name}: "${value}" is not one of ${words.join(', ')}`, {
    hint: like ? `did you mean ${like}?` : undefined,
  });
}

/** How to read the inputs, and how to map their columns. A run stores these for its resume. */
export interface ReadOptions extends FileFacts {
  /** The inputs as the user named them; `-` is stdin. */
  paths: string[];
  /** What the rows are. Default: users if there is a `user_id`, otherwise companies if there is a `company_id`. */
  kind?: Kind | undefined;
  /**
   * Column or field of the identifier, if all inputs have the same kind. Default: `company_id` or `user_id`
   * (spec: Company, User), ignoring case, spaces, `_` and `-`.
   */
  id?: string | undefined;
  /** Column or field of the identifier of users, in inputs that have it. Default `user_id`. */
  userId?: string | undefined;
  /**
   * Column or field of the company, for companies and users, in inputs that have it. Default `company_id`.
   */
  companyId?: string | undefined;
  /** Longest cell, in bytes of UTF-8. Default 1 MiB. */
  maxCellBytes: number;
  /** Rules for columns. */
  rules: MappingRules;
  /**
   * Reads only the rows that meet all conditions; the others count as `filtered`. A condition compares the
   * cell as it is in the file. In JSON, it compares a string without its quotes, any other value as it is
   * written, and a field that is missing or null as the empty text. It applies to every input that has the
   * column. Default: all rows.
   */
  where?: readonly Condition[] | undefined;
  /** Reads at most this many rows of each kind, 1 or more, that meet the conditions. Default: all. */
  limit?: number | undefined;
  /** Rules for the inputs of one kind, which replace `rules`. */
  byKind?: { [K in Kind]?: KindMapping | undefined } | undefined;
  /**
   * The rules that the user has set, apart from defaults. For a rejects file, its run provides the others.
   */
  stated?: Stated | undefined;
}

/**
 * How many invalid rows an import may have to send the others: none, any number, or a limit. With more,
 * nothing is sent.
 */
export type InvalidBound = 'none' | 'any' | Bound;

/** How to divide rows into requests, send them, and follow their jobs. */
export interface SendOptions {
  /** The most items in one request, 1 or more. Default 5,000. */
  chunkSize: number;
  /**
   * The most bytes (UTF-8) in the body of one request. A row that needs more for itself is rejected. Default
   * 4 MiB.
   */
  chunkBytes: number;
  /** How many jobs may be unfinished at a time; with `wait: false`, how many requests may be in flight. Default 1. */
  concurrency: number;
  /** Follows jobs to their end. Default true. */
  wait: boolean;
  /** Milliseconds for the whole import. Then it stops; jobs that were submitted continue. Default: null, no limit. */
  waitTimeoutMs: number | null;
  /** Milliseconds to wait for another import of this account and kind to end, before it is a `LockedError`. Default: null, none. */
  waitForLockMs: number | null;
  /** Milliseconds between two polls of a job, 1 or more. Default: null, a tenth of its age, from 200 to 10,000. */
  intervalMs: number | null;
  /** How often to retry a bulk request after a temporary failure. Default 5. */
  retries: number;
  /**
   * Milliseconds: the longest delay before the first retry, which doubles up to a minute, and the first pause after a
   * 409, which doubles up to 10 seconds. Default 1,000.
   */
  retryDelayMs: number;
  /** Milliseconds: a longer `Retry-After` ends the import, which can be continued. Default 300,000. */
  maxRetryAfterMs: number;
  /** Milliseconds to wait for a service that answers 409 before the import ends. Default 1,800,000. */
  busyTimeoutMs: number;
  /** How many invalid rows the import may have to send the others. Default `none`. */
  invalid: InvalidBound;
  /**
   * Path of the rejects file, for one input. Default: null, a file in the working directory named after the
   * input.
   */
  rejects: string | null;
  /**
   * File for the outcome of each row: NDJSON if the name ends in `.ndjson` or `.jsonl`, otherwise CSV. It is
   * replaced at the end of each attempt. Default: null, none.
   */
  outcomes: string | null;
  /**
   * Does not send rows that, by the records in the state, have not changed since the service completed them.
   * Default false.
   */
  changedOnly: boolean;
  /**
   * Milliseconds, 1 or more. With `changedOnly`: also sends rows that were completed longer ago than this. Default: null,
   * no limit.
   */
  refreshAfterMs: number | null;
  /**
   * With `changedOnly`: if more rows than this are new or changed, sends nothing and ends with status `held`. Default: null,
   * any number.
   */
  maxChanged: Bound | null;
  /**
   * Stores a short keyed hash of each cell that it sends, so that later plans with `changedOnly` can count
   * changed rows by key. Default false.
   */
  trackKeys: boolean;
  /**
   * `stop` ends the import at a request that the service refuses (400, 415, 422). `continue` rejects its rows and
   * continues. `isolate` sends the rows of a request refused with 400 or 422, or of a failed job, again in smaller
   * and smaller requests, until the rows at fault are found, and rejects only those; without `wait`, it is `stop`.
   * Default `stop`.
   */
  onFailure: OnFailure;
  /** With `onFailure: 'isolate'`: the most further requests for each failed one. Default 128. */
  isolateJobs: number;
  /**
   * Sends a first request with at most this many items, and nothing else before its job has completed. If it
   * does not complete, the import ends with CanaryError and can be continued. Default: null, none.
   */
  canary: number | null;
}

export interface ImportOptions extends ReadOptions, SendOptions {
  /** Plans only, and sends nothing. */
  dryRun: boolean;
  /**
   * Compares the keys of users with the user properties of the service (spec: Endpoint 5) in the plan.
   * Default false.
   */
  checkProperties: boolean;
  /** Clears the fingerprints of the kinds, and sends everything. Default false. */
  full: boolean;
  /** Continues the unfinished run of the same content, if there is one. Default false. */
  resume: boolean;
  /** For a finished run that continues: sends the rows of its failed requests again. Default false. */
  failed: boolean;
  /** The saved plan of the run. Its requests were recorded when the run began. */
  plan?: { run: string; digest: string; created_at: string } | undefined;
}

/** The defaults of the options of an import that are not numbers. Without a default, an option is absent. */
export const DEFAULTS = {
  wait: true,
  invalid: 'none',
  rejects: null,
  outcomes: null,
  changedOnly: false,
  maxChanged: null,
  trackKeys: false,
  onFailure: 'stop',
  checkProperties: false,
  full: false,
  resume: false,
} as const satisfies Partial<ImportOptions>;

type Defaulted = Pick<ImportOptions, keyof typeof DEFAULTS>;

/** Adds defaults. */
export const withDefaults = (given: { [K in keyof Defaulted]?: Defaulted[K] | undefined }): Defaulted => {
  const names = Object.keys(DEFAULTS) as (keyof Defaulted)[];
  return Object.fromEntries(
    names.map((name) => [name, given[name] ?? DEFAULTS[name]]),
  ) as unknown as Defaulted;
};
