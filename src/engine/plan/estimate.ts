/** Computes numbers of the plan without reading the rows again. Pure. */
import { envelopeBytes, type FileRows, type Kind } from '../model.js';

/** Totals of the rows of a kind to send, from the scans of its inputs. */
export interface Volume {
  kind: Kind;
  rows: number;
  /** UTF-8 bytes of all items. */
  bytes: number;
  largestItemBytes: number;
}

/** Totals of the requests of an import. */
export interface RequestTotals {
  /** Whether `requests`, `bytes`, `merged`, and `unchanged` are exact. */
  exact: boolean;
  requests: number;
  /** UTF-8 bytes of all bodies. */
  bytes: number;
  /** Rows that are merged into others of the same identifier. */
  merged: number;
  unchanged: number;
  /** Items of all bodies, by kind. */
  items: Map<Kind, number>;
}

/**
 * Computes the requests and bytes of a kind, if no rows are merged.
 * @param canary items of the first request, if it is a canary
 * @returns `exact` is false if the byte limit may end a request early; then `requests` is a minimum
 */
export function measure(
  volume: Volume,
  limits: { items: number; bytes: number },
  canary: number | null = null,
): { requests: number; bytes: number; exact: boolean } {
  const { kind, rows, bytes, largestItemBytes } = volume;
  if (rows === 0) return { requests: 0, bytes: 0, exact: true };
  const envelope = envelopeBytes(kind);
  const exact = Math.min(rows, limits.items) * (largestItemBytes + 1) + envelope - 1 <= limits.bytes;
  const first = Math.min(rows, limits.items, canary ?? 0);
  const byItems = (first > 0 ? 1 : 0) + Math.ceil((rows - first) / limits.items);
  const requests = exact ? byItems : Math.max(byItems, Math.ceil((bytes + rows) / limits.bytes));
  // Every item except the first of a request has a comma before it.
  return { requests, bytes: bytes + requests * envelope + (rows - requests), exact };
}

/** Seconds until the service has processed everything; null if the throughput of a kind is not known. */
export function estimateSeconds(work: readonly { rows: number; throughput: number | null }[]): number | null {
  let seconds = 0;
  for (const { rows, throughput } of work) {
    if (rows === 0) continue;
    if (throughput === null) return null;
    seconds += rows / throughput;
  }
  return work.length === 0 ? null : Math.round(seconds * 10) / 10;
}

/** Row counts of several inputs together. */
export function sumRows(all: readonly FileRows[]): FileRows {
  const sum = { read: 0, filtered: 0, rejected: 0 };
  for (const rows of all) {
    sum.read += rows.read;
    sum.filtered += rows.filtered;
    sum.rejected += rows.rejected;
  }
  return sum;
}
