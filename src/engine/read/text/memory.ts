/** Memory of batches, items, and bodies that is used again, also by other threads. */

const MAX_SPARE = 8;

/** Memory that is no longer in use, for reuse. */
class SpareMemory {
  readonly #spare: ArrayBuffer[] = [];

  /**
   * @param unit memory is allocated in multiples of this many bytes
   * @param units memory of more units than this is not kept
   * @param least smaller requests get exactly their size, and their memory is not kept
   */
  constructor(
    private readonly unit: number,
    private readonly units: number,
    private readonly least = 0,
  ) {}

  /** Takes memory back. Nothing may refer to it anymore. */
  give(memory: ArrayBuffer): void {
    const units = memory.byteLength / this.unit;
    if (!Number.isInteger(units) || units === 0 || units > this.units) return;
    // The oldest may be too small by now.
    if (this.#spare.push(memory) > MAX_SPARE) this.#spare.shift();
  }

  /** Removes some memory, to give it to another thread. */
  pop(): ArrayBuffer | undefined {
    return this.#spare.pop();
  }

  /** Returns memory of this many bytes, whose contents are undefined. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    const units = Math.ceil(bytes / this.unit);
    if (units > this.units || bytes < this.least) return new Uint8Array(bytes);
    const at = this.#spare.findIndex((memory) => memory.byteLength >= bytes);
    const [found] = at < 0 ? [] : this.#spare.splice(at, 1);
    return new Uint8Array(found ?? new ArrayBuffer(Math.max(1, units) * this.unit), 0, bytes);
  }
}

/** For the text of batches: a unit is slightly more than a chunk of the input. A batch of Parquet takes some. */
export const textMemory = new SpareMemory(288 * 1024, 6, 32 * 1024);

/** For items: those of a few hundred rows take some of these units. A plan may keep thousands of small batches. */
export const itemMemory = new SpareMemory(64 * 1024, 16, 64 * 1024);

/** For the bodies of requests that are sent. */
export const bodyMemory = new SpareMemory(64 * 1024, 16, 64 * 1024);
