/** Options of single commands, and of those that list records. */
import { DEFAULT_LIMITS, FAIL_ROWS_WITH } from '../../sandbox/limits.js';
import type { Table } from './option.js';
import {
  countType,
  duration,
  FLAG,
  INPUT_TYPE,
  NAMES_TYPE,
  pair,
  path,
  RATE_TYPE,
  SIZE_TYPE,
  text,
  word,
} from './types.js';

/** The form of a result. */
export const RESULT = {
  csv: { type: FLAG, summary: 'print CSV', conflicts: [{ with: '--ndjson' }] },
  ndjson: { type: FLAG, summary: 'print one JSON record per line' },
} as const satisfies Table;

/** Options for selecting records. */
export const LISTING = {
  columns: { type: NAMES_TYPE, summary: 'show these fields, in this order' },
  filter: {
    type: pair('key=value'),
    summary: 'keep records that match; repeat a key to accept any of its values',
    repeatable: true,
  },
  search: { type: text('text'), summary: 'keep records with this text in any field' },
  sort: { type: text('[-]key'), summary: 'sort by a field; - for descending' },
  limit: { type: countType(1), summary: 'show at most n records' },
} as const satisfies Table;

export const JOB = {
  watch: { type: FLAG, summary: 'follow the jobs to their end', commands: ['job'] },
  refresh: { type: FLAG, summary: 'ask the service about unfinished jobs', commands: ['jobs'] },
} as const satisfies Table;

export const HISTORY = {
  unchanged: {
    type: FLAG,
    summary: 'also look for it in the files of imports that left out unchanged rows',
    commands: ['history', 'history company', 'history user'],
  },
} as const satisfies Table;

export const RUNS = {
  forget: {
    type: text('run'),
    summary: 'remove a run and its spooled input',
    complete: 'runs',
    commands: ['runs'],
  },
} as const satisfies Table;

/** Options for inputs that have moved since the plan was made. */
export const MOVED = {
  inputs: {
    type: INPUT_TYPE,
    spelled: '--input',
    summary: 'an input that has moved; it is recognized by its digest',
    repeatable: true,
    commands: ['apply', 'resume'],
  },
} as const satisfies Table;

export const APPLY = {
  expect: {
    type: text('sha256'),
    summary: 'refuse any other plan: the digest in it, or the SHA-256 of the file',
    commands: ['apply'],
  },
  again: { type: FLAG, summary: 'send again a plan that was already applied', commands: ['apply'] },
} as const satisfies Table;

export const RESUME = {
  failed: {
    type: FLAG,
    summary: 'send again the rows of failed, short, refused, and untraceable requests of a finished run',
    commands: ['resume'],
  },
} as const satisfies Table;

export const STATE_MIGRATE = {
  to: {
    type: text('url'),
    summary: 'where to copy the state: postgres://user@host/database?schema=name, or sqlite:<directory>',
    commands: ['state migrate'],
  },
} as const satisfies Table;

export const IDENTIFY = {
  unset: {
    type: text('key'),
    repeatable: true,
    summary: 'remove a key from the profile',
    commands: ['identify company', 'identify user'],
  },
  metadata: {
    type: text('json'),
    summary: "metadata as a JSON object; keeps JSON's types",
    commands: ['identify company', 'identify user'],
  },
  company: { type: text('id'), summary: "the user's company_id", commands: ['identify user'] },
} as const satisfies Table;

export const STATE_UNLOCK = {
  force: {
    type: FLAG,
    summary: 'take locks from running imports too, after asking; each then stops before its next request',
    commands: ['state unlock'],
  },
} as const satisfies Table;

export const CONFIG_INIT = {
  check: {
    type: FLAG,
    negated: true,
    default: true,
    summary: 'write the settings without trying hosts and token',
    commands: ['config init'],
  },
} as const satisfies Table;

export const INSPECT = {
  writeMapping: {
    type: path('file'),
    summary: 'write the detected columns as a mapping file',
    commands: ['inspect'],
  },
  force: {
    type: FLAG,
    needs: '--write-mapping',
    summary: 'replace the mapping file, if there is one',
    commands: ['inspect'],
  },
} as const satisfies Table;

export const COMPLETION = {
  line: {
    type: text('text'),
    summary: 'the words typed so far as one line, program included',
    hidden: true,
    commands: ['completion complete'],
  },
} as const satisfies Table;

const PORT = countType(0, { most: 65_535 });
const NUMBER = countType(1);

export const SANDBOX = {
  data: {
    type: path('folder'),
    summary: 'folder for its data',
    otherwise: 'the state directory',
    commands: ['sandbox', 'sandbox list', 'sandbox show', 'sandbox reset'],
  },
  memory: {
    type: FLAG,
    default: false,
    summary: 'keep its data in memory only',
    conflicts: [{ with: '--data' }],
  },
  port: { type: PORT, default: 4100, summary: 'port of the default region; 0 picks a free one' },
  lookupPort: { tier: 2, type: PORT, default: 4101, summary: 'port of the lookup lists' },
  euPort: { tier: 2, type: PORT, default: 4102, summary: 'port of the EU region' },
  pagePort: {
    tier: 2,
    type: PORT,
    summary: 'port of the page; 0 picks a free one',
    otherwise: '4103, or a free one',
  },
  page: {
    type: FLAG,
    negated: true,
    summary: 'do not serve the page',
    conflicts: [{ with: '--page-port' }],
  },
  controlPort: { tier: 2, type: PORT, summary: 'serve the control API on this port' },
  host: { tier: 2, type: text('address'), default: '127.0.0.1', summary: 'address to listen on' },
  expectToken: { tier: 2, type: text('token'), summary: 'accept only this API key', otherwise: 'any' },
  latency: { type: duration(), summary: 'wait before each answer' },
  rowsPerSecond: {
    type: NUMBER,
    summary: 'rows that a job processes per second',
    default: DEFAULT_LIMITS.rowsPerSecond,
  },
  oneJobAtATime: { type: FLAG, summary: 'refuse a second job with 409' },
  maxItems: { tier: 2, type: NUMBER, summary: 'refuse larger requests with 413' },
  maxBytes: { tier: 2, type: SIZE_TYPE, summary: 'refuse larger bodies with 413' },
  rateLimit: { tier: 2, type: NUMBER, summary: 'requests per second; more are refused with 429' },
  failJobs: { type: RATE_TYPE, summary: 'share of jobs that fail, such as 0.1' },
  failRows: {
    type: pair('key=value'),
    summary: 'fail every job that contains an item with this identifier or metadata value',
    repeatable: true,
  },
  failRowsWith: {
    tier: 2,
    needs: '--fail-rows',
    type: word('how', FAIL_ROWS_WITH),
    summary:
      'what --fail-rows does: failed fails the job, short completes it without these rows, 422 refuses the request',
    otherwise: 'failed',
  },
  fault: {
    type: text('spec'),
    summary: 'simulate a fault, such as 503:first=3; see profiles help faults',
    repeatable: true,
  },
  seed: { tier: 2, type: countType(), default: 1, summary: 'seed for random faults' },
  lookups: { tier: 2, type: path('file'), summary: 'JSON file with your own lookup lists' },
} as const satisfies Table;

export const SANDBOX_REGION = {
  regionOf: {
    type: word('region', ['default', 'eu']),
    default: 'default',
    summary: 'region of the sandbox to show: default or eu; --region does the same',
    commands: ['sandbox list', 'sandbox show'],
  },
} as const satisfies Table;
