/**
 * Builds the bodies of bulk requests (spec: Endpoints 1 and 3), takes them apart, and merges items of one id.
 */
import { ENVELOPE, envelopeBytes, ID_FIELD, type Kind } from '../model.js';
import { bodyMemory, type ItemBatch, mergeUpserts, parseItem, startOf } from '../read/index.js';

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
