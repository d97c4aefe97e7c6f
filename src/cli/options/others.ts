/** Options of single commands, and of those that list records. */
import { DEFAULT_LIMITS, FAIL_ROWS_WITH } from '../../sandbox/limits.js';
import { row, type Table } from './option.js';
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
  csv: row(FLAG, 'print CSV', { conflicts: [{ with: '--ndjson' }] }),
  ndjson: row(FLAG, 'print one JSON record per line'),
} as const satisfies Table;

/** Options for selecting records. */
export const LISTING = {
  columns: row(NAMES_TYPE, 'show these fields, in this order'),
  filter: row(pair('key=value'), 'keep records that match; repeat a key to accept any of its values', {
    repeatable: true,
  }),
  search: row(text('text'), 'keep records with this text in any field'),
  sort: row(text('[-]key'), 'sort by a field; - for descending'),
  limit: row(countType(1), 'show at most n records'),
} as const satisfies Table;

export const JOB = {
  watch: row(FLAG, 'follow the jobs to their end', { commands: ['job'] }),
  refresh: row(FLAG, 'ask the service about unfinished jobs', { commands: ['jobs'] }),
} as const satisfies Table;

export const HISTORY = {
  unchanged: row(FLAG, 'also look for it in the files of imports that left out unchanged rows', {
    commands: ['history', 'history company', 'history user'],
  }),
} as const satisfies Table;

export const RUNS = {
  forget: row(text('run'), 'remove a run and its spooled input', { complete: 'runs', commands: ['runs'] }),
} as const satisfies Table;

/** Options for inputs that have moved since the plan was made. */
export const MOVED = {
  inputs: row(INPUT_TYPE, 'an input that has moved; it is recognized by its digest', {
    spelled: '--input',
    repeatable: true,
    commands: ['apply', 'resume'],
  }),
} as const satisfies Table;

export const APPLY = {
  expect: row(text('sha256'), 'refuse any other plan: the digest in it, or the SHA-256 of the file', {
    commands: ['apply'],
  }),
  again: row(FLAG, 'send again a plan that was already applied', { commands: ['apply'] }),
} as const satisfies Table;

export const RESUME = {
  failed: row(
    FLAG,
    'send again the rows of failed, short, refused, and untraceable requests of a finished run',
    { commands: ['resume'] },
  ),
} as const satisfies Table;

export const STATE_MIGRATE = {
  to: row(
    text('url'),
    'where to copy the state: postgres://user@host/database?schema=name, or sqlite:<directory>',
    { commands: ['state migrate'] },
  ),
} as const satisfies Table;

export const IDENTIFY = {
  unset: row(text('key'), 'remove a key from the profile', {
    repeatable: true,
    commands: ['identify company', 'identify user'],
  }),
  metadata: row(text('json'), "metadata as a JSON object; keeps JSON's types", {
    commands: ['identify company', 'identify user'],
  }),
  company: row(text('id'), "the user's company_id", { commands: ['identify user'] }),
} as const satisfies Table;

export const STATE_UNLOCK = {
  force: row(
    FLAG,
    'take locks from running imports too, after asking; each then stops before its next request',
    { commands: ['state unlock'] },
  ),
} as const satisfies Table;

export const CONFIG_INIT = {
  check: row(FLAG, 'write the settings without trying hosts and token', {
    negated: true,
    default: true,
    commands: ['config init'],
  }),
} as const satisfies Table;

export const INSPECT = {
  writeMapping: row(path('file'), 'write the detected columns as a mapping file', { commands: ['inspect'] }),
  force: row(FLAG, 'replace the mapping file, if there is one', {
    needs: '--write-mapping',
    commands: ['inspect'],
  }),
} as const satisfies Table;

export const COMPLETION = {
  line: row(text('text'), 'the words typed so far as one line, program included', {
    hidden: true,
    commands: ['completion complete'],
  }),
} as const satisfies Table;

const PORT = countType(0, { most: 65_535 });
const NUMBER = countType(1);

export const SANDBOX = {
  data: row(path('folder'), 'folder for its data', {
    otherwise: 'the state directory',
    commands: ['sandbox', 'sandbox list', 'sandbox show', 'sandbox reset'],
  }),
  memory: row(FLAG, 'keep its data in memory only', { default: false, conflicts: [{ with: '--data' }] }),
  port: row(PORT, 'port of the default region; 0 picks a free one', { default: 4100 }),
  lookupPort: row(PORT, 'port of the lookup lists', { tier: 2, default: 4101 }),
  euPort: row(PORT, 'port of the EU region', { tier: 2, default: 4102 }),
  pagePort: row(PORT, 'port of the page; 0 picks a free one', { tier: 2, otherwise: '4103, or a free one' }),
  page: row(FLAG, 'do not serve the page', { negated: true, conflicts: [{ with: '--page-port' }] }),
  controlPort: row(PORT, 'serve the control API on this port', { tier: 2 }),
  host: row(text('address'), 'address to listen on', { tier: 2, default: '127.0.0.1' }),
  expectToken: row(text('token'), 'accept only this API key', { tier: 2, otherwise: 'any' }),
  latency: row(duration(), 'wait before each answer'),
  rowsPerSecond: row(NUMBER, 'rows that a job processes per second', {
    default: DEFAULT_LIMITS.rowsPerSecond,
  }),
  oneJobAtATime: row(FLAG, 'refuse a second job with 409'),
  maxItems: row(NUMBER, 'refuse larger requests with 413', { tier: 2 }),
  maxBytes: row(SIZE_TYPE, 'refuse larger bodies with 413', { tier: 2 }),
  rateLimit: row(NUMBER, 'requests per second; more are refused with 429', { tier: 2 }),
  failJobs: row(RATE_TYPE, 'share of jobs that fail, such as 0.1'),
  failRows: row(
    pair('key=value'),
    'fail every job that contains an item with this identifier or metadata value',
    { repeatable: true },
  ),
  failRowsWith: row(
    word('how', FAIL_ROWS_WITH),
    'what --fail-rows does: failed fails the job, short completes it without these rows, 422 refuses the request',
    { tier: 2, needs: '--fail-rows', otherwise: 'failed' },
  ),
  fault: row(text('spec'), 'simulate a fault, such as 503:first=3; see profiles help faults', {
    repeatable: true,
  }),
  seed: row(countType(), 'seed for random faults', { tier: 2, default: 1 }),
  lookups: row(path('file'), 'JSON file with your own lookup lists', { tier: 2 }),
} as const satisfies Table;

export const SANDBOX_REGION = {
  regionOf: row(
    word('region', ['default', 'eu']),
    'region of the sandbox to show: default or eu; --region does the same',
    { default: 'default', commands: ['sandbox list', 'sandbox show'] },
  ),
} as const satisfies Table;
