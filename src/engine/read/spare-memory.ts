/** Memory of batches that is used again. What garbage collection frees, it frees late, and each collection takes its time. */

const MAX_SPARE = 8;

/** Memory that is done with, for what comes next. */
export class SpareMemory {
  readonly #spare: ArrayBuffer[] = [];

  /**
   * @param unit memory is taken in multiples of so many bytes
   * @param units what takes more of them is not kept
   * @param least what takes fewer bytes has just as many, and is not kept
   */
  constructor(
    private readonly unit: number,
    private readonly units: number,
    private readonly least = 0,
  ) {}

  /** Nothing may refer to it any more. */
  give(memory: ArrayBuffer): void {
    const units = memory.byteLength / this.unit;
    if (!Number.isInteger(units) || units === 0 || units > this.units) return;
    // The oldest may be too small by now.
    if (this.#spare.push(memory) > MAX_SPARE) this.#spare.shift();
  }

  /** Some of it, to be given to another thread. */
  pop(): ArrayBuffer | undefined {
    return this.#spare.pop();
  }

  /** Lets go of it. */
  clear(): void {
    this.#spare.length = 0;
  }

  /** What is in it has no meaning. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    const units = Math.ceil(bytes / this.unit);
    if (units > this.units || bytes < this.least) return new Uint8Array(bytes);
    const at = this.#spare.findIndex((memory) => memory.byteLength >= bytes);
    const [found] = at < 0 ? [] : this.#spare.splice(at, 1);
    return new Uint8Array(found ?? new ArrayBuffer(Math.max(1, units) * this.unit), 0, bytes);
  }
}

/** For the bodies of requests: garbage of this size makes V8 collect all of its memory again and again. */
export const bodyMemory = new SpareMemory(64 * 1024, 256, 64 * 1024);

/** For the text of batches: some more than a chunk of the input, or of what Parquet is unpacked to. */
export const textMemory = new SpareMemory(160 * 1024, 2);

/** For their items: those of a few hundred rows take some of these units. A plan may keep thousands of batches of a few. */
export const itemMemory = new SpareMemory(64 * 1024, 16, 64 * 1024);
