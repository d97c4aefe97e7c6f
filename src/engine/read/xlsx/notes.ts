/** What is known of a sheet and its cells beyond their text. Plain data. */
import type { Evidence } from '../wording.js';

/** What a cell was, where that decides about its column. */
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
}

/** What a batch tells of one column beyond the text of its cells. */
export interface CellNotes {
  numbers: number;
  booleans: number;
  errors: number;
  firstError: Evidence | null;
  /** First formula without a value. */
  uncomputed: Evidence | null;
  /** First cell that is a text and looks like a number: the column is text. */
  text: Evidence | null;
}

export const emptyNotes = (): CellNotes => ({
  numbers: 0,
  booleans: 0,
  errors: 0,
  firstError: null,
  uncomputed: null,
  text: null,
});

export interface SheetChoice {
  /** Its name. */
  name: string;
  /** Other sheets that can be seen; none where this one was asked for. */
  others: string[];
}
