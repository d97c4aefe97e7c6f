/**
 * What an import is told, validated and in units: bytes, milliseconds, rows. Names, units, bounds and defaults of the
 * options stand here once; the command line's table refers to them.
 */
import { UsageError } from './errors.js';
import {
  type CellType,
  EMPTY_CELLS,
  type EmptyCell,
  FORMATS,
  type Format,
  KEY_STYLES,
  type KeyStyle,
  KINDS,
  type Kind,
  SHORT_ROWS,
  type ShortRows,
} from './model.js';
import { nearest } from './nearest.js';
import { wholeNumber } from './numbers.js';

/** A number: its unit, its bounds, and what holds where nothing is said. `most` is no bound where it is left out. */
export interface NumberOption {
  unit: 'count' | 'bytes' | 'ms';
  least: number;
  most?: number;
  default: number | null;
}

const MIB = 1024 ** 2;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Options of an import that are whole numbers, by their name in the library. */
const IMPORT_NUMBERS = {
  chunkSize: { unit: 'count', least: 1, default: 5_000 },
  chunkBytes: { unit: 'bytes', least: 1, default: 4 * MIB },
  concurrency: { unit: 'count', least: 1, default: 1 },
  maxCellBytes: { unit: 'bytes', least: 1, default: MIB },
  retries: { unit: 'count', least: 0, default: 5 },
  retryDelayMs: { unit: 'ms', least: 0, default: SECOND },
  maxRetryAfterMs: { unit: 'ms', least: 0, default: 5 * MINUTE },
  busyTimeoutMs: { unit: 'ms', least: 0, default: 30 * MINUTE },
  waitTimeoutMs: { unit: 'ms', least: 0, default: null },
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
  historyKeepMs: { unit: 'ms', least: 1, default: 90 * 24 * 60 * MINUTE },
} as const satisfies Record<string, NumberOption>;

/** Options that are one of a few words. */
export const WORDS = {
  kind: KINDS,
  format: FORMATS,
  empty: EMPTY_CELLS,
  shortRows: SHORT_ROWS,
  types: ['auto', 'strings'],
  is: ['=', '!='],
  keys: KEY_STYLES,
} as const;

type NumberName = keyof typeof NUMBERS;
type NumberValue<K extends NumberName> = number | (typeof NUMBERS)[K]['default'];

/**
 * A number as a program gave it, or the option's default.
 * @param called what the program knows it as, where that is another name
 * @throws UsageError naming it: further in, a wait of NaN or a negative number of threads would never end
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

/** All numbers of an import, each as it was given or its default. @throws UsageError */
export function importNumbers(
  given: { [K in keyof ImportNumbers]?: number | null | undefined },
): ImportNumbers {
  const names = Object.keys(IMPORT_NUMBERS) as (keyof ImportNumbers)[];
  return Object.fromEntries(
    names.map((name) => [name, numberOption(name, given[name])]),
  ) as unknown as ImportNumbers;
}

/** One of the words of an option. @throws UsageError naming the nearest */
export function wordOption<T extends string>(name: string, value: string, words: readonly T[]): T {
  const found = words.find((word) => word === value);
  if (found !== undefined) return found;
  const like = nearest(value, words);
  throw new UsageError(`${name}: "${value}" is not one of ${words.join(', ')}`, {
    hint: like ? `did you mean ${like}?` : undefined,
  });
}

/** What the user said about columns. Pairs, not objects: a column may be called `__proto__`. */
export interface MappingRules {
  /** Send a column under another key. */
  map: readonly (readonly [column: string, key: string])[];
  /** Only these columns become metadata; empty means all. */
  include: readonly string[];
  /** Columns that are left out. */
  exclude: readonly string[];
  /** The same metadata in every item, typed as a CSV cell is. */
  set: readonly (readonly [key: string, value: string])[];
  /** Types of single columns. */
  types: readonly (readonly [column: string, type: CellType | 'auto'])[];
  /** False: every column without a type of its own is text. */
  infer: boolean;
  /** What an empty cell of a CSV becomes. Default `omit`. */
  empty: EmptyCell;
  // What came later is absent unless it was asked for: rules are compared with those of earlier runs.
  /** How a column that `map` does not name becomes a key. Default `as-is`. */
  keys?: KeyStyle | undefined;
  /** Texts that count as an empty cell. Default none. */
  nulls?: readonly string[] | undefined;
  /** Take white space away from the ends of cells. Default false. */
  trim?: boolean | undefined;
  /** Null markers that are identifiers all the same. Default none. */
  allowIds?: readonly string[] | undefined;
}

/** What holds for the inputs of one kind, in full: it takes the place of the rules for all. */
export interface KindMapping {
  /** Column of the identifier, where an input has it. */
  id?: string | undefined;
  /** Users: column of their company, where an input has it. */
  companyId?: string | undefined;
  rules: MappingRules;
}

/** No mapping: every column under its own name, types inferred, empty cells left out. */
export const NO_RULES: MappingRules = {
  map: [],
  include: [],
  exclude: [],
  set: [],
  types: [],
  infer: true,
  empty: 'omit',
};

/** Keeps the rows whose cell or field equals a text, or differs from it. */
export type Condition = readonly [column: string, is: '=' | '!=', value: string];

/** How a CSV is written. `\t`, `\x01` and `\u00a6` stand for characters in each text. */
export interface DialectOptions {
  /** One character or several, or `tab`. Default: what an Excel `sep=` line says, else found among `,` `;` tab `|`. */
  delimiter?: string | undefined;
  /** One character, or `none` where quotes are text. Default `"`. */
  quote?: string | undefined;
  /** What makes text of a quote inside quotes. Default: the quote itself, doubled. */
  escape?: string | undefined;
  /** Lines that begin with it are left out. Default: none. */
  comment?: string | undefined;
  /** Lines above the header. Default 0. */
  skipLines?: number | undefined;
  /** Text after a closing quote is text; without it the row is rejected. Default false. */
  lenientQuotes?: boolean | undefined;
  /** Default `reject`. */
  shortRows?: ShortRows | undefined;
  /** Reads cells like `="0012"` as their text. Default false. */
  excelText?: boolean | undefined;
  /** Numbers the second of two columns with one name, `name_2`; without it that is an error. Default false. */
  renameDuplicates?: boolean | undefined;
}

const DIALECT_OPTIONS = [
  'delimiter',
  'quote',
  'escape',
  'comment',
  'skipLines',
  'lenientQuotes',
  'shortRows',
  'excelText',
  'renameDuplicates',
] as const satisfies readonly (keyof DialectOptions)[];

/** Those that were given; an option that is off is as good as none. */
export const dialectOptions = (options: DialectOptions): DialectOptions =>
  Object.fromEntries(
    DIALECT_OPTIONS.flatMap((name) => {
      const value = options[name];
      return value === undefined || value === false || value === 0 ? [] : [[name, value]];
    }),
  );

/** How the inputs are read and what becomes of their columns. A run keeps these for its resume. */
export interface ReadOptions extends DialectOptions {
  /** As the user wrote them; `-` is stdin. */
  paths: string[];
  /** Default: users where there is a `user_id`, else companies where there is a `company_id` (contract §3). */
  kind?: Kind | undefined;
  /**
   * Column or field of the identifier, for inputs of one kind. Default: the kind's own, `company_id` or `user_id`
   * (spec: Company, User), without regard to case, spaces, `_` and `-`.
   */
  id?: string | undefined;
  /** Column or field of the user's identifier, in the inputs that have it. Default `user_id`. */
  userId?: string | undefined;
  /** Column or field of the company, in the inputs that have it: a company's own, and a user's. Default `company_id`. */
  companyId?: string | undefined;
  /** Default: by the first bytes, else by the name. */
  format?: Format | undefined;
  /** Sheet of a workbook: its name, or its number from 1. Default: the first that is not hidden. */
  sheet?: string | undefined;
  /** Label such as `windows-1252` (WHATWG). Default: UTF-8, or UTF-16 where a BOM says so. */
  encoding?: string | undefined;
  /**
   * JSON: members that lead to the array of items, such as `data.items`. Default: the array itself, or the member
   * `companies` or `users`.
   */
  jsonPath?: string | undefined;
  /** JSON: round numbers that a double does not hold exactly. Default: their rows are rejected. */
  roundNumbers?: boolean | undefined;
  /** Bytes of UTF-8 that a cell may have. Default 1 MiB. */
  maxCellBytes: number;
  rules: MappingRules;
  /**
   * Conditions that all must hold of a row, on its cells as they are in the file; in JSON a text without its quotes, any
   * other value as it is written, and a field that is missing or null as the empty text. A condition applies to every
   * input that has the column. Rows left out count as `filtered`. Default: all rows are taken.
   */
  where?: readonly Condition[] | undefined;
  /** Rows of each kind that are taken, of those for which the conditions hold, at least 1. Default: all. */
  limit?: number | undefined;
  /** Where inputs of a kind have rules of their own. */
  byKind?: { [K in Kind]?: KindMapping | undefined } | undefined;
  /** What of the rules was asked for, apart from defaults; a rejects file's own run says the rest. */
  stated?: Stated | undefined;
}

/** No values that are set for every item are among it. */
export interface Stated {
  rules: { readonly [K in Kind]: { readonly [R in keyof MappingRules]?: MappingRules[R] | undefined } };
  /** Whether it says what the columns are, so that a rejects file of an unknown run can be read. */
  columns: boolean;
}

/** So many rows, or a share of the rows read (`percent`, 0 to 100). */
export type Bound = { rows: number } | { percent: number };

/**
 * How many invalid rows an import puts up with: none, a bound, or any number. With more nothing is sent (contract §3
 * "Plan, then send", 2).
 */
export type InvalidBound = 'none' | 'any' | Bound;

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
  /** File for what became of each row: CSV, or NDJSON by its extension. It is replaced at the end of each session. Null, the default: none. */
  outcomes: string | null;
  /** Leave out rows that the service completed as they are, as far as the state knows (contract §3). Default false. */
  changedOnly: boolean;
  /**
   * With `changedOnly`, milliseconds, at least 1: what was completed longer ago counts as unknown, so that every row
   * goes out at least that often (contract §4). Null, the default: no matter how long ago.
   */
  refreshAfterMs: number | null;
  /**
   * With `changedOnly`: with more new and changed rows than this nothing is sent, and the import ends as `held` (contract §3
   * "Review before sending"). Null, the default: any number.
   */
  maxChanged: Bound | null;
  /**
   * Remember a short keyed hash of each cell that is sent, so that a later plan with `changedOnly` says in how many changed
   * rows each key differs. Default false.
   */
  trackKeys: boolean;
  /** Where the service refuses a request (400, 415, 422): reject its rows and go on. Default false: the run ends. */
  continueOnError: boolean;
  /**
   * Send the rows of a failed job, or of a request refused with 400 or 422, again in smaller and smaller requests, until
   * the rows at fault are found: these are rejected (contract §4 "The rows at fault"). Default false.
   */
  isolate: boolean;
  /** With `isolate`: further requests for each one that failed. Default 128. */
  isolateJobs: number;
  /**
   * Items of the first request, of which the job must complete before anything else is sent; where it does not, the run
   * ends and can be continued (contract §3 "Plan, then send", 4). Null, the default: none.
   */
  canary: number | null;
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
  /** Of a finished run that goes on: send the rows of its failed requests again (contract §4). Default false. */
  failed: boolean;
  /** The saved plan that the run carries out: its requests were recorded when it began. */
  plan?: { run: string; digest: string } | undefined;
}
