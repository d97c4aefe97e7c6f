/**
 * A chunk: the rows of one request, the body that is sent (spec: Endpoints 1 and 3), and what the state records about
 * them.
 */
import { ENVELOPE, envelopeBytes, ID_FIELD, type Kind } from '../model.js';
import {
  bodyMemory,
  type ItemBatch,
  mergeUpserts,
  parseItem,
  type RowColumns,
  startOf,
} from '../read/index.js';
import type { RequestRows } from '../state/history.js';
import type { RequestRecord } from '../state/requests.js';
import { isInDoubt, requestStatus } from '../states.js';

/** A request body, and the positions of its items. */
export interface Body {
  kind: Kind;
  /** UTF-8 JSON. */
  body: Buffer<ArrayBuffer>;
  /** For each item: the byte offset of its end (exclusive) in the body. */
  ends: Uint32Array;
}

/** The JSON text (UTF-8) of each item in a body. The results share the memory of the body. */
export function itemsOf({ kind, body, ends }: Body): Uint8Array[] {
  return Array.from(ends, (end, index) =>
    body.subarray(index === 0 ? ENVELOPE[kind].open.length : ends[index - 1]! + 1, end),
  );
}

/**
 * Writes a body of known size: envelope, items, and the commas between them. `bytes` in the constructor is
 * the exact size of the body.
 */
export class BodyWriter {
  readonly #body: Buffer<ArrayBuffer>;
  readonly #ends: Uint32Array;
  readonly #kind: Kind;
  #at: number;
  #items = 0;

  constructor(kind: Kind, items: number, bytes: number) {
    this.#body = Buffer.from(bodyMemory.take(bytes).buffer, 0, bytes);
    this.#ends = new Uint32Array(items);
    this.#kind = kind;
    this.#at = this.#body.write(ENVELOPE[kind].open);
  }

  add(item: Uint8Array): void {
    this.#body.set(item, this.#at);
    this.#at += item.length;
    this.#ends[this.#items++] = this.#at;
    this.#body[this.#at++] = 0x2c; // a comma
  }

  /** Appends items of a batch, at least one, including the commas between them. */
  addAll(batch: ItemBatch, from: number, to: number): void {
    const { items, ends } = batch;
    const [start, end] = [startOf(batch, from), ends[to - 1]!];
    this.#body.set(items.subarray(start, end), this.#at);
    const [own, before, shift] = [this.#ends, this.#items - from, this.#at - start - 1];
    for (let at = from; at < to; at++) own[before + at] = ends[at]! + shift;
    this.#items += to - from;
    this.#at += end - start;
  }

  finish(): Body {
    // The end of the envelope overwrites the last comma.
    this.#body.write(ENVELOPE[this.#kind].close, this.#items > 0 ? this.#at - 1 : this.#at);
    return { kind: this.#kind, body: this.#body, ends: this.#ends };
  }
}

/** Builds a body from these items. */
export function bodyOf(kind: Kind, items: readonly Uint8Array[]): Body {
  const commas = Math.max(0, items.length - 1);
  const bytes = items.reduce((sum, item) => sum + item.length, envelopeBytes(kind) + commas);
  const writer = new BodyWriter(kind, items.length, bytes);
  for (const item of items) writer.add(item);
  return writer.finish();
}

/** A body with items that may share identifiers. */
interface Rows extends Body {
  /** Keyed hash of each item's identifier. */
  prints: { ids: BigUint64Array };
  /** Ids that may appear in it more than once. */
  shared: ReadonlySet<bigint>;
}

/**
 * Makes the body that is sent, in which each id appears once: later rows are merged over earlier ones
 * (contract §3 "Plan, then send", 5).
 * @returns `items`: number of items in the body; `merged`: number of rows that were merged into others
 */
export function serialize(rows: Rows): { body: Buffer<ArrayBuffer>; items: number; merged: number } {
  const { kind, body, ends, shared } = rows;
  if (shared.size === 0) return { body, items: ends.length, merged: 0 };
  const items = mergeDuplicates(rows);
  return { body: bodyOf(kind, items).body, items: items.length, merged: ends.length - items.length };
}

function mergeDuplicates(rows: Rows): Uint8Array[] {
  const items: Uint8Array[] = [];
  /** Index in `items` by identifier. Not by its hash: profiles with equal hashes must not be merged. */
  const places = new Map<string, number>();
  for (const [index, item] of itemsOf(rows).entries()) {
    if (!rows.shared.has(rows.prints.ids[index]!)) {
      items.push(item);
      continue;
    }
    const later = parseItem(item);
    const id = String(later[ID_FIELD[rows.kind]]);
    const place = places.get(id);
    if (place === undefined) {
      places.set(id, items.push(item) - 1);
    } else {
      items[place] = Buffer.from(JSON.stringify(mergeUpserts(parseItem(items[place]!), later)));
    }
  }
  return items;
}

/** Rows of one input within a chunk. */
export interface ChunkPart {
  /** Index of the input in the run. */
  input: number;
  first_row: number;
  /**
   * Exclusive. The range includes rejected and unchanged rows, so that the parts of an input leave no gap.
   */
  end_row: number;
  /**
   * Index of its first item in the chunk. Its last item is the one before the first item of the next part.
   */
  from: number;
}

/**
 * The rows of one request, from one input or several consecutive ones, with an item for each row to send.
 * Duplicates are not merged yet. If no row is to be sent, there are no items. Columns of numbers, not an
 * object for each row: many chunks of thousands of rows can be in memory at once.
 */
export interface Chunk extends Body {
  /** At least one, in order. */
  parts: ChunkPart[];
  /** Number of rows that the service already has. They are not among the items. */
  unchanged: number;
  /** Rows that are not sent because a later request has sent their ids. In order; not among the items. */
  leftOut: LeftOut[];
  /** Why the service rejected its rows before, as they are: they are not sent. Null if they are. */
  rejected: string | null;
  /** For each item: the line on which its row begins. */
  lines: RowColumns['lines'];
  /** For each item: its row, counted in its input from 0. */
  rows: RowColumns['rows'];
  /** For each item: the number of unchanged rows of this chunk before it. */
  skipped: Uint32Array;
  prints: Pick<RowColumns, 'ids' | 'contents'>;
  /**
   * Keyed hashes of its ids that appear more than once in the inputs of the kind. Requests that share such an
   * id must not be in progress at the same time.
   */
  shared: Set<bigint>;
  /** The request of an earlier session or a saved plan with these rows; null for a new one. */
  recorded: RequestRecord | null;
}

/** `submitted`: the service has acknowledged it. `unknown`: it may have arrived. */
export type SentBefore = 'submitted' | 'unknown';

export interface LeftOut {
  input: number;
  row: number;
  line: number;
  /** Keyed hash of the row's identifier. */
  id: bigint;
  /** The run that sent its id later. */
  by: string;
  /** If an earlier attempt sent it, or a request whose rows this one sends again: what became of it (`markSent`). */
  before: SentBefore | null;
}

/** The ranges of a chunk, as the state records them. */
export function rangesToRecord({ parts, lines, leftOut }: Chunk): RequestRecord['more'] {
  return parts.map(({ input, first_row, end_row, from }, index) => {
    const to = parts[index + 1]?.from ?? lines.length;
    const [first, last] =
      to > from ? [lines[from], lines[to - 1]] : ends(leftOut.filter((row) => row.input === input));
    return { input, first_row, end_row, first_line: first ?? 0, last_line: last ?? 0, rows: to - from };
  });
}

/** The rows of a chunk, as the state records them for the history. */
export function rowsToRecord({ parts, lines, leftOut }: Chunk): RequestRows {
  const listed = (before: LeftOut['before']): RequestRows['leftOut'] => {
    const rows = leftOut.filter((row) => row.before === before);
    return {
      ids: BigUint64Array.from(rows, ({ id }) => id),
      lines: parts.map(({ input }) => ({
        input,
        lines: rows.filter((row) => row.input === input).map(({ line }) => line),
      })),
    };
  };
  return {
    lines: parts.map(({ input, from }, index) => ({
      input,
      lines: lines.subarray(from, parts[index + 1]?.from),
    })),
    leftOut: listed(null),
    overtaken: listed('submitted'),
    doubtful: listed('unknown'),
  };
}

const ends = (rows: readonly LeftOut[]): [number | undefined, number | undefined] => [
  rows[0]?.line,
  rows.at(-1)?.line,
];

/** For the items of one part: their rows. @param part index in `parts` */
export const rowsIn = (chunk: Chunk, part: number): Float64Array =>
  chunk.rows.subarray(chunk.parts[part]!.from, chunk.parts[part + 1]?.from);

/**
 * The ranges of recorded requests. A request has all rows from the start of its first range to the end of its
 * last, in all inputs between them. Rows must be asked for in order.
 */
export class RecordedRanges {
  readonly #requests: readonly RequestRecord[];
  /** Index of the first request that ends after the row of the last call. */
  #next = 0;
  /** The last result of `rule`, which is the same for all rows of a request. */
  #decided: { request: RequestRecord; again: boolean } | null = null;

  constructor(
    requests: readonly RequestRecord[],
    private readonly rule = (r: RequestRecord): boolean => isInDoubt(requestStatus(r)),
  ) {
    this.#requests = [...requests].sort((a, b) => a.input - b.input || a.first_row - b.first_row);
  }

  /**
   * Finds the request of a row.
   * @param row must not be before the row of the previous call
   * @returns `request`: null if no request has the row; `until`: the row (exclusive) up to which the result
   * holds
   */
  at(input: number, row: number): { request: RequestRecord | null; until: number } {
    let near = this.#requests[this.#next];
    while (near && row >= endIn(near, input)) near = this.#requests[++this.#next];
    if (!near) return { request: null, until: Number.POSITIVE_INFINITY };
    const start = startIn(near, input);
    return row < start ? { request: null, until: start } : { request: near, until: endIn(near, input) };
  }

  /** Whether the rows of a recorded request are sent again, by the rule of the constructor. */
  isSentAgain(request: RequestRecord): boolean {
    if (this.#decided?.request !== request) this.#decided = { request, again: this.rule(request) };
    return this.#decided.again;
  }
}

/**
 * The row of an input at which a request begins: 0 in inputs after its first one, infinity in inputs before
 * it.
 */
const startIn = (r: RequestRecord, input: number): number =>
  input === r.input ? r.first_row : input < r.input ? Number.POSITIVE_INFINITY : 0;

/**
 * The row (exclusive) of an input at which a request ends: infinity in inputs before its last one, 0 after
 * it.
 */
function endIn(r: RequestRecord, input: number): number {
  const last = r.more.at(-1) ?? r;
  return input === last.input ? last.end_row : input < last.input ? Number.POSITIVE_INFINITY : 0;
}
