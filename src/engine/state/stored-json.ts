/** Reads the JSON that tables hold. Only this program writes it, so JSON of another form means a damaged database. */
import { StateError } from '../errors.js';
import { isObject } from '../util/json-object.js';
import type { Reader } from './database.js';

/** A column that holds JSON. */
interface Column {
  table: keyof typeof NAMES;
  column: string;
  /** Checks as much of the form as its readers need to do no harm. */
  fits: (value: unknown) => boolean;
}

/** For each table: what its record is, in words, and the column of its name. */
const NAMES = {
  runs: ['run', 'run'],
  requests: ['run', 'run'],
  jobs: ['job', 'job_id'],
  rejects: ['run', 'run'],
  fingerprints: ['batch', 'send'],
  scopes: ['account', 'scope'],
} as const;

const at = (table: Column['table'], column: string, fits: Column['fits']): Column => ({
  table,
  column,
  fits,
});

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

const isRange = (range: unknown): boolean =>
  isObject(range) && [range.input, range.first_row, range.end_row, range.rows].every(isNumber);
const isReading = (reading: unknown): boolean =>
  isObject(reading) &&
  isList(isText)(reading.columns) &&
  isObject(reading.rules) &&
  isList(isPair)(reading.set);
const isUnsent = (unsent: unknown): boolean =>
  isObject(unsent) && Array.isArray(unsent.inputs) && isObject(unsent.options);
const isColumnTypes = (types: unknown): boolean =>
  isObject(types) && Object.values(types).every(isList(isList(isText)));

/** All columns with JSON. */
export const STORED = {
  options: at('runs', 'options', isObject),
  summary: at('runs', 'summary', isSummary),
  replaces: at('runs', 'replaces', isList(isText)),
  inputs: at('runs', 'inputs', isInputs),
  ranges: at('requests', 'more', isList(isRange)),
  job: at('jobs', 'record', isObject),
  reading: at('rejects', 'reading', isReading),
  unsent: at('rejects', 'unsent', isUnsent),
  cellKeys: at('fingerprints', 'keys', isList(isText)),
  columnTypes: at('scopes', 'column_types', isColumnTypes),
};

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

const damage = ({ table, column }: Column, record: string | number): string =>
  `${NAMES[table][0]} ${record} has damaged JSON in ${table}.${column}`;

/** Finds damaged JSON in one column. */
export async function* damagedIn(on: Reader, column: Column): AsyncGenerator<string> {
  const { table, column: name } = column;
  const rows = on.each<{ record: string | number; text: unknown }>(
    `SELECT ${NAMES[table][1]} AS record, ${name} AS text FROM ${table} WHERE ${name} IS NOT NULL`,
  );
  for await (const { record, text } of rows) {
    if (parsed(text, column) === undefined) yield damage(column, record);
  }
}
