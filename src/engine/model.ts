/** The nouns that every part of the program shares, and the words that they go by. Names are the spec's and the field's. */
import type { FileRange, MaybeSentTwice, Place, RunJob } from './place.js';
import type { PlanChanges } from './plan-changes.js';
import type { Problem } from './problems.js';

export type { FileRange, MaybeSentTwice, Place, RunJob } from './place.js';

/** In the order in which they are sent. */
export const KINDS = ['companies', 'users'] as const;
/** What is imported. Also the key of a bulk body: `{"companies": […]}`, `{"users": […]}` (spec: Endpoints 1 and 3). */
export type Kind = (typeof KINDS)[number];

/** Each kind that there is, once. */
export const kindsOf = (inputs: readonly { kind: Kind }[]): Kind[] => [
  ...new Set(inputs.map(({ kind }) => kind)),
];

/** The identifier's field for each kind (spec: Company, User). */
export const ID_FIELD = { companies: 'company_id', users: 'user_id' } as const satisfies Record<Kind, string>;

/** What is around the items in the body of a bulk request (spec: Endpoints 1 and 3). ASCII. */
export const ENVELOPE = {
  companies: { open: '{"companies":[', close: ']}' },
  users: { open: '{"users":[', close: ']}' },
} as const satisfies Record<Kind, { open: string; close: string }>;

/** Bytes per request's body beyond its items and the commas between them. */
export const envelopeBytes = (kind: Kind): number => ENVELOPE[kind].open.length + ENVELOPE[kind].close.length;

export const FORMATS = ['csv', 'tsv', 'json', 'ndjson', 'xlsx', 'parquet'] as const;
/** Format of an input. `ndjson` is JSON Lines. */
export type Format = (typeof FORMATS)[number];

export const COLUMN_TYPES = ['string', 'integer', 'number', 'boolean'] as const;
/** Type of a column, as its values are sent. */
export type ColumnType = (typeof COLUMN_TYPES)[number];

/** A way to read the text of a column that was asked for, such as `money` or `date:MM/dd/yyyy`. */
export type Conversion =
  | 'lower'
  | `${'number' | 'boolean'}:${string}`
  | `${'money' | 'percent' | 'date' | 'datetime'}${'' | `:${string}`}`
  | `datetime@${string}`;
/** In a suggested type, in place of a zone that only the owner of a file knows. */
export const SOME_ZONE = '<zone>';
/** What a column's cells are read as. */
export type CellType = ColumnType | Conversion;

export const EMPTY_CELLS = ['omit', 'null', 'string'] as const;
/** What an empty cell becomes: no key (`omit`), `null` (which removes the stored value), or `""` (`string`). */
export type EmptyCell = (typeof EMPTY_CELLS)[number];

/** What becomes of a CSV row with fewer cells than the header: it is rejected, or its missing cells are empty. */
export const SHORT_ROWS = ['reject', 'pad'] as const;
export type ShortRows = (typeof SHORT_ROWS)[number];

/** How the name of a column becomes the key of its values. */
export const KEY_STYLES = ['as-is', 'snake_case', 'camelCase'] as const;
export type KeyStyle = (typeof KEY_STYLES)[number];

/** A rejected row. */
export interface Rejection {
  /** Path of the input, as it was named. */
  file: string;
  /** Line on which the row begins, from 1. In a JSON array, the number of the item; in a workbook or Parquet, of the row. */
  line: number;
  reason: string;
  /** If a column is at fault: the same, except for `characters`, in all rows that are rejected for the same cause. */
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
  /** The column that is at fault, or null for the row as a whole. */
  column: string | null;
  /** What is wrong, such as `contains "$" or ","` or `is empty`. It holds no cell of the file. */
  reason: string;
  /** How many rows. */
  rows: number;
  /** Line of the first of them. */
  first_line: number;
  /** What may help, or null. */
  hint: string | null;
  /** The first of them as messages name it, such as `line 2` or `item 2`. */
  at: string;
  /** The cell there, in quotes, or null. The command's JSON document never holds it. */
  example: string | null;
  problem?: Problem;
}

/** A row that was refused, with what the rejects file needs to give it back unaltered. */
export interface RejectedRow extends Rejection {
  /** CSV: the cells as they were, surplus ones included. JSON: the item as it was. */
  original: { cells: string[] } | { item: unknown };
}

/** Rows of one input, as the plan counted them. */
export interface FileRows {
  read: number;
  /** Left out by `where` and `limit`. */
  filtered: number;
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
  /** Types that every value of this text would fit. If there are two, values read differently under each. */
  suggested?: string[] | undefined;
  /** Why it has this type, such as `line 17: "007"` or `all 503 values are integers`. */
  reason: string;
  /** Rows whose cell is empty, or that lack the field. */
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

/** Users' keys, compared with the service's user properties. */
export interface PropertyCheck {
  /** Keys that the service does not know. */
  new: string[];
  /** Keys that it does not know, but that are close to one that it knows: `plan_teir`, like `plan_tier`. */
  near: { key: string; like: string }[];
  /** Keys of another type than the service's `data_type` (spec: User property lookup record). */
  types: { key: string; here: string; service: string }[];
}

/** What an import would do. */
export interface Plan {
  /** The inputs, in the order in which they were named. */
  files: FilePlan[];
  /** Rows whose identifier appears earlier in the inputs of the same kind. */
  duplicates: number;
  /** Bulk requests. A plan counts them; for an import, it is an estimate if the byte limit or `changedOnly` decides. */
  requests: number;
  /** UTF-8 bytes of all request bodies. */
  bytes: number;
  /** How long the jobs may take, in seconds, judging by this account's earlier jobs; null if there are none. */
  estimated_seconds: number | null;
  changes?: PlanChanges;
  properties?: PropertyCheck;
  /** Digest of the saved plan. */
  digest?: string;
}

/** What became of the rows. Always, `read = filtered + rejected + merged + unchanged + submitted + unsent`. */
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
  /** Of those submitted: rows that jobs completed. */
  completed: number;
  /** Not sent. Present only if the import stopped early, was only planned, or was refused. */
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
  /** Some rows were rejected, a job completed fewer rows than it was sent, or an answer named no job. */
  | 'partial'
  /** A job failed. */
  | 'failed'
  /** It could not continue; `resume` names the run. */
  | 'stopped'
  /** `waitTimeoutMs` passed; the jobs continue. */
  | 'timed_out'
  /** Stopped by a signal: Ctrl-C, or the `signal` of the request. */
  | 'interrupted';

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
  /** What became of the rows of all inputs. */
  rows: RowCounts;
  /** Bulk requests of the whole run; one that was halved counts as its halves. */
  requests: number;
  /** Retries of all of them. */
  retries: number;
  /** The inputs: their rows, and the rejects file of each, if it has one. */
  files: {
    path: string;
    kind: Kind;
    rows: FileRows;
    rejects_file: string | null;
  }[];
  /** The first 20 rejected rows. */
  rejected: Rejection[];
  /** All rejected rows by cause, most rows first. Of more than 200 causes, the last entry counts the others. */
  causes: RejectionCause[];
  /** The jobs of the run, those of earlier attempts included. */
  jobs: RunJob[];
  /** Requests that were sent again because their answer was lost. */
  maybe_sent_twice: MaybeSentTwice[];
  /** What was odd, and did not stop the import. */
  warnings: string[];
  /** The run to continue, or null if there is nothing to continue. The command prints a command line here. */
  resume: string | null;
  /** What an import would do, if the status is `planned`. */
  plan?: Plan;
  /** Of a shard, whose part everything else is about. */
  shard?: {
    shard: number;
    shards: number;
    finished: number;
    run: { status: RunStatus | 'running'; rows: RowCounts; requests: number };
  };
  /** Seconds. */
  elapsed_seconds: number;
}

export const rangesIn = (place: Place): FileRange[] => ('first_line' in place ? [place] : place.ranges);
