/** How the rows of a plan compare with what the service has (contract §3 "Review before sending"). */

/** How a row compares with what the service has. */
export const ROW_CLASSES = ['new', 'changed', 'refreshed', 'unchanged'] as const;
export type RowClass = (typeof ROW_CLASSES)[number];

/** In how many changed rows a key differs from what was sent last. */
export interface KeyChange {
  key: string;
  rows: number;
}

/** With `changedOnly`: how the rows compare with what the service has, sent or not. */
export interface PlanChanges {
  /** The state knows nothing of their identifiers. */
  new: number;
  changed: number;
  /** As they were, but completed longer ago than `refreshAfterMs`. */
  refreshed: number;
  unchanged: number;
  /** With `trackKeys`, most rows first. */
  keys?: KeyChange[] | undefined;
}
