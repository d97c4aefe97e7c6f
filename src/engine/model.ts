/** The nouns that every part of the program shares, and the words that they go by. Names are the spec's and the field's. */
import type { Problem, Warning } from './problems.js';
import type { Job } from './service/contract.js';

/** What is imported. Also the key of a bulk body: `{"companies": […]}`, `{"users": […]}` (spec: Endpoints 1 and 3). */
/** In the order in which they are sent. */
export const KINDS = ['companies', 'users'] as const;
export type Kind = (typeof KINDS)[number];

/** The identifier's field for each kind (spec: Company, User). */
export const ID_FIELD = { companies: 'company_id', users: 'user_id' } as const satisfies Record<Kind, string>;

/** What is around the items in the body of a bulk request (spec: Endpoints 1 and 3). ASCII. */
export const ENVELOPE = {
  companies: { open: '{"companies":[', close: ']}' },
  users: { open: '{"users":[', close: ']}' },
} as const satisfies Record<Kind, { open: string; close: string }>;

/** Bytes of a request's body beyond its items and the commas between them. */
export const envelopeBytes = (kind: Kind): number => ENVELOPE[kind].open.length + ENVELOPE[kind].close.length;

export const FORMATS = ['csv', 'tsv', 'json', 'ndjson', 'xlsx', 'parquet'] as const;
export type Format = (typeof FORMATS)[number];

export const COLUMN_TYPES = ['string', 'integer', 'number', 'boolean'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

/** A way to read the text of a column that was asked for, such as `money` or `date:MM/dd/yyyy` (contract §3 "Types"). */
export type Conversion =
  | 'lower'
  | `${'number' | 'boolean'}:${string}`
  | `${'money' | 'percent' | 'date' | 'datetime'}${'' | `:${string}`}`
  | `datetime@${string}`;
/** In a suggested type, in place of a zone that only the owner of a file knows. */
export const SOME_ZONE = '<zone>';
/** What a column's cells are read as. */
export type CellType = ColumnType | Conversion;

/** What an empty cell becomes: no key at all, `null` (which removes the stored value), or `""`. */
export const EMPTY_CELLS = ['omit', 'null', 'string'] as const;
export type EmptyCell = (typeof EMPTY_CELLS)[number];

/** What becomes of a CSV row with fewer cells than the header: it is rejected, or its missing cells are empty. */
export const SHORT_ROWS = ['reject', 'pad'] as const;
export type ShortRows = (typeof SHORT_ROWS)[number];

/** How the name of a column becomes the key of its values. */
export const KEY_STYLES = ['as-is', 'snake_case', 'camelCase'] as const;
export type KeyStyle = (typeof KEY_STYLES)[number];

/** A row that was refused, as it is reported. `line` counts from 1; in a JSON array it is the item's number. */
export interface Rejection {
  file: string;
  line: number;
  reason: string;
  /** Where a column is at fault: equal but for `characters` in all rows that are refused for the same cause. */
  cause?: Cause | undefined;
}

/** What is wrong with a value, without the value. */
export interface Cause {
  /** Column, or field of a JSON item. */
  column: string;
  /**
   * `type`: a JSON value of another type. `characters`: some that the type does not have. `form`: the right ones in the
   * wrong order. `range`: no such day or time. `zone`: a time that the clocks of the zone skip. `digits`: a number that
   * no double holds.
   */
  code: 'type' | 'characters' | 'form' | 'range' | 'zone' | 'digits';
  /** What the column is read as. */
  type: CellType;
  /** Those in this value that are in the way. */
  characters?: string[];
}

/** Rejected rows of a file that have one cause. */
export interface RejectionCause {
  file: string;
  /** The column that is at fault; null for the row as a whole. */
  column: string | null;
  /** What speaks against a row: `contains "$" or ","`, `is empty`. No cell of the file is in it. */
  reason: string;
  rows: number;
  first_line: number;
  /** What may help, or null. */
  hint: string | null;
  /** The first of its rows as messages name it: `line 2`, `item 2`. */
  at: string;
  /** What stands in the column there, in quotes; null where that says nothing. Never in a document. */
  example: string | null;
  problem?: Problem;
}

/** A row that was refused, with what the rejects file needs to give it back unaltered. */
export interface RejectedRow extends Rejection {
  /** CSV: the cells as they stood, surplus ones included. JSON: the item as it stood. */
  original: { cells: string[] } | { item: unknown };
}

/** What the plan made of the rows of one input. */
export interface FileRows {
  read: number;
  /** Left out by `where` and `limit`: not looked at any further. */
  filtered: number;
  rejected: number;
}

/** What the plan says about one column of a CSV or one field of a JSON input. */
export interface ColumnPlan {
  /** Header as written (trimmed), or the JSON field. */
  column: string;
  /** Where its values go: a metadata key, `company_id`, `user_id`, or null when excluded. */
  key: string | null;
  /** `null` where JSON values keep their own, differing types. */
  type: ColumnType | 'mixed' | 'object' | null;
  /** How its text is read, where that was asked for: `money`, `date:MM/dd/yyyy`. */
  conversion?: Conversion | undefined;
  /** Types that every value of this text would fit: one, or two where values read differently under each. */
  suggested?: string[] | undefined;
  /** Why it has this type: `row 17: "007"`, `all 503 values are integers`, `pinned`. */
  reason: string;
  /** Rows whose cell is empty (CSV) or that lack the field (JSON). */
  empty: number;
}

export interface FilePlan {
  path: string;
  kind: Kind;
  format: Format;
  encoding: string;
  delimiter: string | null;
  /** CSV and TSV; null for the others. */
  dialect: DialectPlan | null;
  rows: FileRows;
  columns: ColumnPlan[];
  /** First item as it would be sent, or null when there is none. */
  sample: unknown;
}

/** How a CSV is written, as it was asked for and found. */
export interface DialectPlan {
  delimiter: string;
  /** Null: quotes are text. */
  quote: string | null;
  /** Null: a quote is doubled. */
  escape: string | null;
  comment: string | null;
  skip_lines: number;
  lenient_quotes: boolean;
}

/** Users' keys held against the service's user properties. */
export interface PropertyCheck {
  /** Keys that the service does not know. */
  new: string[];
  /** Likewise, but close to one that it knows: `plan_teir`, like `plan_tier`. */
  near: { key: string; like: string }[];
  /** Keys of another type than the service's `data_type` (spec: User property lookup record). */
  types: { key: string; here: string; service: string }[];
}

/** In how many changed rows a key differs from what was sent last. */
export interface KeyChange {
  key: string;
  rows: number;
}

/** With `changedOnly`: how the rows that would be sent, and those that would not, stand to what the service has. */
export interface PlanChanges {
  /** The state knows nothing of their identifiers. */
  new: number;
  changed: number;
  /** As they were, but completed longer ago than `refreshAfterMs`. */
  refreshed: number;
  unchanged: number;
  /** With `trackKeys`, most rows first. */
  keys?: KeyChange[];
}

/** The `plan` object of the result document and of the `plan` event. */
export interface Plan {
  /** In the order in which they were named. */
  files: FilePlan[];
  /** Rows whose identifier stood earlier in the same kind's input. */
  duplicates: number;
  /** Bulk requests. A dry run counts them; else it is an estimate where the byte limit or `changedOnly` decides. */
  requests: number;
  /** UTF-8 bytes of all request bodies. */
  bytes: number;
  /** Seconds until the service has worked it off, by this account's past jobs of the kinds; null when there are none. */
  estimated_seconds: number | null;
  changes?: PlanChanges;
  properties?: PropertyCheck;
  /** Of the plan that was saved. */
  digest?: string;
}

/** `read = filtered + rejected + merged + unchanged + submitted + unsent`, always (contract §4). */
export interface RowCounts {
  read: number;
  /** Left out by `where` and `limit`. */
  filtered: number;
  rejected: number;
  /** Merged into an earlier row of the same id in the same request. */
  merged: number;
  /** Left out by `changedOnly`. */
  unchanged: number;
  submitted: number;
  /** Of those submitted: rows that jobs reported completed. */
  completed: number;
  /** Present only when the import stopped early, was only planned, or was refused. */
  unsent?: number;
}

/** How an import ended (contract §3 "Result"). */
export type RunStatus =
  /** Every row read was sent, merged or unchanged, and every job completed whole. */
  | 'completed'
  /** Without `wait`: everything was accepted, no job was followed. */
  | 'submitted'
  /** A dry run: nothing was sent. */
  | 'planned'
  /** More invalid rows than the import puts up with: nothing was sent. */
  | 'rejected'
  /** With `changedOnly`: more rows are new or changed than `maxChanged` allows: nothing was sent. */
  | 'held'
  /** Some rows were rejected, are short in a job, or have no job to vouch for them. */
  | 'partial'
  /** A job failed. */
  | 'failed'
  /** It could not go on; `resume` names the run to continue. */
  | 'stopped'
  /** The time to wait was over; the jobs continue. */
  | 'timed_out'
  /** By a signal: Ctrl-C, or the one that a program gave. */
  | 'interrupted';

/** The lines on which the first and the last row of a request begin (in a JSON array: item numbers from 1). */
export interface FileRange {
  file: string;
  first_line: number;
  last_line: number;
}

/** Where the rows of a request are. One that was packed from several inputs has `ranges` in place of the three. */
export type Place = FileRange | { ranges: FileRange[] };

export const rangesIn = (place: Place): FileRange[] => ('first_line' in place ? [place] : place.ranges);

/** A job of this run: the service's record, every field kept, with the files and the lines its request came from. */
export type RunJob = Job & Place;

export type MaybeSentTwice = Place & {
  rows: number;
  reason: string;
  /** Of the sending that was acknowledged in the end; null when none was, or it named no job. */
  job_id: string | null;
};

/** The result document of an import (contract §3 "Result"), in the order it is printed. */
export interface Summary {
  run: string | null;
  status: RunStatus;
  kinds: Kind[];
  account: string | null;
  region: string;
  base_url: string;
  rows: RowCounts;
  /** Bulk requests of the whole run that had rows to send; one that was halved counts as its halves. */
  requests: number;
  /** Further attempts of all of them. */
  retries: number;
  files: {
    path: string;
    kind: Kind;
    rows: FileRows;
    rejects_file: string | null;
  }[];
  /** The first 20. */
  rejected: Rejection[];
  /** All of them by cause, most rows first; of more than 200 causes the last counts the others. */
  causes: RejectionCause[];
  jobs: RunJob[];
  maybe_sent_twice: MaybeSentTwice[];
  warnings: string[];
  /** The run to continue, when there is something to continue. The command prints the command line that does. */
  resume: string | null;
  plan?: Plan;
  elapsed_seconds: number;
}

/**
 * What happens during an import, in order; every reporter (terminal, plain, JSON, NDJSON) sees the same. The summary
 * is made of the requests as they were recorded, so that it also holds what earlier sessions sent. `progress` and
 * `notice` are for people: they are never printed as NDJSON.
 */
export type ImportEvent =
  | { type: 'plan'; plan: Plan }
  | ({ type: 'rejected' } & Rejection)
  | ({
      type: 'submitted';
      /** Number of the request in the run, from 1. */
      request: number;
      kind: Kind;
      rows: number;
      /** null: accepted, but the reply named no job. */
      job_id: string | null;
    } & Place)
  | {
      /** A job whose status or `completed_rows` changed. */
      type: 'job';
      kind: Kind;
      /** Of its request, whatever the job says of them. */
      rows: number;
      job: RunJob;
    }
  | {
      type: 'retry';
      request: number;
      attempt: number;
      /** Milliseconds until the next attempt. */
      delay_ms: number;
      reason: string;
      maybe_sent_twice: boolean;
    }
  | ({ type: 'warning' } & Warning)
  /** Said to people at once (an interrupt, a run that continues); never printed as NDJSON. */
  | { type: 'notice'; message: string }
  | {
      type: 'progress';
      phase: 'downloading' | 'planning' | 'sending' | 'following';
      kind: Kind | null;
      /** Downloading: 0, and `bytes` of `total_bytes`. Planning: rows read so far, of `total_bytes` bytes. Sending: rows submitted of `total_rows`. Following: rows completed. */
      rows: number;
      total_rows: number | null;
      bytes?: number;
      total_bytes?: number | null;
    }
  | { type: 'summary'; summary: Summary };
