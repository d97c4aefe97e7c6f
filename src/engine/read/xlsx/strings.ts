/** The shared strings of a workbook, to which a sheet may refer in any order, as UTF-8 outside of the heap. */
import { Output } from '../text/output.js';

const BLOCK_BYTES = 1024 * 1024;
const MOST_BYTES = 512 * 1024 * 1024;
/** How many decoded strings are kept. */
const RECENT = 2048;

export class StringTable {
  /** Of each string: its block, and where it ends in it. */
  readonly #blockOf: number[] = [];
  readonly #ends: number[] = [];
  readonly #blocks: Buffer[] = [];
  readonly #last = new Output(BLOCK_BYTES);
  #bytes = 0;
  readonly #recent: ({ index: number; text: string } | undefined)[] = new Array(RECENT);

  add(text: string): void {
    this.#last.write(text);
    this.#blockOf.push(this.#blocks.length);
    this.#ends.push(this.#last.length);
    if (this.#last.length < BLOCK_BYTES) return;
    this.#bytes += this.#last.length;
    if (this.#bytes > MOST_BYTES) throw new Error('its texts are too large');
    this.#blocks.push(Buffer.from(this.#last.bytes.subarray(0, this.#last.length)));
    this.#last.length = 0;
  }

  /** @throws Error if there is no such string */
  get(index: number): string {
    const recent = this.#recent[index % RECENT];
    if (recent?.index === index) return recent.text;
    const block = this.#blockOf[index];
    if (block === undefined) throw new Error(`it has no text number ${index}`);
    const start = this.#blockOf[index - 1] === block ? this.#ends[index - 1]! : 0;
    const text = (this.#blocks[block] ?? this.#last.bytes).toString('utf8', start, this.#ends[index]!);
    if (text.length < 1024) this.#recent[index % RECENT] = { index, text };
    return text;
  }
}
