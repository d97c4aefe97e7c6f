/**
 * Makes the fingerprints of a request's rows (contract §3 "Only what changed"), including those of merged
 * rows.
 */
import type { FingerprintColumns } from '../fingerprints/index.js';
import { foldContents } from '../fingerprints/tables.js';
import type { Kind } from '../model.js';
import { CellHasher, hashCells, MergedHashes, mergeUpserts, parseItem } from '../read/index.js';
import { type Chunk, itemsOf } from './chunk.js';

/** The most memory for items that may merge with items of later requests, in bytes. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Estimated memory of an item in addition to its text, in bytes. */
const OVERHEAD = 256;

/** The rows of one id that this session has sent so far. */
interface Sofar {
  /** Hash over the sequence of their contents. */
  content: bigint;
  /** JSON text of the merged item. */
  item: Buffer;
}

/**
 * One instance for each session and kind. `printsOf` must be called in the order in which requests are sent.
 */
export class Remembering {
  readonly #merged: MergedHashes;
  readonly #cells: CellHasher | null;
  /** Only ids that appear more than once; null when they took more than `MOST_BYTES`. */
  #known: Map<bigint, Sofar> | null = new Map();
  #room = MOST_BYTES;

  constructor(kind: Kind, hashKey: Uint8Array, trackKeys: boolean) {
    this.#merged = new MergedHashes(kind, hashKey);
    this.#cells = trackKeys ? new CellHasher(kind, hashKey) : null;
  }

  /** The fingerprints of a request that is about to be sent. */
  printsOf(chunk: Chunk): FingerprintColumns {
    const { ids, contents, items, ends } = chunk;
    const records = this.#recordsOf(chunk);
    if (this.#cells === null) return { ids, contents, records };
    const rows = Array.from(ends, (end, at) => [at === 0 ? 0 : ends[at - 1]!, end - 1] as const);
    return { ids, contents, records, cells: hashCells(this.#cells, items, rows) };
  }

  /**
   * 0 for each row, except for the last one of a repeated id: the hash of the merged content of all its rows so
   * far. That content is with the service only if the earlier requests with this id have
   * completed, so the hash is combined (XOR) with the hash of their contents.
   */
  #recordsOf(chunk: Chunk): BigUint64Array {
    const { ids, contents } = chunk;
    const records = new BigUint64Array(ids.length);
    if (chunk.shared.size === 0) return records;
    const last = new Map<bigint, { at: number; before: bigint }>();
    for (const [at, item] of itemsOf(chunk).entries()) {
      const id = ids[at]!;
      if (!chunk.shared.has(id)) continue;
      const sofar = this.#known?.get(id);
      if (sofar) last.set(id, { at, before: sofar.content });
      this.#keep(id, contents[at]!, Buffer.from(item), sofar);
    }
    if (this.#known === null) return records;
    for (const [id, { at, before }] of last) {
      records[at] = this.#merged.of(parseItem(this.#known.get(id)!.item)) ^ before;
    }
    return records;
  }

  #keep(id: bigint, content: bigint, item: Buffer, sofar: Sofar | undefined): void {
    if (this.#known === null) return;
    const whole =
      sofar === undefined || sofar.item.equals(item)
        ? item
        : Buffer.from(JSON.stringify(mergeUpserts(parseItem(sofar.item), parseItem(item))));
    this.#room -= sofar ? whole.length - sofar.item.length : whole.length + OVERHEAD;
    if (this.#room < 0) this.#known = null;
    else this.#known.set(id, { content: foldContents(sofar?.content ?? 0n, content), item: whole });
  }
}
