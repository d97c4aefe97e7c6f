/**
 * Splits rows into requests (contract §3 "Plan, then send"): in input order, with limits for the items and
 * bytes of each. Ranges that an earlier session recorded are skipped, or become the same requests again. So a
 * resume repeats requests with an unknown outcome, and sends nothing that was acknowledged.
 */

import type { RequestRecord } from '../model/requests.js';
import { envelopeBytes, type Kind } from '../model.js';
import { type ItemBatch, select, startOf } from '../read/index.js';
import { isInDoubt } from '../states.js';
import { sum } from '../util/numbers.js';
import { addRow, bodyOf, type Chunk, type ChunkPart, extend, type SameRows, type Stretch } from './chunk.js';

/** The limits of a request, read when a chunk begins: they may become lower while it is sent. */
export interface Limits {
  readonly items: number;
  readonly bytes: number;
}

export interface ChunkRules {
  kind: Kind;
  limits: Limits;
  /** Ids that appear more than once in the inputs of the kind. */
  duplicates: { count: number; repeated: { has(id: bigint): boolean } };
  /** Whether the service already has a row of a batch; null if this is not to be checked here. */
  isUnchanged: ((rows: ItemBatch, at: number) => boolean) | null;
  /** Why the service rejected a row before, as it is; null for a row to send. Default: all are sent. */
  rejectionOf?: ((rows: ItemBatch, at: number) => string | null) | null | undefined;
  /**
   * Whether the service already has the merged rows of an id that appears more than once; null if all are
   * sent.
   */
  repeats?: { isUnchanged(id: bigint): boolean } | null | undefined;
  /** Requests of earlier sessions and of a saved plan for these inputs, without those that have their rows instead. */
  recorded: readonly RequestRecord[];
  /** Whether anything is left to do for the rows of a recorded request. Default: if it may have arrived. */
  isSentAgain?: (recorded: RequestRecord) => boolean;
}

/** A batch of one input; `input` is its index in the run. */
export interface InputBatch {
  input: number;
  batch: ItemBatch;
}

/**
 * Splits the batches of all inputs of one kind into chunks. A chunk may span several inputs. Stops reading
 * when its consumer stops. When it asks for the next batch, nothing refers to the last one anymore.
 */
export async function* splitIntoChunks(
  batches: AsyncIterable<InputBatch> | Iterable<InputBatch>,
  rules: ChunkRules,
): AsyncGenerator<Chunk> {
  const { isSentAgain = isInDoubt } = rules;
  const recordedAt = recordedIn(rules.recorded);
  let draft = null as Draft | null;
  /** The recorded request of the last row, and whether its rows are left as they are. */
  let [request, isDone]: [RequestRecord | null, boolean] = [null, false];
  for await (const { input, batch } of batches) {
    for (let at = 0; at < batch.ends.length; at++) {
      const found = recordedAt(input, batch.rows[at]!);
      const isSame = found === request;
      if (!isSame) [request, isDone] = [found, found !== null && !isSentAgain(found)];
      if (draft && isSame && draft.add(input, batch, at)) continue;
      if (draft) yield draft.cut();
      draft = isDone ? null : new Draft(rules, request);
      draft?.add(input, batch, at);
    }
    draft?.leave(batch);
  }
  if (draft) yield draft.cut();
}

/**
 * Returns a function that finds the recorded request of a row, which must be asked for rows in order. A request has all
 * rows from the start of its first range to the end of its last, in all inputs between them.
 */
function recordedIn(requests: readonly RequestRecord[]) {
  const sorted = [...requests].sort((a, b) => a.input - b.input || a.first_row - b.first_row);
  let next = 0;
  const isBefore = (input: number, row: number, of: { input: number }, edge: number): boolean =>
    input < of.input || (input === of.input && row < edge);
  return (input: number, row: number): RequestRecord | null => {
    for (; next < sorted.length; next++) {
      const near = sorted[next]!;
      const last = near.more.at(-1) ?? near;
      if (isBefore(input, row, near, near.first_row)) return null;
      if (isBefore(input, row, last, last.end_row)) return near;
    }
    return null;
  };
}

/** A chunk while it grows. */
class Draft {
  readonly #stretches: Stretch[] = [];
  readonly #shared = new Set<bigint>();
  /** Bytes of the body: envelope, items, and a comma after each item. */
  #bytes: number;
  #items = 0;
  readonly #same: SameRows[] = [];
  /** How many items there were when the last unchanged row came. */
  #itemsBefore = 0;
  #rejected: string | null = null;
  readonly #parts: ChunkPart[] = [];
  readonly #limits: Limits;

  constructor(
    private readonly rules: ChunkRules,
    readonly recorded: RequestRecord | null,
  ) {
    this.#bytes = envelopeBytes(rules.kind);
    const { items, bytes } = rules.limits;
    this.#limits = { items, bytes };
  }

  /**
   * Adds a row, to be sent or unchanged, if it fits the limits. A request that is repeated keeps all its rows, and the
   * first item always fits, because the plan has rejected rows that are too large. Rows that were rejected before have
   * chunks of their own, but those of a request that may have arrived are sent again in any case.
   * @returns whether it was added
   */
  add(input: number, batch: ItemBatch, at: number): boolean {
    const { duplicates, repeats, isUnchanged, rejectionOf } = this.rules;
    const [id, row] = [batch.ids[at]!, batch.rows[at]!];
    const size = batch.ends[at]! - startOf(batch, at);
    const isRepeated = duplicates.count > 0 && duplicates.repeated.has(id);
    const isSame = (isRepeated ? repeats?.isUnchanged(id) : isUnchanged?.(batch, at)) ?? false;
    const isNew = this.recorded === null || this.recorded.state === 'withdrawn';
    const rejected = (!isSame && isNew && !isRepeated && rejectionOf?.(batch, at)) || null;
    if (!this.recorded && this.#items > 0) {
      // No comma after the last item.
      if (this.#items >= this.#limits.items || this.#bytes + size - 1 > this.#limits.bytes) return false;
      if (!isSame && this.#rejected !== rejected) return false;
    }
    let part = this.#parts.at(-1);
    if (part?.input !== input) {
      part = { input, first_row: row, end_row: row, from: this.#items };
      this.#parts.push(part);
    }
    part.end_row = row + 1;
    if (isSame) {
      addRow(this.#same, input, row, this.#itemsBefore === this.#items);
      this.#itemsBefore = this.#items;
    } else {
      if (isRepeated) this.#shared.add(id);
      // A planned request is sent unless all its rows were rejected.
      this.#rejected = this.#items === 0 || this.#rejected === rejected ? rejected : null;
      this.#bytes += size;
      this.#items++;
      extend(this.#stretches, batch, at);
    }
    return true;
  }

  /** Call this after the last row of a batch: copies what the chunk needs of it. */
  leave(batch: ItemBatch): void {
    const mine = this.#stretches.filter((stretch) => stretch.batch === batch);
    if (mine.length === 0) return;
    const ranges = mine.map(({ from, to }) => [from, to] as const);
    const copy = { batch: select(batch, ranges), from: 0, to: sum(mine, ({ from, to }) => to - from) };
    this.#stretches.splice(-mine.length, mine.length, copy);
  }

  /** Makes the chunk. The draft must not be used afterwards. */
  cut(): Chunk {
    const { recorded } = this;
    if (recorded) {
      // A repeated request keeps its recorded range, even if rows at its start or end were rejected.
      const [first, end] = [this.#parts[0]!, this.#parts.at(-1)!];
      const last = recorded.more.at(-1) ?? recorded;
      if (first.input === recorded.input) first.first_row = recorded.first_row;
      if (end.input === last.input) end.end_row = last.end_row;
    }
    return {
      ...bodyOf(this.rules.kind, this.#stretches),
      parts: this.#parts,
      same: this.#same,
      unchanged: sum(this.#same, ({ rows }) => rows),
      leftOut: [],
      rejected: this.#rejected,
      shared: this.#shared,
      recorded,
    };
  }
}
