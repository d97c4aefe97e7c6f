/** Numbers of the plan that need no second look at the rows. Pure. */
import { envelopeBytes, type Kind } from '../model.js';

/** What the scans of all inputs of a kind know of the rows that would be sent. */
export interface Volume {
  kind: Kind;
  rows: number;
  /** UTF-8 bytes of all items. */
  bytes: number;
  largestItemBytes: number;
}

/** Requests of an import, as they were counted or measured. */
export interface RequestTotals {
  requests: number;
  bytes: number;
  /** Rows that are merged into others of the same identifier. */
  merged: number;
  unchanged: number;
}

/**
 * Requests and bytes of a kind when every row is sent by itself. `exact` is false where the byte limit may
 * cut a request short: then the number of requests is the least it can be, and only chunking tells.
 * @param canary items of the first request, where that is one
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
  // Every item but the first of a request has a comma before it.
  return { requests, bytes: bytes + requests * envelope + (rows - requests), exact };
}

/** Seconds until the service has worked it all off; null when the throughput of some kind is not known. */
export function estimateSeconds(work: readonly { rows: number; throughput: number | null }[]): number | null {
  let seconds = 0;
  for (const { rows, throughput } of work) {
    if (rows === 0) continue;
    if (throughput === null) return null;
    seconds += rows / throughput;
  }
  return work.length === 0 ? null : Math.round(seconds * 10) / 10;
}
