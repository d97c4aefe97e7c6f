/** Imports of rejects files: what their columns say, and how to recognize rows that were not edited. */
import type { MappingRules } from '../options/mapping-rules.js';
import { firstWhere } from '../util/bisect.js';
import { Hashes } from './hashes.js';
import { type IdentifierCheck, identifierCheck } from './identifier.js';
import { quoted } from './wording.js';

/** The prefix of the columns that this program adds to rejects files. */
export const OWN_PREFIX = '_profiles_';
const LINE = `${OWN_PREFIX}line`;
export const ERROR = `${OWN_PREFIX}error`;
export const RUN = `${OWN_PREFIX}run`;
export const EXTRA = `${OWN_PREFIX}extra`;
/** The columns that a rejects file has after those of its input. */
export const OWN_COLUMNS = [LINE, ERROR, RUN, EXTRA] as const;

/** What the beginning of a rejects file shows. */
export interface RejectsHead {
  /** The run, from the first rows; null if they do not name one. */
  run: string | null;
  /** CSV: the delimiter, from the columns that this program added. JSON: null. */
  delimiter: string | null;
  /** CSV: columns of the input. JSON: empty. */
  columns: string[];
}

/** What the rows of a rejects file are checked against. Plain data. */
export interface Again {
  /** Runs that its rows may come from. Other runs may have read their files differently. */
  runs: string[];
  /** Key of the hashes. */
  key: string;
  /**
   * Hashes, ascending, of rows that were rejected only because of their shape, which this file does not show, and of
   * identifiers as they were (`idText`).
   */
  unedited: BigUint64Array;
  /** Columns that rules of this import name. Columns of the run's own rules may be missing from the file. */
  named: string[];
  /** CSV: columns of the file that its run did not read, and that no rule names. */
  added: string[];
  /** What is remembered of the rejects files of the run: what it did not send. */
  records: { run: string; owner: string; unsent: unknown; written_at: string }[];
}

/** Indexes of the input's own columns, without those of a rejects file. */
export const keptColumns = (columns: readonly string[]): number[] =>
  columns.flatMap((column, index) => (column.startsWith(OWN_PREFIX) ? [] : [index]));

/** A run as `_profiles_run` names it: a text of another form there is a cell that was moved. */
const RUN_ID = /^\d{8}-\d{6}-[a-z0-9]{4}$/;

/** By how many cells the run of a longer row, and so each column of this program, is moved: cells were inserted. */
export function movedBy(row: readonly string[], columns: readonly string[]): number {
  const run = columns.indexOf(RUN);
  if (run < 0) return 0;
  const places = row.slice(run, run + 1 + row.length - columns.length);
  return Math.max(
    places.findIndex((cell) => RUN_ID.test(cell)),
    0,
  );
}

/** Whether a row has surplus cells. Empty ones count, too, unless the run in its place shows that none is moved. */
export function hasSurplus(row: readonly string[], columns: readonly string[]): boolean {
  const surplus = row.slice(columns.length);
  return (
    surplus.some((cell) => cell !== '') || (surplus.length > 0 && !RUN_ID.test(row[columns.indexOf(RUN)]!))
  );
}

/** Hashes of rows as they are in a rejects file: of `JSON.stringify` of the input's cells. @param key hexadecimal */
export const rowHashes = (key: string): Hashes => new Hashes(Buffer.from(key, 'hex'), 'row');

/** Tells whether the hash of a text is among those of a rejects file. */
function hashed({ key, unedited }: Again): (text: string) => boolean {
  if (unedited.length === 0) return () => false;
  const hashes = rowHashes(key);
  return (text) => {
    const hash = hashes.of(text);
    return unedited[firstWhere(unedited.length, (at) => unedited[at]! >= hash)] === hash;
  };
}

/** What is hashed of an identifier. Never equals a row, because JSON has no line breaks. */
export const idText = (column: string, id: string): string => `${column}\n${id}`;

/** A whole number, as spreadsheets write it. */
const WITHOUT_ZEROS = /^(?:0|[1-9]\d*)$/;
/** The most zeros in front of an identifier that are looked for. */
const MOST_ZEROS = 18;

/** What decides which identifiers of an input are accepted. */
interface Accepting {
  again?: Again | undefined;
  rules: MappingRules;
}

/** Finds what an identifier was when its row was rejected, if it has lost the zeros in front since; otherwise null. */
export function idBefore({ again, rules }: Accepting) {
  if (!again) return () => null;
  const isKnown = hashed(again);
  return (id: string, column: string): string | null => {
    const isRight = !WITHOUT_ZEROS.test(id) || rules.allowIds?.includes(id) || isKnown(idText(column, id));
    if (isRight) return null;
    for (let zeros = '0'; zeros.length <= MOST_ZEROS; zeros += '0')
      if (isKnown(idText(column, zeros + id))) return zeros + id;
    return null;
  };
}

/** Checks the identifiers of an input. In a rejects file, one without its zeros would be another profile. */
export function inputIdCheck(input: Accepting): IdentifierCheck {
  const check = identifierCheck(input.rules);
  if (!input.again) return check;
  const beforeOf = idBefore(input);
  return (id, column) => {
    const before = beforeOf(id, column);
    if (before === null) return check(id, column);
    return `${column} is ${quoted(id)}, which was ${quoted(before)} when it was rejected${LOST_ZEROS}`;
  };
}

const LOST_ZEROS = ': a program has removed its zeros';
/** Whether a row was rejected for an identifier without its zeros. */
export const hasLostZeros = (reason: string): boolean => reason.endsWith(LOST_ZEROS);

/** The reason for a row with too few or too many cells. */
const COUNTS = /^has (\d+) cells?, the header has (\d+)$/;
/** Whether a row was rejected for having too few cells. */
export const isShortRow = (reason: string): boolean => {
  const [, cells, header] = COUNTS.exec(reason) ?? [];
  return Number(cells) < Number(header);
};

/** The first check of a row of a rejects file. Returns why it is rejected, or null. */
export function refusalAgain(again: Again, columns: readonly string[], pads: boolean) {
  const kept = keptColumns(columns);
  const [error, run, extra] = [columns.indexOf(ERROR), columns.indexOf(RUN), columns.indexOf(EXTRA)];
  const isKnown = hashed(again);
  return (row: readonly string[]): string | null => {
    if (row.length < columns.length || hasSurplus(row, columns)) return null;
    const other = otherRun(row[run], again.runs);
    if (other !== null) return other;
    // By emptying the cell, the user says that the row is fine as it is.
    const reason = row[error] ?? '';
    if (reason === '') return null;
    const surplus = row[extra] ?? '';
    if (surplus !== '') return `${EXTRA} still holds ${quoted(surplus)}; move it or clear it`;
    // If short rows are to be padded, the row is accepted as it is here.
    if (pads && isShortRow(reason)) return null;
    return isKnown(JSON.stringify(kept.map((index) => row[index]!))) ? reason : null;
  };
}

/** The reason for a row that was copied from another rejects file; null if it was not. */
export function otherRun(run: unknown, runs: readonly string[]): string | null {
  if (typeof run !== 'string' || run === '' || runs.includes(run)) return null;
  return `${RUN} is ${run.slice(0, 40)}, which is not the run of the first row; import its rows from a separate file`;
}
