/**
 * Splits rows into requests (contract §3 "Plan, then send"): in input order, up to a number of items and of bytes in
 * each. Ranges that an earlier session recorded are skipped or split exactly as they were, so that a resume sends what
 * was unknown and nothing that was acknowledged.
 */
import { envelopeBytes, type Kind } from '../model.js';
import { append, emptyColumns, type ItemBatch, type Range, select, startOf } from '../read/index.js';
import type { RequestRecord } from '../state/requests.js';
import { BodyWriter } from './body.js';
import type { Chunk, ChunkPart, LeftOut } from './chunk.js';
import { RecordedRanges } from './recorded-ranges.js';

/** The consumer passes to `next` how many items the following chunks may have. */
export type Chunks = AsyncGenerator<Chunk, void, number | undefined>;

/** The run that sent an id later, or null. */
type SentLater = (id: bigint) => string | null;

export interface Limits {
  items: number;
  bytes: number;
}

export interface CutRules {
  kind: Kind;
  /** Limits of the first chunk. */
  limits: Limits;
  /** Ids that appear more than once. */
  duplicates: { count: number; repeated: { has(id: bigint): boolean } };
  /** Whether the service already has this row; null if everything is sent. */
  isUnchanged: ((rows: ItemBatch, at: number) => boolean) | null;
  /** Whether the service already has the merged rows of an id that appears more than once; null if they are sent. */
  repeats?: { isUnchanged(id: bigint): boolean } | null | undefined;
  /** Which run sent an id after a request that is repeated, or with null after this run; null in a first session. */
  sentLater?: ((repeats: RequestRecord | null) => Promise<SentLater>) | null | undefined;
  /** Requests of earlier sessions for these inputs; withdrawn ones left out. */
  recorded: readonly RequestRecord[];
  /** Whether the rows of a recorded request are sent again. Default: if its outcome is unknown. */
  isSentAgain?: (recorded: RequestRecord) => boolean;
}

/** A batch of one input; `input` is its index in the run. */
export interface InputBatch {
  input: number;
  batch: ItemBatch;
  /** Called once nothing refers to the batch any more. */
  done?: () => void;
}

/**
 * Splits the batches of all inputs of one kind into chunks. A request of an earlier session may span several inputs:
 * it takes all rows from the start of its first range to the end of its last. Stops reading when its consumer stops.
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
  /** `done` of batches that have been read, and of which the draft has rows. */
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
      // A run of unchanged rows may begin or end inside a request's range.
      for (let row = batch.rows[i]!, next = end; row < end; row = next) {
        const { request, until } = recorded.at(input, row);
        next = Math.min(end, until);
        if (draft && draft.recorded !== request) learn(yield cut(draft));
        if (request && !recorded.isSentAgain(request)) continue;

        // A repeated request keeps all its rows, even if the limits have changed.
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

/** Items `from` to `to` of a batch, all of them in the chunk, and how many unchanged rows of the batch precede them. */
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
  /** Size of the body: envelope, items, and a comma after each of them. */
  #bytes: number;
  /** Whether no row needs to be looked at by itself: then rows of a batch can be taken together. */
  readonly #isPlain: boolean;
  #unchanged = 0;
  readonly #parts: ChunkPart[] = [];
  /** The last part. */
  #part!: ChunkPart;

  constructor(
    private readonly rules: CutRules,
    readonly recorded: RequestRecord | null,
    private readonly sentLater: SentLater | null,
  ) {
    this.#bytes = envelopeBytes(rules.kind);
    this.#isPlain = rules.duplicates.count === 0 && !rules.isUnchanged && !sentLater;
  }

  /** The next rows come from this input, beginning with this row. */
  enter(input: number, row: number): void {
    if (this.#part?.input === input) return;
    this.#part = { input, first_row: row, end_row: row, from: this.#items };
    this.#parts.push(this.#part);
  }

  /**
   * How many rows of a batch, from an index on, fit both limits and can be taken together; 0 if not even one does. The
   * first row always fits: the plan has rejected rows that are too large.
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

  /** Takes unchanged rows, which the service already has. */
  skip(from: number, to: number): void {
    this.#unchanged += to - from;
    this.#part.end_row = to;
  }

  /**
   * Takes a row, to be sent or as unchanged: all rows of one id are one or the other. If there is room, takes several
   * rows to send.
   * @returns how many it took
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
   * No more rows of a batch will be taken: frees what is not needed of it, if that is most of it.
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

  /** A repeated request keeps its bounds, even if rows at its edges were rejected. */
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
