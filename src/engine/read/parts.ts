/** What a batch contributes to the scan. Plain data: it is made on any thread and added up on one. */

import type { RejectedRow } from '../model.js';
import type { FieldStats } from './json/field-stats.js';
import type { ColumnStats, Evidence } from './mapping/stats.js';
import type { Target } from './mapping/targets.js';
import type { SiftedPart } from './sifter.js';
import type { RejectedRecord } from './types.js';

export interface ScanPart {
  read: number;
  rejected: RejectedRecord[];
  /** Of the accepted rows: UTF-8 bytes of their items, with every inferred column taken as text. */
  bytes: number;
  largest: number;
  /** Keyed hashes of the accepted rows' identifiers. */
  ids: BigUint64Array<ArrayBuffer>;
  /** The first accepted row; null when there is none. */
  sample: { ordinal: number; original: RejectedRow['original'] } | null;
  /** Rows whose size is within the limit only if some columns turn out as numbers, by ordinal. */
  unsettled: number[];
  /** Users, where they are wanted: the companies that the accepted rows name, hashed as a company row's identifier is. */
  companies: BigUint64Array<ArrayBuffer> | null;
  /** First identifier that a spreadsheet seems to have rounded, and how many there are. */
  rounded: { first: Evidence | null; count: number };
  columns: CsvColumnPart[] | FieldPart[];
  /** What is left to send of the accepted rows; null where that was not asked, or cannot be kept. */
  sifted: SiftedPart | null;
}

export interface CsvColumnPart {
  stats: ColumnStats;
  /** Non-empty cells of rows that are not among the accepted ones. */
  outside: number;
}

export interface FieldPart extends Pick<Target, 'column' | 'role' | 'key' | 'because'> {
  stats: FieldStats;
}

/** What spreadsheets make of a long number: `1.23E+11`. */
export const ROUNDED_ID = /^[+-]?\d(?:[.,]\d+)?E\+\d+$/i;
