/** Types and constants that all parts of the program share. */
import type { FileRange, MaybeSentTwice, Place, RunJob } from './model/place.js';
import type { PlanChanges, PropertyCheck } from './model/plan-changes.js';
import type { Problem } from './problems.js';

export type { FileRange, MaybeSentTwice, Place, RunJob } from './model/place.js';

/** All kinds, in the order in which they are sent. */
export const KINDS = ['companies', 'users'] as const;
/** What is imported. Also the key of a bulk body: `{"companies": […]}`, `{"users": […]}` (spec: Endpoints 1 and 3). */
export type Kind = (typeof KINDS)[number];

/** The different kinds of these inputs. */
export const kindsOf = (inputs: readonly { kind: Kind }[]): Kind[] => [
  ...new Set(inputs.map(({ kind }) => kind)),
];

/** The field of the identifier for each kind (spec: Company, User). */
export const ID_FIELD = { companies: 'company_id', users: 'user_id' } as const satisfies Record<Kind, string>;

/** The word for one of a kind. */
export const SINGULAR = { companies: 'company', users: 'user' } as const satisfies Record<Kind, string>;

/** The text around the items in the body of a bulk request (spec: Endpoints 1 and 3). ASCII. */
export const ENVELOPE = {
  companies: { open: '{"companies":[', close: ']}' },
  users: { open: '{"users":[', close: ']}' },
} as const satisfies Record<Kind, { open: string; close: string }>;

/** Bytes of a body without its items and the commas between them. */
export const envelopeBytes = (kind: Kind): number => ENVELOPE[kind].open.length + ENVELOPE[kind].close.length;

export const FORMATS = ['csv', 'tsv', 'json', 'ndjson', 'xlsx', 'parquet'] as const;
/** Format of an input. `ndjson` is JSON Lines. */
export type Format = (typeof FORMATS)[number];

export const COLUMN_TYPES = ['string', 'integer', 'number', 'boolean'] as const;
/** Type of a column, as its values are sent. */
export type ColumnType = (typeof COLUMN_TYPES)[number];

/** How to convert the text of a column, such as `money` or `date:MM/dd/yyyy`. */
export type Conversion =
  | 'lower'
  | `${'number' | 'boolean'}:${string}`
  | `${'money' | 'percent' | 'date' | 'datetime'}${'' | `:${string}`}`
  | `datetime@${string}`;
/** Placeholder in a suggested type for a time zone that only the user knows. */
export const SOME_ZONE = '<zone>';
/** How the cells of a column are read. */
export type CellType = ColumnType | Conversion;

export const EMPTY_CELLS = ['omit', 'null', 'string'] as const;
/** What an empty cell becomes: no key (`omit`), `null` (which removes the stored value), or `""` (`string`). */
export type EmptyCell = (typeof EMPTY_CELLS)[number];

/** What to do with a CSV row with fewer cells than the header: reject it, or read missing cells as empty. */
export const SHORT_ROWS = ['reject', 'pad'] as const;
export type ShortRows = (typeof SHORT_ROWS)[number];

/** How the name of a column becomes the key of its values. */
export const KEY_STYLES = ['as-is', 'snake_case', 'camelCase'] as const;
export type KeyStyle = (typeof KEY_STYLES)[number];

/** A rejected row. */
export interface Rejection {
  /** Path of the input, as it was given. */
  file: string;
  /** Line on which the row begins, from 1. In a JSON array, the number of the item; in a workbook or Parquet, of the row. */
  line: number;
  reason: string;
  /** If a column is at fault. Except for `characters`, it is equal for all rows with the same cause. */
  cause?: Cause | undefined;
}

/** What is wrong with a value, without the value. */
export interface Cause {
  /** Column, or field of a JSON item. */
  column: string;
  /**
   * `type`: a JSON value of another type. `characters`: the type does not allow some of the characters.
   * `form`: the characters are allowed, but not in this order. `range`: no such day or time. `zone`: a time
   * that does not exist in the zone. `digits`: a number that a double cannot represent.
   */
  code: 'type' | 'characters' | 'form' | 'range' | 'zone' | 'digits';
  /** How the column is read. */
  type: CellType;
  /** The characters of this value that the type does not allow. */
  characters?: string[];
}

/** The rejected rows of a file that have the same cause. */
export interface RejectionCause {
  file: string;
  /** The column that is at fault, or null for the row as a whole. */
  column: string | null;
  /** What is wrong, such as `contains "$" or ","` or `is empty`. Does not quote cells. */
  reason: string;
  /** Number of rows. */
  rows: number;
  /** Line of the first of them. */
  first_line: number;
  /** What may help, or null if that is not known. */
  hint: string | null;
  /** The first of them, such as `line 2` or `item 2`. */
  at: string;
  /** The cell of the first row, in quotes, or null. The JSON document of the command does not have it. */
  example: string | null;
  problem?: Problem;
}

/** A rejected row with its original content, for the rejects file. */
export interface RejectedRow extends Rejection {
  /** CSV: the original cells, including surplus ones. JSON: the original item. */
  original: { cells: string[] } | { item: unknown };
}

/** Row counts of one input, from the plan. */
export interface FileRows {
  read: number;
  /** Left out by `where` and `limit`. */
  filtered: number;
  /** Invalid. */
  rejected: number;
}

/** What the plan says about one column of a CSV or one field of a JSON input. */
export interface ColumnPlan {
  /** Header as written (trimmed), or the JSON field. */
  column: string;
  /** Key of its values in metadata, `company_id`, `user_id`, or null if it is left out. */
  key: string | null;
  /** Type of its values; `mixed` and `object` for JSON; null if it has none. */
  type: ColumnType | 'mixed' | 'object' | null;
  /** How its text is converted, such as `money` or `date:MM/dd/yyyy`. */
  conversion?: Conversion | undefined;
  /** Types that all values of this text fit. If there are several, each gives the values another meaning. */
  suggested?: string[] | undefined;
  /** Why it has this type, such as `line 17: "007"` or `all 503 values are integers`. */
  reason: string;
  /** Number of rows with an empty cell, or without the field. */
  empty: number;
}

/** What the plan says about one input. */
export interface FilePlan {
  path: string;
  kind: Kind;
  format: Format;
  encoding: string;
  /** Of a CSV; null for other formats. */
  delimiter: string | null;
  /** Of a CSV; null for other formats. */
  dialect: DialectPlan | null;
  rows: FileRows;
  columns: ColumnPlan[];
  /** The first item as it would be sent, or null if there is none. */
  sample: unknown;
}

/** How a CSV is written. */
export interface DialectPlan {
  delimiter: string;
  /** Null if quotes are text. */
  quote: string | null;
  /** Null if a quote inside quotes is doubled. */
  escape: string | null;
  comment: string | null;
  skip_lines: number;
  lenient_quotes: boolean;
}

/** What an import would do. */
export interface Plan {
  /** The inputs: companies first, and within a kind in the order in which they were given. */
  files: FilePlan[];
  /** Number of rows with an identifier that appears earlier in the inputs of the same kind. */
  duplicates: number;
  /**
   * Number of bulk requests. For a plan it is exact; for an import, it is an estimate if the byte limit or
   * `changedOnly` decides.
   */
  requests: number;
  /** UTF-8 bytes of all request bodies. */
  bytes: number;
  /** Estimated time that the jobs of the rows to send take, in seconds; null without earlier jobs. */
  estimated_seconds: number | null;
  changes?: PlanChanges;
  properties?: PropertyCheck;
  /** Digest of the saved plan. */
  digest?: string;
}

/** How long a saved plan can be applied: older data could otherwise return at any time. */
export const MAX_PLAN_AGE_MS = 30 * 24 * 60 * 60 * 1_000;

/** Outcomes of all rows. Always `read = filtered + rejected + merged + unchanged + submitted + unknown + unsent`. */
export interface RowCounts {
  read: number;
  /** Left out by `where` and `limit`. */
  filtered: number;
  /** Invalid, or refused by the service. */
  rejected: number;
  /** Merged with another row of the same identifier in the same request. */
  merged: number;
  /** Left out by `changedOnly`. */
  unchanged: number;
  /** Sent in a request that the service acknowledged. */
  submitted: number;
  /** Rows among the submitted ones that jobs have completed. */
  completed: number;
  /** Sent in a request that may have arrived, and not sent again. Present only if there are any. */
  unknown?: number;
  /** Not sent. Present only if there are any. */
  unsent?: number;
}

/** How an import ended. */
export type RunStatus =
  /** Every row was sent, merged, or unchanged, and every job completed all of its rows. */
  | 'completed'
  /** With `wait: false`: everything was accepted, and no job was followed. */
  | 'submitted'
  /** Only planned: nothing was sent. */
  | 'planned'
  /** More invalid rows than `invalid` allows: nothing was sent. */
  | 'rejected'
  /** With `changedOnly`: more rows are new or changed than `maxChanged` allows; nothing was sent. */
  | 'held'
  /** Some rows were rejected, a job completed fewer rows than it was sent, an answer named no job, or `not_sent` names rows. */
  | 'partial'
  /** A job failed. */
  | 'failed'
  /** An error ended it. It can be continued if `resume` names the run. */
  | 'stopped'
  /** `waitTimeoutMs` passed; the jobs continue. */
  | 'timed_out'
  /** Stopped by a signal: Ctrl-C, or the `signal` of the request. */
  | 'interrupted';

/** Valid rows that an earlier run did not send, because others were invalid. */
export interface NotSent {
  run: string;
  /** Its inputs that no later run has sent. */
  files: string[];
  /** Number of rows. */
  rows: number;
}

/** How an import went: the same document as the JSON output of the command. */
export interface Summary {
  /** Id of the run; null if none was recorded. */
  run: string | null;
  /** How it ended. */
  status: RunStatus;
  /** Kinds of the inputs, in the order in which they are sent. */
  kinds: Kind[];
  /** Name of the account, if it has one. */
  account: string | null;
  /** Name of the region. */
  region: string;
  /** Host of imports and jobs. */
  base_url: string;
  /** The outcomes of the rows of all inputs. */
  rows: RowCounts;
  /** Number of bulk requests of the whole run. If one was split, its halves count. */
  requests: number;
  /** Number of retries of all requests. */
  retries: number;
  /** The inputs, companies first: row counts, and the rejects file if there is one. */
  files: {
    path: string;
    kind: Kind;
    rows: FileRows;
    rejects_file: string | null;
  }[];
  /** The first 20 rejected rows. */
  rejected: Rejection[];
  /** All rejected rows by cause, most rows first. Beyond 200 causes, the last entry counts all others. */
  causes: RejectionCause[];
  /** The jobs of the run, including those of earlier attempts. */
  jobs: RunJob[];
  /** Requests that were sent again because their outcome was unknown, such as after a lost answer or a 503. */
  maybe_sent_twice: MaybeSentTwice[];
  /** For rejects files whose run sent nothing, which no later run has made up for. Present only if there are any. */
  not_sent?: NotSent[];
  /** Problems that did not stop the import. */
  warnings: string[];
  /** Id of the run, if it can be continued; otherwise null. In the JSON of the command, a command line. */
  resume: string | null;
  /** The plan, if the status is `planned` or `held`. */
  plan?: Plan;
  /** Duration in seconds. */
  elapsed_seconds: number;
}

export const rangesIn = (place: Place): FileRange[] => ('first_line' in place ? [place] : place.ranges);
