/**
 * Splits rows into requests (contract §3 "Plan, then send"): in input order, with limits for the items and
 * bytes of each. Ranges that an earlier session recorded are skipped, or become the same requests again. So a
 * resume repeats requests with an unknown outcome, and sends nothing that was acknowledged.
 */
import { envelopeBytes, type Kind } from '../model.js';
import { append, emptyColumns, type ItemBatch, type Range, select, startOf } from '../read/index.js';
import type { RequestRecord } from '../state/requests.js';
import { BodyWriter, type Chunk, type ChunkPart, RecordedRanges } from './chunk.js';

/** Yields chunks. The consumer may pass to `next` how many items the following chunks may have. */
export type Chunks = AsyncGenerator<Chunk, void, number | undefined>;

export interface Limits {
  items: number;
  bytes: number;
}

export interface ChunkRules {
  kind: Kind;
  /** Limits of the first chunk. `items` may change later (`Chunks`). */
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
): Chunks {
  const recorded = new RecordedRanges(rules.recorded, rules.isSentAgain);
  let { limits } = rules;
  const learn = (items: number | undefined): void => {
    if (items !== undefined) limits = { ...limits, items };
  };
  let draft = null as Draft | null;
  /** The `done` callbacks of batches that were read, and that the draft still refers to. */
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
      const row = batch.rows[i]!;
      const { request, until } = recorded.at(input, row);
      if (draft && draft.recorded !== request) learn(yield cut(draft));
      if (request && !recorded.isSentAgain(request)) continue;
      if (draft && !draft.accepts(batch, i)) learn(yield cut(draft));

      // A repeated request keeps all its rows, even if the limits are lower now.
      let room = draft && !request ? draft.room(batch, i, limits) : 1;
      if (draft && room === 0) learn(yield cut(draft));
      if (!draft) {
        draft = new Draft(rules, request);
        room = draft.room(batch, i, limits);
      }
      draft.enter(input, row);
      const isFree = until === Number.POSITIVE_INFINITY && !request;
      taken = draft.add(batch, i, isFree ? room : 1);
    }
    const isNeeded = draft?.leave(batch) ?? false;
    if (free && isNeeded) done.push(free);
    else free?.();
  }
  if (draft) yield cut(draft);
}

/** Items `from` to `to` (exclusive) of a batch, and the number of unchanged rows of the chunk before them. */
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
  #items = 0;
  /** Bytes of the body: envelope, items, and a comma after each item. */
  #bytes: number;
  /**
   * Whether all rows are sent without a check of each one. Then several rows of a batch are added at once.
   */
  readonly #isPlain: boolean;
  #unchanged = 0;
  #rejected: string | null = null;
  readonly #parts: ChunkPart[] = [];
  /** The last part. */
  #part!: ChunkPart;

  constructor(
    private readonly rules: ChunkRules,
    readonly recorded: RequestRecord | null,
  ) {
    this.#bytes = envelopeBytes(rules.kind);
    this.#isPlain = rules.duplicates.count === 0 && !rules.isUnchanged && !rules.rejectionOf;
  }

  /** Whether a row is of its kind: rows that were rejected before have chunks of their own. */
  accepts(batch: ItemBatch, at: number): boolean {
    if (!this.rules.rejectionOf || this.recorded || this.#items === 0 || this.#isUnchanged(batch, at))
      return true;
    return this.#rejected === this.#rejectionOf(batch, at);
  }

  #isUnchanged(batch: ItemBatch, at: number): boolean {
    const { repeats, isUnchanged } = this.rules;
    const id = batch.ids[at]!;
    return (this.#isRepeated(id) ? repeats?.isUnchanged(id) : isUnchanged?.(batch, at)) ?? false;
  }

  #isRepeated(id: bigint): boolean {
    const { duplicates } = this.rules;
    return duplicates.count > 0 && duplicates.repeated.has(id);
  }

  /** Rows of a recorded request that may have arrived are sent again in any case. */
  #rejectionOf(batch: ItemBatch, at: number): string | null {
    const isNew = this.recorded === null || this.recorded.state === 'withdrawn';
    if (!isNew || this.#isRepeated(batch.ids[at]!)) return null;
    return this.rules.rejectionOf?.(batch, at) ?? null;
  }

  /** Begins a new part if the next rows come from another input. */
  enter(input: number, row: number): void {
    if (this.#part?.input === input) return;
    this.#part = { input, first_row: row, end_row: row, from: this.#items };
    this.#parts.push(this.#part);
  }

  /**
   * How many rows of a batch, from index `at`, fit both limits and can be added at once; 0 if the next one
   * does not fit. The first row of a chunk always fits, because the plan has rejected rows that are too
   * large.
   */
  room(batch: ItemBatch, at: number, { items, bytes }: Limits): number {
    const { ends } = batch;
    const end = startOf(batch, at) + bytes - this.#bytes + 1; // no comma after the last item
    let low = this.#items === 0 ? 1 : 0;
    let high = Math.min(items - this.#items, this.#isPlain ? ends.length - at : 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (ends[at + middle - 1]! <= end) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * Adds rows of a batch from index `at`. If rows must be checked, adds one: to be sent, or unchanged.
   * @param rows as `room` returned; 1 unless the draft is plain
   * @returns the number of rows that it added
   */
  add(batch: ItemBatch, at: number, rows: number): number {
    if (!this.#isPlain) this.#addOne(batch, at);
    else this.#take(batch, at, at + rows);
    return rows;
  }

  #addOne(batch: ItemBatch, at: number): void {
    const id = batch.ids[at]!;
    this.#part.end_row = batch.rows[at]! + 1;
    if (this.#isUnchanged(batch, at)) {
      this.#unchanged++;
      return;
    }
    if (this.#isRepeated(id)) this.#shared.add(id);
    const rejected = this.#rejectionOf(batch, at);
    // A planned request is sent unless all its rows were rejected.
    this.#rejected = this.#items === 0 || this.#rejected === rejected ? rejected : null;
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
   * Call this after the last row of a batch. If the chunk needs less than half of the batch, copies that
   * part.
   * @returns whether the chunk still refers to the batch
   */
  leave(batch: ItemBatch): boolean {
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

  /** A repeated request keeps its recorded range, even if rows at its start or end were rejected. */
  #keepBounds(): void {
    if (!this.recorded) return;
    const last = this.recorded.more.at(-1) ?? this.recorded;
    if (this.#parts[0]!.input === this.recorded.input) this.#parts[0]!.first_row = this.recorded.first_row;
    if (this.#part.input === last.input) this.#part.end_row = last.end_row;
  }

  /** Makes the chunk. The draft must not be used afterwards. */
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
      leftOut: [],
      rejected: this.#rejected,
      shared: this.#shared,
      recorded: this.recorded,
    };
  }
}
