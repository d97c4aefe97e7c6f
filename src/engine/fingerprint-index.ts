/** Fingerprints in memory: what each id had when the service last completed it. */

/** Rows in request order, each by three keyed 64-bit hashes, little-endian, as they are stored. */
export interface FingerprintColumns {
  ids: BigUint64Array;
  /** Of the item that was sent. */
  contents: BigUint64Array;
  /** Of the record that the item was made of, and how it was made: equal ones make equal items. 0: not known. */
  records: BigUint64Array;
}

/** The memory of an index, hashes as pairs of 32-bit words. Threads that it is posted to share it. */
export interface PrintTables {
  /** Numbers of rows, from 1, by the low word of their id and of their record; 0 where there is none. */
  byId: Uint32Array;
  byRecord: Uint32Array;
  ids: Uint32Array;
  /** Both are 0 in rows that are not the last of their id, or were cleared. Such rows are still named above. */
  contents: Uint32Array;
  records: Uint32Array;
}

/**
 * Two open-addressed tables, from id and from record to the row that was set last. Rows stay in the order in which
 * they came, and files are mostly in the order of the last time: so look-ups go through memory from front to back.
 * No BigInt is made for them.
 */
export class FingerprintIndex {
  #tables: PrintTables;
  /** Set so far, those included that say nothing any more. */
  #rows = 0;
  #size = 0;
  /** The arrays that were asked for last, as words. */
  #last: { prints: object; ids: Uint32Array; contents: Uint32Array } | null = null;

  /** @param rows what there is room for from the start; or another index's tables, to be read and not to be added to */
  constructor(rows: number | PrintTables = 0) {
    this.#tables = typeof rows === 'number' ? emptyTables(rows) : rows;
  }

  get tables(): PrintTables {
    return this.#tables;
  }

  /** Ids that have a content. */
  get size(): number {
    return this.#size;
  }

  /** Rows that were set so far, those that say nothing any more included. */
  get rows(): number {
    return this.#rows;
  }

  /** Whether this id's last completed content is this one. `at` counts rows of the arrays given. */
  matches(prints: Pick<FingerprintColumns, 'ids' | 'contents'>, at: number): boolean {
    const { byId, ids, contents } = this.#tables;
    const asked = this.#asked(prints);
    const row = byId[placeOf(byId, ids, asked.ids[2 * at]!, asked.ids[2 * at + 1]!)]!;
    if (row === 0 || !isSet(contents, row)) return false;
    return (
      contents[2 * row - 2] === asked.contents[2 * at] && contents[2 * row - 1] === asked.contents[2 * at + 1]
    );
  }

  /** For each record: the id whose last completed content was made of it, 0 where there is none. */
  idsOf(records: BigUint64Array): BigUint64Array<ArrayBuffer> {
    const { byRecord, ids, records: held } = this.#tables;
    const asked = wordsOf(records);
    const found = new BigUint64Array(records.length);
    const words = wordsOf(found);
    for (let at = 0; at < words.length; at += 2) {
      // A record that is not known is no cleared row's.
      if (asked[at] === 0 && asked[at + 1] === 0) continue;
      const row = byRecord[placeOf(byRecord, held, asked[at]!, asked[at + 1]!)]!;
      if (row === 0) continue;
      words[at] = ids[2 * row - 2]!;
      words[at + 1] = ids[2 * row - 1]!;
    }
    return found;
  }

  /** Sets every id of the batch to its content, or clears it, as it also does where the content is 0. */
  apply(prints: FingerprintColumns, set: boolean): void {
    if (set) this.#append(prints);
    const { byId, byRecord, ids, contents, records } = this.#tables;
    const asked = wordsOf(prints.ids);
    const first = this.#rows + 1 - prints.ids.length;
    for (let at = 0; 2 * at < asked.length; at++) {
      const place = placeOf(byId, ids, asked[2 * at]!, asked[2 * at + 1]!);
      const before = byId[place]!;
      if (before !== 0 && isSet(contents, before)) {
        clear(contents, before);
        clear(records, before);
        this.#size--;
      }
      if (!set) continue;
      const row = first + at;
      byId[place] = row;
      if (!isSet(contents, row)) continue;
      if (isSet(records, row)) byRecord[freePlace(byRecord, records[2 * row - 2]!)] = row;
      this.#size++;
    }
  }

  /** Whether one of the rows from `from` on, counted from 0 in the order they were set, still says something. */
  holds(from: number, to: number): boolean {
    for (let row = from + 1; row <= to; row++) if (isSet(this.#tables.contents, row)) return true;
    return false;
  }

  /** Takes the rows in, not yet to be found. */
  #append(prints: FingerprintColumns): void {
    const at = 2 * this.#rows;
    this.#rows += prints.ids.length;
    if (2 * this.#rows > this.#tables.ids.length) this.#grow(at);
    const { ids, contents, records } = this.#tables;
    ids.set(wordsOf(prints.ids), at);
    contents.set(wordsOf(prints.contents), at);
    records.set(wordsOf(prints.records), at);
  }

  /** @param words of each table that are in use */
  #grow(words: number): void {
    const before = this.#tables;
    const tables = emptyTables(2 * this.#rows);
    for (const name of ['ids', 'contents', 'records'] as const) {
      tables[name].set(before[name].subarray(0, words));
    }
    for (const row of before.byId) {
      if (row !== 0) tables.byId[freePlace(tables.byId, tables.ids[2 * row - 2]!)] = row;
    }
    for (const row of before.byRecord) {
      if (row === 0 || !isSet(tables.records, row)) continue;
      tables.byRecord[freePlace(tables.byRecord, tables.records[2 * row - 2]!)] = row;
    }
    this.#tables = tables;
  }

  /** One row after the other is asked for of the same arrays. */
  #asked(prints: Pick<FingerprintColumns, 'ids' | 'contents'>): { ids: Uint32Array; contents: Uint32Array } {
    if (prints !== this.#last?.prints) {
      this.#last = { prints, ids: wordsOf(prints.ids), contents: wordsOf(prints.contents) };
    }
    return this.#last;
  }
}

/** Where the row of this hash is named, or would be. The hash is random already, so its low word is the place. */
function placeOf(places: Uint32Array, hashes: Uint32Array, low: number, high: number): number {
  const last = places.length - 1;
  for (let place = low & last; ; place = (place + 1) & last) {
    const row = places[place]!;
    if (row === 0 || (hashes[2 * row - 2] === low && hashes[2 * row - 1] === high)) return place;
  }
}

/** Where a row can be named whose hash is not there yet. */
function freePlace(places: Uint32Array, low: number): number {
  const last = places.length - 1;
  let place = low & last;
  while (places[place] !== 0) place = (place + 1) & last;
  return place;
}

const isSet = (hashes: Uint32Array, row: number): boolean =>
  hashes[2 * row - 2] !== 0 || hashes[2 * row - 1] !== 0;

function clear(hashes: Uint32Array, row: number): void {
  hashes[2 * row - 2] = 0;
  hashes[2 * row - 1] = 0;
}

function emptyTables(rows: number): PrintTables {
  const table = (words: number): Uint32Array => new Uint32Array(new SharedArrayBuffer(words * 4));
  // At most half of the places are taken: then a look-up takes a step or two.
  const places = 2 ** Math.max(10, Math.ceil(Math.log2(2 * rows)));
  return {
    byId: table(places),
    byRecord: table(places),
    ids: table(2 * rows),
    contents: table(2 * rows),
    records: table(2 * rows),
  };
}

const wordsOf = (values: BigUint64Array): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
