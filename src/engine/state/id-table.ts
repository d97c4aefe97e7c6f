const SCRATCH = new BigUint64Array(1);
const WORDS = new Uint32Array(SCRATCH.buffer);

/**
 * A map from ids, which are 64-bit hashes, to numbers: a hash table with open addressing that takes 16 to 32
 * bytes for each id. The hashes are already random, so their low word gives the place.
 */
export class IdTable {
  /** Ids as pairs of 32-bit words, and their numbers; 0 if the place is free. */
  #ids: Uint32Array;
  #values: Uint32Array;
  #size = 0;

  /** @param room number of ids that fit without growing */
  constructor(room = 0) {
    const places = 2 ** Math.max(4, Math.ceil(Math.log2((4 * room) / 3 + 1)));
    this.#ids = new Uint32Array(2 * places);
    this.#values = new Uint32Array(places);
  }

  get size(): number {
    return this.#size;
  }

  /** The number of an id; 0 if it has none. */
  get(id: bigint): number {
    if (this.#size === 0) return 0;
    SCRATCH[0] = id;
    return this.#values[this.#placeOf(WORDS[0]!, WORDS[1]!)]!;
  }

  /** @param value at least 1 */
  set(id: bigint, value: number): void {
    SCRATCH[0] = id;
    const place = this.#take(WORDS[0]!, WORDS[1]!); // first, because it may replace `#values`
    this.#values[place] = value;
  }

  /**
   * Sets the number of an id (as two words) unless it has one.
   * @returns the number that it had; 0 for none
   */
  putFirst(low: number, high: number, value: number): number {
    const place = this.#take(low, high);
    const before = this.#values[place]!;
    if (before === 0) this.#values[place] = value;
    return before;
  }

  /** The place of an id. Adds the id if needed; then the caller must set its number. */
  #take(low: number, high: number): number {
    if (4 * (this.#size + 1) > 3 * this.#values.length) this.#grow();
    const place = this.#placeOf(low, high);
    if (this.#values[place] === 0) this.#size++;
    this.#ids[2 * place] = low;
    this.#ids[2 * place + 1] = high;
    return place;
  }

  #placeOf(low: number, high: number): number {
    const last = this.#values.length - 1;
    for (let place = low & last; ; place = (place + 1) & last) {
      if (this.#values[place] === 0) return place;
      if (this.#ids[2 * place] === low && this.#ids[2 * place + 1] === high) return place;
    }
  }

  #grow(): void {
    const [ids, values] = [this.#ids, this.#values];
    this.#ids = new Uint32Array(2 * ids.length);
    this.#values = new Uint32Array(2 * values.length);
    for (const [from, value] of values.entries()) {
      if (value === 0) continue;
      const place = this.#placeOf(ids[2 * from]!, ids[2 * from + 1]!);
      this.#ids.set(ids.subarray(2 * from, 2 * from + 2), 2 * place);
      this.#values[place] = value;
    }
  }
}
