/**
 * A chunk: the rows of one request, the body that is sent (spec: Endpoints 1 and 3), and what the state records about
 * them.
 */

import type { RequestRange, RequestRecord } from '../model/requests.js';
import { ENVELOPE, envelopeBytes, ID_FIELD, type Kind } from '../model.js';
import {
  append,
  bodyMemory,
  emptyColumns,
  type ItemBatch,
  mergeUpserts,
  parseItem,
  startOf,
} from '../read/index.js';
import type { RequestRows } from '../state/history.js';

/** Items with what is known about each, in columns. */
type Items = Omit<ItemBatch, 'read' | 'rejected'>;

/** A body, and its items within it, each followed by a comma, the last one by the end of the envelope. */
export interface Body extends Items {
  kind: Kind;
  /** UTF-8 JSON. */
  body: Buffer<ArrayBuffer>;
  /** In the memory of the body. */
  items: Buffer<ArrayBuffer>;
}

/** Items `from` to `to` (exclusive) of a batch or a chunk. */
export interface Stretch {
  batch: Items;
  from: number;
  to: number;
}

/** Adds the item after those of the last stretch, or a stretch of it alone. */
export function extend(stretches: Stretch[], batch: Items, at: number): void {
  const last = stretches.at(-1);
  if (last?.batch === batch && last.to === at) last.to++;
  else stretches.push({ batch, from: at, to: at + 1 });
}

/** Copies items to a body. */
export function bodyOf(kind: Kind, stretches: readonly Stretch[]): Body {
  const columns = emptyColumns(stretches.reduce((sum, { from, to }) => sum + to - from, 0));
  const ends = new Uint32Array(columns.rows.length);
  const pieces: Uint8Array[] = [];
  let [at, end] = [0, 0];
  for (const { batch, from, to } of stretches) {
    const start = startOf(batch, from);
    pieces.push(batch.items.subarray(start, startOf(batch, to)));
    for (let item = from; item < to; item++) ends[at + item - from] = batch.ends[item]! + end - start;
    at = append(columns, at, batch, from, to);
    end += pieces.at(-1)!.length;
  }
  const body = enveloped(kind, pieces);
  const { open } = ENVELOPE[kind];
  return { kind, body, items: body.subarray(open.length, open.length + end), ends, ...columns };
}

/** @param pieces items, each followed by a comma */
function enveloped(kind: Kind, pieces: readonly Uint8Array[]): Buffer<ArrayBuffer> {
  const { open, close } = ENVELOPE[kind];
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  const bytes = envelopeBytes(kind) + Math.max(0, size - 1);
  const body = Buffer.from(bodyMemory.take(bytes).buffer, 0, bytes);
  let at = body.write(open);
  for (const piece of pieces) {
    body.set(piece, at);
    at += piece.length;
  }
  body.write(close, bytes - close.length); // over the last comma
  return body;
}

/** The JSON text (UTF-8) of each item in a body. The results share the memory of the body. */
export const itemsOf = ({ items, ends }: Pick<Items, 'items' | 'ends'>): Uint8Array[] =>
  Array.from(ends, (end, at) => items.subarray(at === 0 ? 0 : ends[at - 1]!, end - 1));

/** Rows whose ids may appear in it more than once. */
type Mergeable = Pick<Body, 'kind' | 'body' | 'items' | 'ends' | 'ids'> & { shared: ReadonlySet<bigint> };

/**
 * Makes the body that is sent, in which each id appears once: later rows are merged over earlier ones
 * (contract §3 "Plan, then send", 5).
 * @returns `items`: number of items in the body; `merged`: number of rows that were merged into others
 */
export function serialize(rows: Mergeable): { body: Buffer<ArrayBuffer>; items: number; merged: number } {
  const { kind, body, ends, ids, shared } = rows;
  if (shared.size === 0) return { body, items: ends.length, merged: 0 };
  const items: Uint8Array[] = [];
  /** Index in `items` by identifier. Not by its hash: profiles with equal hashes must not be merged. */
  const places = new Map<string, number>();
  for (const [at, item] of itemsOf(rows).entries()) {
    const later = shared.has(ids[at]!) ? parseItem(item) : null;
    const id = String(later?.[ID_FIELD[kind]]);
    const place = later ? places.get(id) : undefined;
    if (place !== undefined) {
      items[place] = Buffer.from(JSON.stringify(mergeUpserts(parseItem(items[place]!), later!)));
      continue;
    }
    items.push(item);
    if (later) places.set(id, items.length - 1);
  }
  const comma = Buffer.from(',');
  const pieces = items.flatMap((item) => [item, comma]);
  return { body: enveloped(kind, pieces), items: items.length, merged: ends.length - items.length };
}

/** Rows of one input; `end_row` is exclusive. */
export type Rows = Pick<RequestRange, 'input' | 'first_row' | 'end_row'>;

/** Whether a row is one of these. */
export const isIn = ({ input, first_row, end_row }: Rows, at: Pick<LeftOut, 'input' | 'row'>): boolean =>
  at.input === input && first_row <= at.row && at.row < end_row;

/** Unchanged rows between two items, and how many: of the others between them, none became an item. */
export type SameRows = Rows & { rows: number };

/** Adds a row to the last range, or a range of it alone. */
export function addRow(ranges: SameRows[], input: number, row: number, isNext: boolean): void {
  const last = ranges.at(-1);
  if (last && isNext && last.input === input) {
    last.end_row = row + 1;
    last.rows++;
  } else ranges.push({ input, first_row: row, end_row: row + 1, rows: 1 });
}

/**
 * Rows of one input within a chunk, also the rejected and unchanged ones, so that the parts of an input leave no gap. Its
 * items begin with that of the index `from`, and end before those of the next part.
 */
export type ChunkPart = Rows & { from: number };

/**
 * The rows of one request, from one input or several consecutive ones, with an item for each row to send.
 * Duplicates are not merged yet. If no row is to be sent, there are no items. Columns of numbers, not an
 * object for each row: many chunks of thousands of rows can be in memory at once.
 */
export interface Chunk extends Body {
  /** At least one, in order. */
  parts: ChunkPart[];
  /** Rows that the service already has, and their number. They are not among the items. */
  same: SameRows[];
  unchanged: number;
  /** Rows that are not sent because a later request has sent their ids. In order; not among the items. */
  leftOut: LeftOut[];
  /** Why the service rejected its rows before, as they are: they are not sent. Null if they are. */
  rejected: string | null;
  /**
   * Keyed hashes of its ids that appear more than once in the inputs of the kind. Requests that share such an
   * id must not be in progress at the same time.
   */
  shared: Set<bigint>;
  /** The request of an earlier session or a saved plan with these rows; null for a new one. */
  recorded: RequestRecord | null;
}

export interface LeftOut {
  input: number;
  row: number;
  line: number;
  /** Keyed hash of the row's identifier. */
  id: bigint;
  /** The run that sent its id later. */
  by: string;
  /**
   * What became of it, if an earlier attempt sent it, or a request whose rows this one sends again (`markSent`):
   * `submitted`: the service has acknowledged it. `unknown`: it may have arrived.
   */
  before: 'submitted' | 'unknown' | null;
}

/** For the items of one part: their values in a column. @param part index in `parts` */
const inPart = <T extends Uint32Array | Float64Array>({ parts }: Chunk, part: number, column: T): T =>
  column.subarray(parts[part]!.from, parts[part + 1]?.from) as T;

/** For the items of one part: their rows. @param part index in `parts` */
export const rowsIn = (chunk: Chunk, part: number): Float64Array => inPart(chunk, part, chunk.rows);

/** The ranges of a chunk, as the state records them. */
export const rangesToRecord = (chunk: Chunk): RequestRecord['more'] =>
  chunk.parts.map(({ input, first_row, end_row }, part) => {
    const sent = inPart(chunk, part, chunk.lines);
    const left = leftIn(chunk.leftOut, chunk.parts[part]!);
    const lines = sent.length > 0 ? sent : left;
    const [first_line, last_line] = [lines[0] ?? 0, lines.at(-1) ?? 0];
    return { input, first_row, end_row, first_line, last_line, rows: sent.length };
  });

const leftIn = (leftOut: readonly LeftOut[], part: Rows): number[] =>
  leftOut.filter((row) => isIn(part, row)).map(({ line }) => line);

/** The rows of a chunk, as the state records them for the history. */
export function rowsToRecord(chunk: Chunk): RequestRows {
  const { ids, parts } = chunk;
  const listed = (before: LeftOut['before']): RequestRows['leftOut'] => {
    const rows = chunk.leftOut.filter((row) => row.before === before);
    const lines = parts.map((part) => ({ input: part.input, lines: leftIn(rows, part) }));
    return { ids: BigUint64Array.from(rows, ({ id }) => id), lines };
  };
  const lines = parts.map(({ input }, part) => ({ input, lines: inPart(chunk, part, chunk.lines) }));
  return {
    sent: { ids, lines },
    leftOut: listed(null),
    overtaken: listed('submitted'),
    doubtful: listed('unknown'),
  };
}
