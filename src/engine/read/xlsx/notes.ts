/** Facts about a sheet and its cells beyond their text. Plain data. */
import type { Evidence } from '../wording.js';

/** The type of a cell in the workbook, as far as it matters to its column. */
export enum Is {
  empty,
  text,
  number,
  /** A date or a time, as ISO text. */
  date,
  boolean,
  /** `#REF!`, `#N/A`, … */
  error,
  /** A formula that no program has computed. */
  uncomputed,
  /** A number that is formatted as a date, and is none. */
  noDay,
}

/** What the scan of a batch found in one column beyond the text of its cells. */
export interface CellNotes {
  numbers: number;
  booleans: number;
  errors: number;
  firstError: Evidence | null;
  dates: number;
  firstDate: Evidence | null;
  /** First formula without a value. */
  uncomputed: Evidence | null;
  /** First text cell that looks like a number: it makes the column text. */
  text: Evidence | null;
  /** First text cell that looks like a date. */
  dateText: Evidence | null;
}

export const emptyNotes = (): CellNotes => ({
  numbers: 0,
  booleans: 0,
  errors: 0,
  firstError: null,
  dates: 0,
  firstDate: null,
  uncomputed: null,
  text: null,
  dateText: null,
});

export interface SheetChoice {
  name: string;
  /** Other visible sheets; none if this one was requested. */
  others: string[];
}
