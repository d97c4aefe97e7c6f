/** Reads the JSON that tables hold. Only this program writes it, so JSON of another form means a damaged database. */
import { StateError } from '../errors.js';
import { type Reader, raw, sql } from './database.js';

/** For each table: what its record is, in words, and the column of its name. */
const NAMES = {
  runs: ['run', 'run'],
  requests: ['run', 'run'],
  jobs: ['job', 'job_id'],
  rejects: ['run', 'run'],
  fingerprints: ['batch', 'send'],
  scopes: ['account', 'scope'],
} as const;

const OBJECT = /^\{/;
const FILLED_OBJECT = /^\{"/;
const OBJECTS = /^\[\{/;
const TEXTS = /^\[["\]]/;

/** All columns with JSON: the table, the column, and how its text begins. */
export const STORED = {
  options: ['runs', 'options', OBJECT],
  summary: ['runs', 'summary', FILLED_OBJECT],
  replaces: ['runs', 'replaces', TEXTS],
  inputs: ['runs', 'inputs', OBJECTS],
  ranges: ['requests', 'more', OBJECTS],
  job: ['jobs', 'record', OBJECT],
  reading: ['rejects', 'reading', FILLED_OBJECT],
  unsent: ['rejects', 'unsent', FILLED_OBJECT],
  cellKeys: ['fingerprints', 'keys', TEXTS],
  columnTypes: ['scopes', 'column_types', OBJECT],
} as const;

type Column = (typeof STORED)[keyof typeof STORED];

/**
 * The value in a column with JSON.
 * @param record its run, job, or batch, as `NAMES` says
 * @throws StateError if it is damaged
 */
export function storedJson<T>(text: string, column: Column, record: string | number): T {
  const value = parsed(text, column);
  if (value !== undefined) return value as T;
  throw new StateError(`the state is damaged: ${damage(column, record)}`, {
    hint: 'restore a copy of it, or use another folder',
    problem: { code: 'state_damaged' },
  });
}

/** As `storedJson`, where the column may be empty. */
export const storedOrNull = <T>(text: string | null, column: Column, record: string | number): T | null =>
  text === null ? null : storedJson<T>(text, column, record);

/** Undefined if it is damaged. */
function parsed(text: string, [, , start]: Column): unknown {
  try {
    return start.test(text) ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

const damage = ([table, column]: Column, record: string | number): string =>
  `${NAMES[table][0]} ${record} has damaged JSON in ${table}.${column}`;

/** Finds damaged JSON in one column. */
export async function* damagedIn(on: Reader, column: Column): AsyncGenerator<string> {
  const [table, name] = column;
  const rows = on.each<{ record: string | number; text: string }>(
    sql`SELECT ${raw(NAMES[table][1])} AS record, ${raw(name)} AS text FROM ${raw(table)} WHERE ${raw(name)} IS NOT NULL`,
  );
  for await (const { record, text } of rows)
    if (parsed(text, column) === undefined) yield damage(column, record);
}
