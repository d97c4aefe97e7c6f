/**
 * Cuts rows into requests (contract §3 "Plan, then send"): in input order, at most so many items and so
 * many bytes in each. Ranges that an earlier session recorded are skipped or cut exactly as
 * they were, so that a resume sends what was unknown and nothing that was acknowledged.
 */

import { envelopeBytes, type Kind } from '../model.js';
import {
  append,
  bytesOf,
  emptyColumns,
  type ItemBatch,
  type Range,
  type RowColumns,
  select,
  slice,
  startOf,
} from '../read/index.js';
import type { RequestRecord } from '../state/requests.js';
import { type Body, BodyWriter, bodyOf, itemsOf } from './body.js';

/**
 * Rows of one input that go out together, an item for each row to send: duplicates are not merged yet, and where every
 * row is unchanged there is none. Plain memory, without an object for each row: eight chunks of some thousands of rows
 * are under way at once.
 */
export interface Chunk extends Body {
  input: number;
  first_row: number;
  /** Exclusive. Rows that were rejected or unchanged are within, so the chunks of an input leave no gap. */
  end_row: number;
  unchanged: number;
  /** Rows whose id others have sent later, in order. They are not sent, and not among the items. */
  leftOut: LeftOut[];
  /** For each item: the line its row begins on. */
  lines: RowColumns['lines'];
  /** For each item: its row, counted in the input from 0. */
  rows: RowColumns['rows'];
  /** For each item: rows of this chunk before it that are unchanged. */
  skipped: Uint32Array;
  prints: Pick<RowColumns, 'ids' | 'contents' | 'records'>;
  /** Ids that stand more than once in the input: requests that share one must not overtake each other. */
  shared: Set<bigint>;
  /** The request of an earlier session that this one repeats. */
  recorded: RequestRecord | null;
}

export interface LeftOut {
  row: number;
  line: number;
  /** Who sent its id later. */
  by: string;
}

export interface CutRules {
  kind: Kind;
  input: number;
  /** Read for each row: a 413 lowers them on the way. */
  limits: { items: number; bytes: number };
  /** Ids that stand more than once. */
  duplicates: { count: number; repeated: { has(id: bigint): boolean } };
  /** Whether the service holds this row already; null when everything is sent. */
  isUnchanged: ((rows: ItemBatch, at: number) => boolean) | null;
  /** Who sent this id later than the run did, of a request that it repeats or, with null, at all; null in a first session. */
  sentLater?: ((id: bigint, repeats: RequestRecord | null) => string | null) | null | undefined;
  /** Requests of earlier sessions for this input, by first row; withdrawn ones left out. */
  recorded: readonly RequestRecord[];
}

/** Cuts the batches of one input into chunks. Stops reading when its consumer stops. */
export async function* cutChunks(
  batches: AsyncIterable<ItemBatch> | Iterable<ItemBatch>,
  rules: CutRules,
): AsyncGenerator<Chunk> {
  const recorded = [...rules.recorded].sort((a, b) => a.first_row - b.first_row);
  let draft = null as Draft | null;
  let range = 0;
  for await (const batch of batches) {
    for (let i = 0; i < batch.ends.length; i++) {
      const end = batch.rows[i]! + (batch.unchanged?.[i] || 1);
      for (let row = batch.rows[i]!, next = end; row < end; row = next, next = end) {
        while (recorded[range] && row >= recorded[range]!.end_row) range++;
        const here = recorded[range] && row >= recorded[range]!.first_row ? recorded[range]! : null;
        // A run of unchanged rows may reach into a range and out of it again.
        if (recorded[range]) next = Math.min(end, here ? here.end_row : recorded[range]!.first_row);
        if (draft && draft.recorded !== here) {
          yield draft.cut();
          draft = null;
        }
        if (here && here.state !== 'intent' && here.state !== 'unknown') continue;

        draft ??= new Draft(rules, row, here);
        if (!here && !draft.fits(bytesOf(batch, i))) {
          yield draft.cut();
          draft = new Draft(rules, row, here);
        }
        if (batch.unchanged?.[i]) draft.skip(row, next);
        else draft.add(batch, i);
      }
    }
    draft?.leave(batch);
  }
  if (draft) yield draft.cut();
}

/** Items `from` to `to` of a batch, all of them in the chunk, with so many unchanged rows of it before them. */
interface Stretch {
  batch: ItemBatch;
  from: number;
  to: number;
  skipped: number;
}

/** A chunk while it grows. */
class Draft {
  readonly #stretches: Stretch[] = [];
  readonly #shared = new Set<bigint>();
  readonly #leftOut: LeftOut[] = [];
  #items = 0;
  /** Of the body, the envelope included. */
  #bytes: number;
  #unchanged = 0;
  #end: number;

  constructor(
    private readonly rules: CutRules,
    private readonly first: number,
    readonly recorded: RequestRecord | null,
  ) {
    this.#bytes = envelopeBytes(rules.kind);
    this.#end = first;
  }

  /** Whether a further item keeps within both limits. The first always fits: too large a one was rejected by the plan. */
  fits(itemBytes: number): boolean {
    const { items, bytes } = this.rules.limits;
    if (this.#leftOut.length >= items) return false;
    if (this.#items === 0) return true;
    return this.#items < items && this.#bytes + itemBytes + 1 <= bytes;
  }

  /** Takes rows that the service is known to have. */
  skip(from: number, to: number): void {
    this.#unchanged += to - from;
    this.#end = to;
  }

  /** Takes a row: to be sent, or as unchanged. An id that stands more than once is always sent. */
  add(batch: ItemBatch, at: number): void {
    const { duplicates, isUnchanged, sentLater } = this.rules;
    const id = batch.ids[at]!;
    const repeated = duplicates.count > 0 && duplicates.repeated.has(id);
    this.#end = batch.rows[at]! + 1;
    if (!repeated && isUnchanged?.(batch, at)) {
      this.#unchanged++;
      return;
    }
    const by = sentLater?.(id, this.recorded) ?? null;
    if (by !== null) {
      this.#leftOut.push({ row: batch.rows[at]!, line: batch.lines[at]!, by });
      return;
    }
    if (repeated) this.#shared.add(id);
    this.#bytes += bytesOf(batch, at) + (this.#items > 0 ? 1 : 0);
    this.#items++;
    const last = this.#stretches.at(-1);
    if (last?.batch === batch && last.to === at) last.to++;
    else this.#stretches.push({ batch, from: at, to: at + 1, skipped: this.#unchanged });
  }

  /** Nothing more comes of a batch: what is not needed of it is let go, where that is most of it. */
  leave(batch: ItemBatch): void {
    if (batch.unchanged) return; // has little else than what is needed
    const mine = this.#stretches.slice(
      this.#stretches.findLastIndex((stretch) => stretch.batch !== batch) + 1,
    );
    const needed = mine.reduce((sum, { from, to }) => sum + to - from, 0);
    if (2 * needed > batch.ends.length) return;
    const rest = select(
      batch,
      mine.map(({ from, to }): Range => [from, to]),
    );
    let from = 0;
    for (const stretch of mine) {
      const to = from + stretch.to - stretch.from;
      Object.assign(stretch, { batch: rest, from, to });
      from = to;
    }
  }

  cut(): Chunk {
    const columns = emptyColumns(this.#items);
    const skippedBefore = new Uint32Array(this.#items);
    const body = new BodyWriter(this.rules.kind, this.#items, this.#bytes);
    let at = 0;
    for (const { batch, from, to, skipped } of this.#stretches) {
      skippedBefore.fill(skipped, at, at + to - from);
      for (let i = from; i < to; i++) body.add(batch.items, startOf(batch, i), batch.ends[i]!);
      at = append(columns, at, batch, from, to);
    }
    const { lines, rows, ...prints } = columns;
    return {
      ...body.finish(),
      lines,
      rows,
      skipped: skippedBefore,
      prints,
      input: this.rules.input,
      first_row: this.recorded?.first_row ?? this.first,
      end_row: this.recorded?.end_row ?? this.#end,
      unchanged: this.#unchanged,
      leftOut: this.#leftOut,
      shared: this.#shared,
      recorded: this.recorded,
    };
  }
}

/** The two halves of a chunk that the service found too large. @param chunk of at least two items */
export function halve(chunk: Chunk): [Chunk, Chunk] {
  const middle = Math.ceil(chunk.ends.length / 2);
  const boundary = chunk.rows[middle]!;
  // Each half counts the unchanged rows of its own range: the other one may be sent in another session.
  const before = chunk.skipped[middle]!;
  const items = itemsOf(chunk);
  const part = (from: number, to: number | undefined, over: Partial<Chunk>): Chunk => {
    const { lines, rows, ...prints } = slice({ ...chunk, ...chunk.prints }, from, to);
    const skipped = chunk.skipped.slice(from, to).map((rows) => (from === 0 ? rows : rows - before));
    const body = bodyOf(chunk.kind, items.slice(from, to));
    return { ...chunk, ...body, lines, rows, skipped, prints, recorded: null, ...over };
  };
  return [
    part(0, middle, {
      end_row: boundary,
      unchanged: before,
      leftOut: chunk.leftOut.filter(({ row }) => row < boundary),
    }),
    part(middle, undefined, {
      first_row: boundary,
      unchanged: chunk.unchanged - before,
      leftOut: chunk.leftOut.filter(({ row }) => row >= boundary),
    }),
  ];
}
