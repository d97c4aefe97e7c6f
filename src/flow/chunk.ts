/**
 * Cuts rows into requests (contract §3 "Plan, then send"): in input order, at most so many items and so
 * many bytes, an id once in each. Ranges that an earlier sitting recorded are skipped or cut exactly as
 * they were, so that a resume sends what was unknown and nothing that was acknowledged.
 */

import type { ItemBatch } from '../input/index.js';
import { ID_FIELD, type Kind } from '../model.js';
import type { Prints } from '../state/fingerprints.js';
import type { RequestRecord } from '../state/requests.js';

/** Rows of one input that go out together. */
export interface Chunk {
  kind: Kind;
  input: number;
  first_row: number;
  /** Exclusive. Rows that were rejected or unchanged are within, so the chunks of an input leave no gap. */
  end_row: number;
  unchanged: number;
  /** One JSON text for each row to send, duplicates not merged yet. Empty when every row was unchanged. */
  items: Uint8Array[];
  /** For each item: the line its row begins on. */
  lines: number[];
  /** For each item: its row, counted in the input from 0. */
  rows: number[];
  /** For each item: rows of this chunk before it that are unchanged. */
  skipped: number[];
  prints: Prints;
  /** Ids that stand more than once in the input: requests that share one must not overtake each other. */
  shared: Set<bigint>;
  /** The request of an earlier sitting that this one repeats. */
  recorded: RequestRecord | null;
}

export interface CutRules {
  kind: Kind;
  input: number;
  /** Read for each row: a 413 lowers them on the way. */
  limits: { items: number; bytes: number };
  /** Ids that stand more than once. */
  duplicates: { count: number; repeated: { has(id: bigint): boolean } };
  /** Whether the service holds this row already; null when everything is sent. */
  isUnchanged: ((prints: Prints, at: number) => boolean) | null;
  /** Requests of earlier sittings for this input, by first row; withdrawn ones left out. */
  recorded: readonly RequestRecord[];
}

const ENVELOPE = {
  companies: { open: Buffer.from('{"companies":['), close: Buffer.from(']}') },
  users: { open: Buffer.from('{"users":['), close: Buffer.from(']}') },
} as const satisfies Record<Kind, { open: Buffer; close: Buffer }>;

/** Bytes of a request's body beyond its items and the commas between them. */
export const envelopeBytes = (kind: Kind): number => ENVELOPE[kind].open.length + ENVELOPE[kind].close.length;

/** Cuts the batches of one input into chunks. Stops reading when its consumer stops. */
export async function* cutChunks(batches: AsyncIterable<ItemBatch>, rules: CutRules): AsyncGenerator<Chunk> {
  const recorded = [...rules.recorded].sort((a, b) => a.first_row - b.first_row);
  let draft: Draft | null = null;
  let range = 0;
  for await (const batch of batches) {
    const prints: Prints = { ids: batch.ids, contents: batch.contents };
    let start = 0;
    for (let i = 0; i < batch.ends.length; i++) {
      const row = batch.ordinals[i]!;
      const item = batch.items.subarray(start, batch.ends[i]!);
      start = batch.ends[i]!;

      while (recorded[range] && row >= recorded[range]!.end_row) range++;
      const here = recorded[range] && row >= recorded[range]!.first_row ? recorded[range]! : null;
      if (draft && draft.recorded !== here) {
        yield draft.cut();
        draft = null;
      }
      if (here && here.state !== 'intent' && here.state !== 'unknown') continue;

      draft ??= new Draft(rules, row, here);
      if (!here && !draft.fits(item.length)) {
        yield draft.cut();
        draft = new Draft(rules, row, here);
      }
      draft.add(item, row, batch.lines[i]!, prints, i);
    }
  }
  if (draft) yield draft.cut();
}

/** A chunk while it grows. */
class Draft {
  readonly #items: Uint8Array[] = [];
  readonly #lines: number[] = [];
  readonly #rows: number[] = [];
  readonly #skipped: number[] = [];
  readonly #ids: bigint[] = [];
  readonly #contents: bigint[] = [];
  readonly #shared = new Set<bigint>();
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
    if (this.#items.length === 0) return true;
    const { items, bytes } = this.rules.limits;
    return this.#items.length < items && this.#bytes + itemBytes + 1 <= bytes;
  }

  /** Takes a row: to be sent, or as unchanged. An id that stands more than once is always sent. */
  add(item: Uint8Array, row: number, line: number, prints: Prints, at: number): void {
    this.#end = row + 1;
    const id = prints.ids[at]!;
    const shared = this.rules.duplicates.count > 0 && this.rules.duplicates.repeated.has(id);
    if (shared) this.#shared.add(id);
    else if (this.rules.isUnchanged?.(prints, at)) {
      this.#unchanged++;
      return;
    }
    this.#bytes += item.length + (this.#items.length > 0 ? 1 : 0);
    this.#items.push(item);
    this.#lines.push(line);
    this.#rows.push(row);
    this.#skipped.push(this.#unchanged);
    this.#ids.push(id);
    this.#contents.push(prints.contents[at]!);
  }

  cut(): Chunk {
    return {
      kind: this.rules.kind,
      input: this.rules.input,
      first_row: this.recorded?.first_row ?? this.first,
      end_row: this.recorded?.end_row ?? this.#end,
      unchanged: this.#unchanged,
      items: this.#items,
      lines: this.#lines,
      rows: this.#rows,
      skipped: this.#skipped,
      prints: { ids: BigUint64Array.from(this.#ids), contents: BigUint64Array.from(this.#contents) },
      shared: this.#shared,
      recorded: this.recorded,
    };
  }
}

/** The two halves of a chunk that the service found too large. @param chunk of at least two items */
export function halve(chunk: Chunk): [Chunk, Chunk] {
  const middle = Math.ceil(chunk.items.length / 2);
  const boundary = chunk.rows[middle]!;
  // Each half counts the unchanged rows of its own range: the other one may be sent in another sitting.
  const before = chunk.skipped[middle]!;
  const part = (from: number, to: number | undefined, over: Partial<Chunk>): Chunk => ({
    ...chunk,
    items: chunk.items.slice(from, to),
    lines: chunk.lines.slice(from, to),
    rows: chunk.rows.slice(from, to),
    skipped: chunk.skipped.slice(from, to).map((rows) => (from === 0 ? rows : rows - before)),
    prints: { ids: chunk.prints.ids.slice(from, to), contents: chunk.prints.contents.slice(from, to) },
    recorded: null,
    ...over,
  });
  return [
    part(0, middle, { end_row: boundary, unchanged: before }),
    part(middle, undefined, { first_row: boundary, unchanged: chunk.unchanged - before }),
  ];
}

/** The request body of a chunk, UTF-8 JSON, in which an id stands once: `items` counts what is in it, `merged` what was laid over. */
export function serialise(chunk: Chunk): { body: Buffer; items: number; merged: number } {
  const items = chunk.shared.size > 0 ? mergeDuplicates(chunk) : chunk.items;
  const { open, close } = ENVELOPE[chunk.kind];
  let size = open.length + close.length + Math.max(0, items.length - 1);
  for (const item of items) size += item.length;
  const body = Buffer.allocUnsafe(size);
  body.set(open, 0);
  let at = open.length;
  for (const [index, item] of items.entries()) {
    if (index > 0) body[at++] = 0x2c; // a comma
    body.set(item, at);
    at += item.length;
  }
  body.set(close, at);
  return { body, items: items.length, merged: chunk.items.length - items.length };
}

function mergeDuplicates(chunk: Chunk): Uint8Array[] {
  const items: Uint8Array[] = [];
  /** By identifier, not by its hash: two hashes may meet, two profiles must not. */
  const places = new Map<string, number>();
  for (const [index, item] of chunk.items.entries()) {
    if (!chunk.shared.has(chunk.prints.ids[index]!)) {
      items.push(item);
      continue;
    }
    const later = parse(item);
    const id = String(later[ID_FIELD[chunk.kind]]);
    const place = places.get(id);
    if (place === undefined) {
      places.set(id, items.push(item) - 1);
    } else {
      items[place] = Buffer.from(JSON.stringify(layOver(parse(items[place]!), later)));
    }
  }
  return items;
}

type Item = Record<string, unknown> & { metadata?: Record<string, unknown> };

const parse = (bytes: Uint8Array): Item => JSON.parse(Buffer.from(bytes).toString('utf8')) as Item;

/** What two upserts in a row come to: keys of the later win, others stay. */
function layOver(earlier: Item, later: Item): Item {
  const { metadata: under, ...fields } = earlier;
  const { metadata: over, ...laterFields } = later;
  const merged: Item = { ...fields, ...laterFields };
  if (under || over) merged.metadata = { ...under, ...over };
  return merged;
}
