/**
 * Divides rows into requests (contract §3 "Plan, then send"): in input order, at most so many items and so
 * many bytes in each. Ranges that an earlier session recorded are skipped or divided exactly as
 * they were, so that a resume sends what was unknown and nothing that was acknowledged.
 */
import { envelopeBytes, type Kind } from '../model.js';
import { append, emptyColumns, type ItemBatch, type Range, select, startOf } from '../read/index.js';
import type { RequestRecord } from '../state/requests.js';
import { BodyWriter } from './body.js';
import type { Chunk, ChunkPart, LeftOut } from './chunk.js';
import { RecordedRanges } from './recorded-ranges.js';

/** What its consumer has learned goes to `next`: how many items the chunks from then on may have. */
export type Chunks = AsyncGenerator<Chunk, void, number | undefined>;

/** Who sent an id later, or null. */
type SentLater = (id: bigint) => string | null;

export interface Limits {
  items: number;
  bytes: number;
}

export interface CutRules {
  kind: Kind;
  /** Of the first chunk. */
  limits: Limits;
  /** Ids that stand more than once. */
  duplicates: { count: number; repeated: { has(id: bigint): boolean } };
  /** Whether the service holds this row already; null when everything is sent. */
  isUnchanged: ((rows: ItemBatch, at: number) => boolean) | null;
  /** Of ids that appear more than once: whether the service has what their rows come to; null when they are sent. */
  repeats?: { isUnchanged(id: bigint): boolean } | null | undefined;
  /** Who sent an id later than the run did, of a request that it repeats or, with null, at all; null in a first session. */
  sentLater?: ((repeats: RequestRecord | null) => Promise<SentLater>) | null | undefined;
  /** Requests of earlier sessions for these inputs; withdrawn ones left out. */
  recorded: readonly RequestRecord[];
  /** Those whose rows are sent again. Default: those of which nobody knows what became of them. */
  isSentAgain?: (recorded: RequestRecord) => boolean;
}

/** A batch of the input with this index in the run. */
export interface InputBatch {
  input: number;
  batch: ItemBatch;
  /** Called once nothing refers to the batch any more. */
  done?: () => void;
}

/**
 * Cuts the batches of inputs of one kind into chunks. A request of an earlier session may reach over several inputs: it
 * takes all rows from the start of its first range to the end of its last. Stops reading when its consumer stops.
 */
export async function* cutChunks(
  batches: AsyncIterable<InputBatch> | Iterable<InputBatch>,
  rules: CutRules,
): Chunks {
  const recorded = new RecordedRanges(rules.recorded, rules.isSentAgain);
  let { limits } = rules;
  const learn = (items: number | undefined): void => {
    if (items !== undefined) limits = { ...limits, items };
  };
  let draft = null as Draft | null;
  /** Of batches that have been read, and of which the draft has rows. */
  let done: (() => void)[] = [];
  const cut = (whole: Draft): Chunk => {
    const chunk = whole.cut();
    draft = null;
    for (const free of done) free();
    done = [];
    return chunk;
  };
  for await (const { input, batch, done: free } of batches) {
    for (let i = 0, taken: number; i < batch.ends.length; i += taken) {
      taken = 1;
      const end = batch.rows[i]! + (batch.unchanged?.[i] || 1);
      // A run of unchanged rows may reach into a request and out of it again.
      for (let row = batch.rows[i]!, next = end; row < end; row = next) {
        const { request, until } = recorded.at(input, row);
        next = Math.min(end, until);
        if (draft && draft.recorded !== request) learn(yield cut(draft));
        if (request && !recorded.isSentAgain(request)) continue;

        // A request that is repeated has all its rows, whatever the limits are by now.
        let room = draft && !request ? draft.room(batch, i, limits) : 1;
        if (draft && room === 0) learn(yield cut(draft));
        if (!draft) {
          draft = new Draft(rules, request, rules.sentLater ? await rules.sentLater(request) : null);
          room = draft.room(batch, i, limits);
        }
        draft.enter(input, row);
        const isFree = until === Number.POSITIVE_INFINITY && !request;
        if (batch.unchanged?.[i]) draft.skip(row, next);
        else taken = draft.add(batch, i, isFree ? room : 1);
      }
    }
    const isNeeded = draft?.leave(batch) ?? false;
    if (free && isNeeded) done.push(free);
    else free?.();
  }
  if (draft) yield cut(draft);
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
  /** Of the body: envelope, items, and a comma after each of them. */
  #bytes: number;
  /** Nothing is known of any of its rows: those of a batch may be taken together. */
  readonly #isPlain: boolean;
  #unchanged = 0;
  readonly #parts: ChunkPart[] = [];
  /** The last of them. */
  #part!: ChunkPart;

  constructor(
    private readonly rules: CutRules,
    readonly recorded: RequestRecord | null,
    private readonly sentLater: SentLater | null,
  ) {
    this.#bytes = envelopeBytes(rules.kind);
    this.#isPlain = rules.duplicates.count === 0 && !rules.isUnchanged && !sentLater;
  }

  /** What is taken next is of this input, from this row on. */
  enter(input: number, row: number): void {
    if (this.#part?.input === input) return;
    this.#part = { input, first_row: row, end_row: row, from: this.#items };
    this.#parts.push(this.#part);
  }

  /**
   * How many rows of a batch, from a place on, keep within both limits and may be taken together; 0: not even one. The first
   * always fits: too large a one was rejected by the plan.
   */
  room(batch: ItemBatch, at: number, { items, bytes }: Limits): number {
    if (this.#leftOut.length >= items) return 0;
    const { ends, unchanged } = batch;
    const end = startOf(batch, at) + bytes - this.#bytes + 1; // no comma after the last item
    let low = this.#items === 0 ? 1 : 0;
    let high = Math.min(items - this.#items, this.#isPlain && !unchanged ? ends.length - at : 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (ends[at + middle - 1]! <= end) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Takes rows that the service is known to have. */
  skip(from: number, to: number): void {
    this.#unchanged += to - from;
    this.#part.end_row = to;
  }

  /**
   * Takes a row, to be sent or as unchanged: rows of one id are all of them the one or the other. Or, as there is room for
   * them, several that are sent.
   * @returns how many
   */
  add(batch: ItemBatch, at: number, rows: number): number {
    if (!this.#isPlain) this.#addOne(batch, at);
    else this.#take(batch, at, at + rows);
    return rows;
  }

  #addOne(batch: ItemBatch, at: number): void {
    const { duplicates, repeats, isUnchanged } = this.rules;
    const id = batch.ids[at]!;
    const repeated = duplicates.count > 0 && duplicates.repeated.has(id);
    this.#part.end_row = batch.rows[at]! + 1;
    if (repeated ? repeats?.isUnchanged(id) : isUnchanged?.(batch, at)) {
      this.#unchanged++;
      return;
    }
    const by = this.sentLater?.(id) ?? null;
    if (by !== null) {
      this.#leftOut.push({ input: this.#part.input, row: batch.rows[at]!, line: batch.lines[at]!, id, by });
      return;
    }
    if (repeated) this.#shared.add(id);
    this.#take(batch, at, at + 1);
  }

  #take(batch: ItemBatch, from: number, to: number): void {
    this.#part.end_row = batch.rows[to - 1]! + 1;
    this.#bytes += batch.ends[to - 1]! - startOf(batch, from);
    this.#items += to - from;
    const last = this.#stretches.at(-1);
    if (last?.batch === batch && last.to === from) last.to = to;
    else this.#stretches.push({ batch, from, to, skipped: this.#unchanged });
  }

  /**
   * Nothing more comes of a batch: what is not needed of it is let go, where that is most of it.
   * @returns whether it is needed
   */
  leave(batch: ItemBatch): boolean {
    if (batch.unchanged) return true; // has little else than what is needed
    const mine = this.#stretches.slice(
      this.#stretches.findLastIndex((stretch) => stretch.batch !== batch) + 1,
    );
    const needed = mine.reduce((sum, { from, to }) => sum + to - from, 0);
    if (2 * needed > batch.ends.length) return true;
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
    return false;
  }

  /** A request that is repeated has the bounds that it had, even where rows at its edges were rejected. */
  #keepBounds(): void {
    if (!this.recorded) return;
    const last = this.recorded.more.at(-1) ?? this.recorded;
    if (this.#parts[0]!.input === this.recorded.input) this.#parts[0]!.first_row = this.recorded.first_row;
    if (this.#part.input === last.input) this.#part.end_row = last.end_row;
  }

  cut(): Chunk {
    this.#keepBounds();
    const columns = emptyColumns(this.#items);
    const skippedBefore = new Uint32Array(this.#items);
    const body = new BodyWriter(this.rules.kind, this.#items, this.#bytes - (this.#items > 0 ? 1 : 0));
    let at = 0;
    for (const { batch, from, to, skipped } of this.#stretches) {
      skippedBefore.fill(skipped, at, at + to - from);
      body.addAll(batch, from, to);
      at = append(columns, at, batch, from, to);
    }
    const { lines, rows, ...prints } = columns;
    return {
      ...body.finish(),
      lines,
      rows,
      skipped: skippedBefore,
      prints,
      parts: this.#parts,
      unchanged: this.#unchanged,
      leftOut: this.#leftOut,
      shared: this.#shared,
      recorded: this.recorded,
    };
  }
}
