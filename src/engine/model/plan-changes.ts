/** Types for how a plan compares with what the service has, and what it does (contract §3 "Review before sending"). */

/** How a row compares with what the service has. */
export const ROW_CLASSES = ['new', 'changed', 'refreshed', 'unchanged', 'rejected'] as const;
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
  /** Rows that a search for rows at fault rejected, and that have not changed since. They are not sent. Absent if 0. */
  rejected?: number | undefined;
  /** With `trackKeys`: counts by key, most rows first. */
  keys?: KeyChange[] | undefined;
}

/** The keys of users, compared with the user properties of the service. */
export interface PropertyCheck {
  /** Keys that the service does not have. */
  new: string[];
  /** Keys that the service does not have, but that are like one that it has: `plan_teir`, like `plan_tier`. */
  near: { key: string; like: string }[];
  /** Keys with another type than the `data_type` of the service (spec: User property lookup record). */
  types: { key: string; here: string; service: string }[];
}

/** What a plan does with the rows. `read = filtered + rejected + merged + unchanged + to_send`, unless a run continues. */
export interface PlanTotals {
  read: number;
  filtered: number;
  rejected: number;
  /** Those of them that the service rejected before (`PlanChanges.rejected`). They hold nothing back. Absent if 0. */
  rejected_before?: number | undefined;
  merged: number;
  unchanged: number;
  to_send: number;
  /** Null if only sending can tell. */
  requests: number | null;
  bytes: number | null;
  /** Why nothing is sent: rows are `invalid`, or more are `changed` than is allowed. Null if rows are sent. */
  stopped_by: 'invalid' | 'changed' | null;
}
