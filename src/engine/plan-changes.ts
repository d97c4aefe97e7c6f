/**
 * Types for how the rows of a plan compare with what the service has (contract §3 "Review before sending").
 */

/** How a row compares with what the service has. */
export const ROW_CLASSES = ['new', 'changed', 'refreshed', 'unchanged'] as const;
export type RowClass = (typeof ROW_CLASSES)[number];

/** The number of changed rows in which a key differs from the last send. */
export interface KeyChange {
  key: string;
  rows: number;
}

/** With `changedOnly`: how many rows are new, changed, and unchanged. */
export interface PlanChanges {
  /** Rows with identifiers that the state does not have. */
  new: number;
  /** Rows that differ from what the service completed last, or whose outcome is unknown. */
  changed: number;
  /** Unchanged rows that were completed longer ago than `refreshAfterMs`. They are sent again. */
  refreshed: number;
  /** Rows that are the same as what the service completed last. They are not sent. */
  unchanged: number;
  /** With `trackKeys`: counts by key, most rows first. */
  keys?: KeyChange[] | undefined;
}
