/** The strings that the cells of a workbook share: a sheet may refer to them in any order. */
import { Output } from '../text/bytes.js';
import { textsIn, unescaped } from './sheet.js';
import type { Handlers } from './xml.js';

/** Strings of a block, which is memory outside of the heap. */
const BLOCK = 1024;
const MOST_BYTES = 512 * 1024 * 1024;
/** How many decoded strings are kept. */
const RECENT = 2048;

export class SharedStrings {
  readonly #blocks: { bytes: Buffer; ends: Uint32Array }[] = [];
  readonly #out = new Output(64 * 1024);
  #ends: number[] = [];
  #bytes = 0;
  readonly #recent: string[] = new Array(RECENT).fill('');
  readonly #indexes = new Float64Array(RECENT).fill(-1);
  readonly handlers: Handlers;

  /** @param maxCell the most UTF-16 code units in a cell */
  constructor(maxCell: number) {
    let text = '';
    this.handlers = {
      'x:sst/x:si': {
        open: () => {
          text = '';
        },
        // What is cut stays too long, so that a cell that refers to it is refused.
        close: () => this.#add(text.length > maxCell ? text : unescaped(text)),
      },
      'x:sst': { close: () => this.#endBlock() },
      ...textsIn('x:sst/x:si', (more) => {
        // Cut, not rejected: perhaps no cell refers to it.
        if (text.length <= maxCell) text = (text + more).slice(0, maxCell + 1);
      }),
    };
  }

  /** How many strings can be read. */
  get length(): number {
    return this.#blocks.length * BLOCK;
  }

  #add(text: string): void {
    this.#out.write(text);
    this.#ends.push(this.#out.length);
    if (this.#bytes + this.#out.length > MOST_BYTES) throw new Error('its texts are too large');
    if (this.#ends.length === BLOCK) this.#endBlock();
  }

  #endBlock(): void {
    const bytes = Buffer.from(this.#out.bytes.subarray(0, this.#out.length));
    this.#blocks.push({ bytes, ends: Uint32Array.from(this.#ends) });
    this.#bytes += bytes.length;
    this.#out.length = 0;
    this.#ends = [];
  }

  /** @throws Error if there is no such string */
  get(index: number): string {
    const place = index % RECENT;
    if (this.#indexes[place] === index) return this.#recent[place]!;
    const block = this.#blocks[Math.floor(index / BLOCK)];
    const end = block?.ends[index % BLOCK];
    if (end === undefined) throw new Error(`it has no text number ${index}`);
    const text = block!.bytes.toString('utf8', block!.ends[(index % BLOCK) - 1] ?? 0, end);
    if (text.length < 1024) {
      this.#recent[place] = text;
      this.#indexes[place] = index;
    }
    return text;
  }
}
