/** Reads the JSON that tables hold. Only this program writes it, so JSON of another form means a damaged database. */
import { StateError } from '../errors.js';
import { isObject } from '../json-object.js';
import type { Reader } from './database.js';

/** A column that holds JSON. */
interface Column {
  table: string;
  column: string;
  /** The record in words, and the SQL of its name, such as a column. */
  of: readonly [words: string, column: string];
  /** Checks as much of the form as its readers need to do no harm. */
  fits: (value: unknown) => boolean;
}

const isList = (fits: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(fits);
const isText = (value: unknown): boolean => typeof value === 'string';
const isPair = (value: unknown): boolean => isList(isText)(value) && (value as unknown[]).length === 2;
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isSummary = (value: unknown): boolean =>
  isObject(value) && isObject(value.rows) && Array.isArray(value.files);

const isInputs = (value: unknown): boolean =>
  isList((input) => isObject(input) && isText(input.path) && isList(isText)(input.types))(value) &&
  (value as unknown[]).length > 0;

/** All columns with JSON. */
export const STORED = {
  options: { table: 'runs', column: 'options', of: ['run', 'run'], fits: isObject },
  summary: { table: 'runs', column: 'summary', of: ['run', 'run'], fits: isSummary },
  replaces: { table: 'runs', column: 'replaces', of: ['run', 'run'], fits: isList(isText) },
  inputs: { table: 'runs', column: 'inputs', of: ['run', 'run'], fits: isInputs },
  ranges: {
    table: 'requests',
    column: 'more',
    of: ['run', 'run'],
    fits: isList(
      (range) => isObject(range) && [range.input, range.first_row, range.end_row, range.rows].every(isNumber),
    ),
  },
  job: { table: 'jobs', column: 'record', of: ['job', 'job_id'], fits: isObject },
  reading: {
    table: 'rejects',
    column: 'reading',
    of: ['run', 'run'],
    fits: (reading) =>
      isObject(reading) &&
      isList(isText)(reading.columns) &&
      isObject(reading.rules) &&
      isList(isPair)(reading.set),
  },
  unsent: {
    table: 'rejects',
    column: 'unsent',
    of: ['run', 'run'],
    fits: (unsent) => isObject(unsent) && Array.isArray(unsent.inputs) && isObject(unsent.options),
  },
  cellKeys: { table: 'fingerprints', column: 'keys', of: ['batch', 'send'], fits: isList(isText) },
  columnTypes: {
    table: 'scopes',
    column: 'column_types',
    of: ['account', 'scope'],
    fits: (types) => isObject(types) && Object.values(types).every(isList(isList(isText))),
  },
} satisfies Record<string, Column>;

/**
 * The value in a column with JSON.
 * @param record the run, job, or batch, as `of` of the column says
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
function parsed(text: unknown, { fits }: Column): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return fits(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const damage = ({ table, column, of: [words] }: Column, record: string | number): string =>
  `${words} ${record} has damaged JSON in ${table}.${column}`;

/** Finds damaged JSON in one column. */
export async function* damagedIn(on: Reader, column: Column): AsyncGenerator<string> {
  const { table, column: name, of } = column;
  const rows = on.each<{ record: string | number; text: unknown }>(
    `SELECT ${of[1]} AS record, ${name} AS text FROM ${table} WHERE ${name} IS NOT NULL`,
  );
  for await (const { record, text } of rows) {
    if (parsed(text, column) === undefined) yield damage(column, record);
  }
}
