/**
 * Makes the plan (contract §3 "Plan, then send", 1 to 3): one pass over all inputs, in which every row is
 * read, mapped, typed, and checked. Sends nothing.
 */

import type { ImportEvent } from '../events.js';
import {
  type DialectPlan,
  envelopeBytes,
  type FilePlan,
  type FileRows,
  type Kind,
  type Plan,
  type RejectedRow,
} from '../model.js';
import type { Warning } from '../problems.js';
import { type OpenedInput, type Pool, type Scan, scanInput } from '../read/index.js';
import { DuplicateFinder, type Duplicates, EitherKind, repeatWarning } from './duplicates.js';
import { shareTypes, type TypedInput } from './shared-types.js';

/** An input after its scan. */
export interface PlannedInput {
  opened: OpenedInput;
  scan: Scan;
  /** Whether its rows may be users or companies. Only a look at the input continues then. */
  unclear?: boolean;
}

interface ScanDeps {
  /** Key of the hashes by which duplicates are found. */
  hashKey: Buffer;
  /** The most bytes of a request with one item. Rows with larger items are rejected. */
  itemLimitBytes: number;
  pool: Pool;
  signal: AbortSignal;
  /** Called with each rejected row, and the index of its input. */
  reject(input: number, row: RejectedRow): void;
  /** Only looks: what is not clear is said, and is not an error. */
  looks?: true;
  /** Collects the inputs, for types that those of several scans share. Default: they are shared here. */
  types?: TypedInput[];
}

export interface Scanned {
  inputs: PlannedInput[];
  duplicates: Map<Kind, Duplicates>;
  warnings: Warning[];
}

/**
 * Of the rows of all inputs, from the first, whose hashes are kept, so that they need not be hashed again: eight bytes for
 * each, so there is a limit.
 */
const ROWS_WITH_IDS = 2 ** 21;

/**
 * Scans all inputs. Yields rejections and progress as they come.
 * @param opened companies before users
 * @throws InputError; UsageError if it is not clear whether rows are users or companies; the reason of the
 * signal
 */
export async function* scanAll(
  opened: readonly OpenedInput[],
  deps: ScanDeps,
): AsyncGenerator<ImportEvent, Scanned> {
  const finders = new Map<Kind, DuplicateFinder>();
  const taken = { companies: 0, users: 0 };
  const scanned: PlannedInput[] = [];
  const absent: Warning[] = [];
  const types = deps.types ?? [];
  for (const [index, whole] of opened.entries()) {
    const input = withLimitLeft(whole, taken[whole.kind]);
    const { kind, path, stamp } = input;
    const finder = finders.get(kind) ?? new DuplicateFinder();
    finders.set(kind, finder);
    const companies = kind === 'users' ? finders.get('companies') : undefined;
    let absentHere = 0;
    const kinds = new EitherKind();
    const { parts, inferred, result } = scanInput(input, {
      ...{ hashKey: deps.hashKey, pool: deps.pool, signal: deps.signal, companies: companies !== undefined },
      itemLimitBytes: deps.itemLimitBytes - envelopeBytes(kind),
      idRows: deps.looks ? 0 : ROWS_WITH_IDS - taken.companies - taken.users,
    });
    for await (const part of parts) {
      finder.add(part.ids, part.lines && { path, lines: part.lines });
      if (part.companies && companies) absentHere += companies.countAbsent(part.companies);
      if (input.eitherKind) kinds.add(part);
      for (const row of part.rejected) {
        deps.reject(index, row);
        yield { type: 'rejected', file: row.file, line: row.line, reason: row.reason };
      }
      const { rows, bytes } = part.soFar;
      const read = { rows, total_rows: null, bytes, total_bytes: stamp.size };
      yield { type: 'progress', phase: 'planning', kind, ...read };
    }
    const scan = result();
    if (!deps.looks) kinds.check(input);
    taken[kind] += scan.rows.read - scan.rows.filtered;
    scanned.push({ opened: input, scan, ...(deps.looks && { unclear: kinds.unclear }) });
    types.push({ input: scanned.at(-1)!, inferred: inferred(), result });
    // Users with a company that is not among the companies of this import.
    const message = `${path}: ${absentHere} ${absentHere === 1 ? 'row names' : 'rows name'} a company_id that is not in the companies of this import`;
    if (absentHere > 0) absent.push({ message });
  }
  if (!deps.types) shareTypes(types);
  for (const finder of finders.values()) finder.settle();
  const warnings = scanned.flatMap(({ opened, scan }) => scan.warnings.map((one) => ofFile(opened, one)));
  const repeats = [...finders].flatMap(([kind, finder]) => {
    const ofKind = scanned.filter(({ opened }) => opened.kind === kind);
    const path = ofKind.length === 1 ? ofKind[0]!.opened.path : kind;
    return repeatWarning(finder, ofKind).map((one) => ofFile({ path }, one));
  });
  return { inputs: scanned, duplicates: finders, warnings: [...warnings, ...absent, ...repeats] };
}

/** A warning of the scan of one input, among those of others. */
export const ofFile = ({ path }: { path: string }, warning: Warning): Warning => ({
  ...warning,
  message: `${path}: ${warning.message}`,
});

/**
 * Reduces the limit of an input by the rows that earlier inputs have taken: it holds for all inputs of a
 * kind.
 */
function withLimitLeft(input: OpenedInput, taken: number): OpenedInput {
  const { selection } = input;
  if (selection === null || selection.limit === null || taken === 0) return input;
  return { ...input, selection: { ...selection, limit: selection.limit - taken } };
}

/** Row counts over all inputs. */
export const plannedRows = ({ inputs }: Scanned): FileRows => sumRows(inputs.map(({ scan }) => scan.rows));

/** The number of valid rows. */
export const acceptedOf = ({ read, filtered, rejected }: FileRows): number => read - filtered - rejected;

export const scansOf = ({ inputs }: Scanned, kind: Kind): Scan[] =>
  inputs.filter(({ opened }) => opened.kind === kind).map(({ scan }) => scan);

/** The digests of the inputs, by which a later session recognizes the same content. */
export const contentOf = ({ inputs }: Scanned): { path: string; kind: Kind; digest: string }[] =>
  inputs.map(({ opened, scan }) => ({ path: opened.path, kind: opened.kind, digest: scan.digest }));

function dialectPlan({ csv }: OpenedInput): DialectPlan | null {
  if (!csv) return null;
  const { skipLines, lenientQuotes, ...characters } = csv.dialect;
  return { ...characters, skip_lines: skipLines, lenient_quotes: lenientQuotes };
}

/** The part of the plan about one input. */
export function filePlanOf({ opened, scan }: PlannedInput): FilePlan {
  const { path, kind, format, encoding, delimiter } = opened;
  const { rows, columns, sample } = scan;
  return { path, kind, format, encoding, delimiter, dialect: dialectPlan(opened), rows, columns, sample };
}

/**
 * Makes the `plan` object from the scans and the totals of requests.
 * @param throughput rows per second, or null
 */
export function planOf(
  scanned: Scanned,
  totals: RequestTotals,
  throughput: (kind: Kind) => number | null,
): Plan {
  const files = scanned.inputs.map(filePlanOf);
  const work = [...scanned.duplicates.keys()].map((kind) => ({
    throughput: throughput(kind),
    rows: totals.items.get(kind) ?? 0,
  }));
  return {
    files,
    duplicates: [...scanned.duplicates.values()].reduce((sum, { count }) => sum + count, 0),
    requests: totals.requests,
    bytes: totals.bytes,
    estimated_seconds: estimateSeconds(work),
  };
}

/** Totals of the rows of a kind to send, from the scans of its inputs. */
export interface Volume {
  kind: Kind;
  rows: number;
  /** UTF-8 bytes of all items. */
  bytes: number;
  largestItemBytes: number;
}

/** Adds up the valid rows of all inputs of a kind. */
export function volumeOf(scanned: Scanned, kind: Kind): Volume {
  const volume: Volume = { kind, rows: 0, bytes: 0, largestItemBytes: 0 };
  for (const { rows, bytes, largestItemBytes } of scansOf(scanned, kind)) {
    volume.rows += acceptedOf(rows);
    volume.bytes += bytes;
    volume.largestItemBytes = Math.max(volume.largestItemBytes, largestItemBytes);
  }
  return volume;
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
export const sumRows = (all: readonly FileRows[]): FileRows => {
  const sum = (of: keyof FileRows): number => all.reduce((total, rows) => total + rows[of], 0);
  return { read: sum('read'), filtered: sum('filtered'), rejected: sum('rejected') };
};
