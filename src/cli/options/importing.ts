/** Options that say how files are read, sent and followed. */
import { NO_RULES, WORDS } from '../../engine/options.js';
import { engineNumber, type Table } from './option.js';
import { BOUND_TYPE, condition, countType, FLAG, pair, path, text, word } from './types.js';

const COLUMN = text('column');

/** How files are read. */
export const READING = {
  kind: {
    type: word('kind', WORDS.kind),
    summary: 'what the rows are: companies or users',
    otherwise: 'detected from the columns',
    sets: 'kind',
  },
  id: {
    type: COLUMN,
    summary: 'column of the identifier, for files of one kind',
    otherwise: 'user_id or company_id',
    complete: 'columns',
    sets: 'id',
  },
  userId: {
    type: COLUMN,
    summary: "column of a user's identifier, in the files that have it",
    otherwise: 'user_id',
    complete: 'columns',
    sets: 'userId',
  },
  companyId: {
    type: COLUMN,
    summary: "column of the company: a company's identifier, and a user's company, in the files that have it",
    otherwise: 'company_id',
    complete: 'columns',
    sets: 'companyId',
  },
  format: {
    type: word('format', WORDS.format),
    summary: 'csv, tsv, json, ndjson, xlsx, or parquet',
    otherwise: 'detected from content and name',
    sets: 'format',
  },
  delimiter: {
    type: text('text', {
      pattern: /^[^\r\n\0"]+$/,
      form: 'must be one character or several, without quotes and line ends',
    }),
    summary: 'delimiter of a CSV: one character or several, tab, or a code such as \\x01',
    otherwise: 'detected',
    config: 'import.delimiter',
    sets: 'delimiter',
  },
  sheet: {
    type: text('sheet'),
    summary: 'sheet of a workbook: its name, or its number from 1',
    otherwise: 'the first that is not hidden',
    sets: 'sheet',
  },
  quote: {
    type: text('char'),
    summary: 'quote of a CSV: one character, or none where quotes are text',
    otherwise: '"',
    sets: 'quote',
  },
  escape: {
    type: text('char'),
    summary: 'character that makes a quote inside quotes text, such as a backslash',
    otherwise: 'the quote, doubled',
    sets: 'escape',
  },
  comment: {
    type: text('prefix'),
    summary: 'leave out the lines of a CSV that begin with this',
    sets: 'comment',
  },
  skipLines: {
    type: countType(),
    default: 0,
    summary: 'lines to leave out above the header of a CSV, such as a title',
    sets: 'skipLines',
  },
  lenientQuotes: {
    type: FLAG,
    default: false,
    summary: 'take text after a closing quote as text, instead of rejecting the row',
    sets: 'lenientQuotes',
  },
  shortRows: {
    type: word('how', WORDS.shortRows),
    summary: 'what becomes of CSV rows with fewer cells than the header: reject, or pad with empty cells',
    otherwise: 'reject',
    sets: 'shortRows',
  },
  excelText: {
    type: FLAG,
    default: false,
    summary: 'read cells like ="0012" as their text',
    sets: 'excelText',
  },
  renameDuplicates: {
    type: FLAG,
    default: false,
    summary: 'number columns of one name: name, name_2',
    sets: 'renameDuplicates',
  },
  encoding: {
    type: text('name'),
    summary: 'encoding of the text, such as windows-1252',
    otherwise: 'UTF-8, or UTF-16 with BOM',
    config: 'import.encoding',
    sets: 'encoding',
  },
  jsonPath: {
    type: text('key.key'),
    summary: 'where the items of a JSON file are, if not in the array itself, companies, or users',
    sets: 'jsonPath',
  },
  roundNumbers: {
    type: FLAG,
    default: false,
    summary: 'round JSON numbers that a double cannot hold exactly, instead of rejecting their rows',
    config: 'import.round_numbers',
    sets: 'roundNumbers',
  },
  maxCell: {
    ...engineNumber('maxCellBytes'),
    summary: 'longest cell to accept; a CSV header may be up to 4MiB',
    config: 'import.max_cell',
  },
} as const satisfies Table;

/** Which rows are taken. */
export const SELECTING = {
  where: {
    type: condition('column', 'value'),
    summary: 'take only rows whose cell is, or with != is not, this text; all conditions must hold',
    repeatable: true,
    complete: 'column=',
    sets: 'where',
  },
  limit: {
    type: countType(1),
    summary: 'take at most this many rows of each kind',
    sets: 'limit',
  },
} as const satisfies Table;

/** How columns and values are mapped. */
export const COLUMNS = {
  map: {
    type: pair('column=key'),
    summary: 'send a column under another key',
    repeatable: true,
    complete: 'column=',
  },
  include: {
    type: COLUMN,
    summary: 'send only these columns as metadata',
    repeatable: true,
    complete: 'columns',
  },
  exclude: { type: COLUMN, summary: 'leave a column out', repeatable: true, complete: 'columns' },
  set: {
    type: pair('key=value'),
    summary: 'add a key to the metadata; its value is typed like a CSV cell',
    repeatable: true,
    commands: ['import', 'inspect', 'identify company', 'identify user'],
  },
  type: {
    type: pair('column=type'),
    summary: 'set the type of a column, such as integer, money, or date:MM/dd/yyyy; see profiles help types',
    repeatable: true,
    complete: 'column=',
  },
  types: {
    type: word('how', WORDS.types),
    summary: 'how column types are chosen: auto infers them, strings keeps every value as text',
    otherwise: 'auto',
    config: 'import.types',
  },
  empty: {
    type: word('how', WORDS.empty),
    summary: 'what an empty cell becomes: omit, null, or string',
    otherwise: NO_RULES.empty,
    config: 'import.empty',
  },
  keys: {
    type: word('style', WORDS.keys),
    summary: 'how columns without --map become keys: as-is, snake_case, or camelCase',
    otherwise: 'as-is',
    config: 'import.keys',
  },
  null: {
    type: text('text'),
    summary: 'a text that counts as an empty cell, such as NULL or n/a',
    repeatable: true,
  },
  trim: {
    type: FLAG,
    default: false,
    summary: 'remove white space and invisible characters around cells',
    config: 'import.trim',
  },
  allowId: {
    type: text('text'),
    summary: 'accept an identifier that looks like a missing value, such as NULL',
    repeatable: true,
  },
  mapping: {
    type: path('file'),
    summary: 'read these options from a JSON file: one for all inputs, or one for each kind',
    repeatable: true,
  },
} as const satisfies Table;

/** What is sent, and how it is split into requests. */
export const SENDING = {
  dryRun: { type: FLAG, default: false, summary: 'show the plan, send nothing', sets: 'dryRun' },
  savePlan: {
    type: path('file'),
    summary: 'with --dry-run: save the plan, for profiles apply',
    commands: ['import'],
  },
  checkProperties: {
    type: FLAG,
    default: false,
    summary: "compare users' keys with the service's user properties",
    config: 'import.check_properties',
    sets: 'checkProperties',
  },
  changedOnly: {
    type: FLAG,
    default: false,
    summary: 'skip rows that have not changed since the service completed them',
    config: 'import.changed_only',
    sets: 'changedOnly',
  },
  refreshAfter: {
    ...engineNumber('refreshAfterMs'),
    summary: 'with --changed-only: also send rows completed longer ago than this',
    config: 'import.refresh_after',
  },
  maxChanged: {
    type: BOUND_TYPE,
    default: null,
    summary: 'with --changed-only: send nothing if more rows than this are new or changed',
    config: 'import.max_changed',
    commands: ['import', 'apply'],
    sets: 'maxChanged',
  },
  trackKeys: {
    type: FLAG,
    default: false,
    summary: 'remember a short hash of each cell, so that plans with --changed-only count changes by key',
    config: 'import.track_keys',
    sets: 'trackKeys',
  },
  full: {
    type: FLAG,
    default: false,
    summary: 'forget what was sent before, and send everything',
    sets: 'full',
  },
  resume: {
    type: FLAG,
    default: false,
    summary: 'continue the unfinished import of the same content, if there is one',
    sets: 'resume',
  },
  outcomes: {
    type: path('file'),
    summary: 'write what became of each row here: CSV, or NDJSON for names that end in .ndjson',
    commands: ['import', 'apply', 'resume'],
  },
  chunkSize: {
    ...engineNumber('chunkSize', 'items'),
    summary: 'items in one request',
    config: 'import.chunk_size',
  },
  chunkBytes: {
    ...engineNumber('chunkBytes'),
    summary: 'bytes in one request',
    config: 'import.chunk_bytes',
  },
  canary: {
    ...engineNumber('canary', 'items'),
    summary: 'send a first request of at most this many items, and nothing else before its job has completed',
    config: 'import.canary',
    commands: ['import', 'apply'],
  },
  concurrency: {
    ...engineNumber('concurrency'),
    summary: 'how many jobs may be unfinished at a time',
    config: 'import.concurrency',
    commands: ['import', 'apply'],
  },
} as const satisfies Table;

/** How jobs are followed. */
export const WAITING = {
  wait: {
    type: FLAG,
    negated: true,
    default: true,
    summary: 'return as soon as the service has accepted everything; do not wait for jobs',
    commands: ['import', 'apply', 'identify user'],
    sets: 'wait',
  },
  waitTimeout: {
    ...engineNumber('waitTimeoutMs'),
    summary: 'stop waiting for jobs after this time; they continue',
    config: 'import.wait_timeout',
    commands: ['import', 'apply', 'resume', 'job', 'identify user'],
  },
  interval: {
    ...engineNumber('intervalMs'),
    summary: 'fixed time between two polls of a job',
    config: 'import.interval',
    commands: ['import', 'apply', 'resume', 'job'],
  },
} as const satisfies Table;

/** Retries and backoff. */
export const RETRYING = {
  retries: {
    ...engineNumber('retries'),
    summary: 'how often to retry a failed request',
    config: 'import.retries',
  },
  retryDelay: {
    ...engineNumber('retryDelayMs'),
    summary: 'delay before the first retry; it doubles each time',
    config: 'import.retry_delay',
  },
  maxRetryAfter: {
    ...engineNumber('maxRetryAfterMs'),
    summary: 'longest Retry-After to wait for',
    config: 'import.max_retry_after',
  },
  busyTimeout: {
    ...engineNumber('busyTimeoutMs'),
    summary: 'how long to wait for a busy service (409)',
    config: 'import.busy_timeout',
  },
} as const satisfies Table;

/** What is said of an import where others read it, too. */
export const REPORTING = {
  report: {
    type: path('file'),
    summary: 'write a report as one HTML page, to read, print, or attach',
    commands: ['import', 'apply', 'resume', 'runs'],
  },
  reportValues: {
    type: FLAG,
    default: false,
    summary:
      'show example cells and words of the service in the report, in annotations, and in the step summary of GitHub Actions',
    commands: ['import', 'apply', 'resume', 'runs'],
  },
} as const satisfies Table;

/** What to do with rows that are invalid or refused. */
export const REJECTING = {
  skipInvalid: {
    type: FLAG,
    summary: 'send the valid rows even if others are rejected',
    config: 'import.skip_invalid',
  },
  maxInvalid: {
    type: BOUND_TYPE,
    summary: 'send the valid rows if no more than this many are rejected',
    config: 'import.max_invalid',
  },
  continueOnError: {
    type: FLAG,
    default: false,
    summary: 'continue after a request that the service refused',
    config: 'import.continue_on_error',
    commands: ['import', 'apply'],
    sets: 'continueOnError',
  },
  isolate: {
    type: FLAG,
    default: false,
    summary: 'find the rows at fault when a job fails or a request is refused, and reject only those',
    config: 'import.isolate',
    commands: ['import', 'apply', 'resume'],
    sets: 'isolate',
  },
  isolateJobs: {
    ...engineNumber('isolateJobs'),
    summary: 'with --isolate: further requests for each one that failed',
    config: 'import.isolate_jobs',
    commands: ['import', 'apply', 'resume'],
  },
  rejects: {
    type: path('path'),
    summary: 'write rejected rows here',
    commands: ['import', 'apply'],
    otherwise: '<name>.rejects.csv or .ndjson',
  },
} as const satisfies Table;
