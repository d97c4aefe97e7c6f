/**
 * Splits rows into requests (contract §3 "Plan, then send"): in input order, with limits for the items and
 * bytes of each. Ranges that an earlier session recorded are skipped, or become the same requests again. So a
 * resume repeats requests with an unknown outcome, and sends nothing that was acknowledged.
 */

import type { RequestRecord } from '../model/requests.js';
import { envelopeBytes, type Kind } from '../model.js';
import { type ItemBatch, select, startOf } from '../read/index.js';
import { isInDoubt, requestStatus } from '../states.js';
import { bodyOf, type Chunk, type ChunkPart, extend, type Stretch } from './chunk.js';

/** The limits of a request, read when a chunk begins: they may become lower meanwhile. */
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
  /** Called when nothing refers to the batch anymore, so that its memory can be used again. */
  done?: () => void;
}

/**
 * Splits the batches of all inputs of one kind into chunks. A chunk may span several inputs. Stops reading
 * when its consumer stops.
 */
export async function* splitIntoChunks(
  batches: AsyncIterable<InputBatch> | Iterable<InputBatch>,
  rules: ChunkRules,
): AsyncGenerator<Chunk> {
  const { isSentAgain = (r: RequestRecord) => isInDoubt(requestStatus(r)) } = rules;
  const recordedAt = recordedIn(rules.recorded);
  let draft = null as Draft | null;
  /** The recorded request of the last row, and whether its rows are left as they are. */
  let [request, isDone]: [RequestRecord | null, boolean] = [null, false];
  /** The `done` callbacks of batches that were read, and that the draft still refers to. */
  const done: (() => void)[] = [];
  const cut = (whole: Draft): Chunk => {
    const chunk = whole.cut();
    draft = null;
    for (const free of done.splice(0)) free();
    return chunk;
  };
  for await (const { input, batch, done: free } of batches) {
    for (let at = 0; at < batch.ends.length; at++) {
      const found = recordedAt(input, batch.rows[at]!);
      if (found !== request) {
        if (draft) yield cut(draft);
        [request, isDone] = [found, found !== null && !isSentAgain(found)];
      }
      if (isDone) continue;
      if (draft && !draft.accepts(batch, at)) yield cut(draft);
      draft ??= new Draft(rules, request);
      draft.add(input, batch, at);
    }
    const isNeeded = draft?.leave(batch) ?? false;
    if (free && isNeeded) done.push(free);
    else free?.();
  }
  if (draft) yield cut(draft);
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
  #unchanged = 0;
  /** By item: the unchanged rows after it. */
  readonly #after = new Map<number, number>();
  #rejected: string | null = null;
  readonly #parts: ChunkPart[] = [];
  readonly #limits: Limits;
  /** The last part. */
  #part!: ChunkPart;

  constructor(
    private readonly rules: ChunkRules,
    readonly recorded: RequestRecord | null,
  ) {
    this.#bytes = envelopeBytes(rules.kind);
    const { items, bytes } = rules.limits;
    this.#limits = { items, bytes };
  }

  /**
   * Whether the next row belongs to it: it fits the limits, or the request is repeated, which keeps all its rows. The first
   * item always fits, because the plan has rejected rows that are too large. Rows that were rejected before have chunks of
   * their own.
   */
  accepts(batch: ItemBatch, at: number): boolean {
    const { items, bytes } = this.#limits;
    if (this.recorded || this.#items === 0) return true;
    // No comma after the last item.
    if (this.#items >= items || this.#bytes + batch.ends[at]! - startOf(batch, at) - 1 > bytes) return false;
    return (
      !this.rules.rejectionOf ||
      this.#isUnchanged(batch, at) ||
      this.#rejected === this.#rejectionOf(batch, at)
    );
  }

  #isUnchanged(batch: ItemBatch, at: number): boolean {
    const { repeats, isUnchanged } = this.rules;
    if (this.#isRepeated(batch, at)) return repeats?.isUnchanged(batch.ids[at]!) ?? false;
    return isUnchanged?.(batch, at) ?? false;
  }

  #isRepeated({ ids }: ItemBatch, at: number): boolean {
    const { duplicates } = this.rules;
    return duplicates.count > 0 && duplicates.repeated.has(ids[at]!);
  }

  /** Rows of a recorded request that may have arrived are sent again in any case. */
  #rejectionOf(batch: ItemBatch, at: number): string | null {
    const { rejectionOf } = this.rules;
    const isNew = this.recorded === null || this.recorded.state === 'withdrawn';
    return (rejectionOf && isNew && !this.#isRepeated(batch, at) && rejectionOf(batch, at)) || null;
  }

  /** Adds a row: to be sent, or unchanged. */
  add(input: number, batch: ItemBatch, at: number): void {
    const row = batch.rows[at]!;
    const last = this.#items - 1;
    if (this.#part?.input !== input) {
      this.#part = { input, first_row: row, end_row: row, from: this.#items };
      this.#parts.push(this.#part);
    }
    this.#part.end_row = row + 1;
    if (this.#isUnchanged(batch, at)) {
      this.#unchanged++;
      if (last >= 0) this.#after.set(last, (this.#after.get(last) ?? 0) + 1);
      return;
    }
    if (this.#isRepeated(batch, at)) this.#shared.add(batch.ids[at]!);
    const rejected = this.#rejectionOf(batch, at);
    // A planned request is sent unless all its rows were rejected.
    this.#rejected = this.#items === 0 || this.#rejected === rejected ? rejected : null;
    this.#bytes += batch.ends[at]! - startOf(batch, at);
    this.#items++;
    extend(this.#stretches, batch, at);
  }

  /**
   * Call this after the last row of a batch. If the chunk needs less than half of the batch, copies that
   * part.
   * @returns whether the chunk still refers to the batch
   */
  leave(batch: ItemBatch): boolean {
    const mine = this.#stretches.filter((stretch) => stretch.batch === batch);
    const needed = mine.reduce((sum, { from, to }) => sum + to - from, 0);
    if (2 * needed > batch.ends.length) return true;
    if (needed === 0) return false;
    const ranges = mine.map(({ from, to }) => [from, to] as const);
    const copy = select(batch, ranges);
    this.#stretches.splice(-mine.length, mine.length, { batch: copy, from: 0, to: needed });
    return false;
  }

  /** Makes the chunk. The draft must not be used afterwards. */
  cut(): Chunk {
    const { recorded } = this;
    if (recorded) {
      // A repeated request keeps its recorded range, even if rows at its start or end were rejected.
      const [first] = this.#parts;
      const last = recorded.more.at(-1) ?? recorded;
      if (first!.input === recorded.input) first!.first_row = recorded.first_row;
      if (this.#part.input === last.input) this.#part.end_row = last.end_row;
    }
    const after = new Uint32Array(this.#items);
    for (const [at, rows] of this.#after) after[at] = rows;
    return {
      ...bodyOf(this.rules.kind, this.#stretches),
      after,
      parts: this.#parts,
      unchanged: this.#unchanged,
      leftOut: [],
      rejected: this.#rejected,
      shared: this.#shared,
      recorded,
    };
  }
}
