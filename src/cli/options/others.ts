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
  csv: row(FLAG, { conflicts: [{ with: '--ndjson' }] }),
  ndjson: row(FLAG),
} as const satisfies Table;

/** Options for selecting records. */
export const LISTING = {
  columns: row(NAMES_TYPE),
  filter: row(pair('key=value'), { repeatable: true }),
  search: row(text('text')),
  sort: row(text('[-]key')),
  limit: row(countType(1), { text: 'limit of lists' }),
} as const satisfies Table;

const IDENTIFY = ['identify company', 'identify user'];
const HISTORY = ['history', 'history company', 'history user'];

/** Options of single commands. */
export const OTHERS = {
  inputs: row(INPUT_TYPE, { spelled: '--input', repeatable: true, commands: ['apply', 'resume'] }),
  expect: row(text('sha256'), { commands: ['apply'] }),
  again: row(FLAG, { commands: ['apply'] }),
  watch: row(FLAG, { commands: ['job'] }),
  refresh: row(FLAG, { commands: ['jobs'] }),
  unchanged: row(FLAG, { commands: HISTORY }),
  forget: row(text('run'), { complete: 'runs', commands: ['runs'] }),
  failed: row(FLAG, { commands: ['resume'] }),
  to: row(text('url'), { commands: ['state migrate'] }),
  unset: row(text('key'), { repeatable: true, commands: IDENTIFY }),
  metadata: row(text('json'), { commands: IDENTIFY }),
  company: row(text('id'), { commands: ['identify user'] }),
  check: row(FLAG, { negated: true, default: true, commands: ['config init'] }),
  writeMapping: row(path('file'), { commands: ['inspect'] }),
  force: row(FLAG, { needs: '--write-mapping', commands: ['inspect'] }),
  line: row(text('text'), { hidden: true, commands: ['completion complete'] }),
} as const satisfies Table;

export const UNLOCK = {
  force: row(FLAG, { text: 'force of unlock', commands: ['state unlock'] }),
} as const satisfies Table;

const PORT = countType(0, { most: 65_535 });
const NUMBER = countType(1);

export const SANDBOX = {
  data: row(path('folder'), {
    otherwise: 'the state directory',
    commands: ['sandbox', 'sandbox list', 'sandbox show', 'sandbox reset'],
  }),
  memory: row(FLAG, { default: false, conflicts: [{ with: '--data' }] }),
  port: row(PORT, { default: 4100 }),
  lookupPort: row(PORT, { tier: 2, default: 4101 }),
  euPort: row(PORT, { tier: 2, default: 4102 }),
  pagePort: row(PORT, { tier: 2, otherwise: '4103, or a free one' }),
  page: row(FLAG, { negated: true, conflicts: [{ with: '--page-port' }] }),
  controlPort: row(PORT, { tier: 2 }),
  host: row(text('address'), { tier: 2, default: '127.0.0.1' }),
  expectToken: row(text('token'), { tier: 2, otherwise: 'any' }),
  latency: row(duration()),
  rowsPerSecond: row(NUMBER, { default: DEFAULT_LIMITS.rowsPerSecond }),
  oneJobAtATime: row(FLAG),
  maxItems: row(NUMBER, { tier: 2 }),
  maxBytes: row(SIZE_TYPE, { tier: 2 }),
  rateLimit: row(NUMBER, { tier: 2 }),
  failJobs: row(RATE_TYPE),
  failRows: row(pair('key=value'), { repeatable: true }),
  failRowsWith: row(word('how', FAIL_ROWS_WITH), { tier: 2, needs: '--fail-rows', otherwise: 'failed' }),
  fault: row(text('spec'), { repeatable: true }),
  seed: row(countType(), { tier: 2, default: 1 }),
  lookups: row(path('file'), { tier: 2 }),
} as const satisfies Table;

export const SANDBOX_REGION = {
  regionOf: row(word('region', ['default', 'eu']), {
    default: 'default',
    commands: ['sandbox list', 'sandbox show'],
  }),
} as const satisfies Table;
