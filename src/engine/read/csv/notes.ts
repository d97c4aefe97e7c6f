/**
 * Signs that a CSV has another dialect than the one in which it is read. They only cause warnings in the plan.
 */

import type { Warning } from '../../problems.js';
import { count } from '../../util/numbers.js';
import type { Dialect } from './dialect.js';

export type Oddity = 'excel_text' | 'space_before_quote' | 'quotes_in_text';

const SENTENCES: Record<Oddity, (cells: number) => string> = {
  excel_text: (cells) =>
    `${cells === 1 ? 'a cell is' : `${count(cells, 'cell')} are`} written like ="0012", and are sent so`,
  space_before_quote: (cells) =>
    `${cells === 1 ? 'a cell has' : `${count(cells, 'cell')} have`} white space before an opening quote, which is text there`,
  quotes_in_text: (rows) =>
    `${rows === 1 ? 'a row has' : `${count(rows, 'row')} have`} more than one quote in cells that begin without one`,
};

/** How many bytes at the start of a cell are examined. */
export const CELL_START = 16;

/** Collected by a splitter over a whole input. */
export class Notes {
  readonly #found = new Map<Oddity, { line: number; count: number; space: string }>();
  /** The record whose quotes were counted last. */
  #record = -1;
  #quotes = 0;

  readonly #delimiter: string;
  /** The first byte of the quote. */
  readonly #quote: number;

  /** @param excelText whether cells like `="0012"` are read as their text, and so are not odd */
  constructor(
    { delimiter, quote }: Pick<Dialect, 'delimiter' | 'quote'>,
    private readonly excelText = false,
  ) {
    this.#delimiter = delimiter;
    this.#quote = Buffer.from(quote ?? '"')[0]!;
  }

  add(oddity: Oddity, line: number, space = ''): void {
    if (oddity === 'excel_text' && this.excelText) return;
    const found = this.#found.get(oddity);
    if (found) found.count++;
    else this.#found.set(oddity, { line, count: 1, space });
  }

  /**
   * A quote in a cell that did not begin with one.
   * @param start the cell's first bytes, at most `CELL_START`
   * @param offset offset of the quote in the cell
   * @param line the line on which the record begins
   */
  quoteInText(start: Uint8Array, offset: number, line: number): void {
    if (start[0] === EQUALS && start[1] === QUOTE) {
      if (offset === 1) this.add('excel_text', line);
      return;
    }
    if (start[0] === this.#quote) return; // with lenient quotes, text may follow a closing quote
    const text = start.findIndex((byte) => byte !== SPACE && byte !== TAB);
    if (text > 0 && start[text] === this.#quote) {
      if (offset === text)
        this.add('space_before_quote', line, Buffer.from(start.subarray(0, text)).toString());
      return;
    }
    if (this.#record !== line) {
      this.#record = line;
      this.#quotes = 1;
    } else if (++this.#quotes === 2) {
      this.add('quotes_in_text', line);
    }
  }

  warnings(): Warning[] {
    return [...this.#found].map(([oddity, { line, count, space }]) => ({
      message: `line ${line}: ${SENTENCES[oddity](count)}`,
      problem:
        oddity === 'space_before_quote'
          ? { code: 'space_before_quote', delimiter: this.#delimiter + space }
          : { code: oddity },
    }));
  }
}

const EQUALS = 0x3d;
const QUOTE = 0x22;
const SPACE = 0x20;
const TAB = 0x09;
