/**
 * Signs that a CSV has another dialect than the one in which it is read. They only cause warnings in the plan.
 */

import type { Warning } from '../../problems.js';
import { count } from '../../util/numbers.js';
import type { Dialect } from './dialect.js';

type Oddity = 'excel_text' | 'space_before_quote' | 'quotes_in_text';

const SENTENCES: Record<Oddity, (cells: number) => string> = {
  excel_text: (cells) =>
    `${cells === 1 ? 'a cell is' : `${count(cells, 'cell')} are`} written like ="0012", and are sent so`,
  space_before_quote: (cells) =>
    `${cells === 1 ? 'a cell has' : `${count(cells, 'cell')} have`} white space before an opening quote, which is text there`,
  quotes_in_text: (rows) =>
    `${rows === 1 ? 'a row has' : `${count(rows, 'row')} have`} more than one quote in cells that begin without one`,
};

/** Collected over a whole input. */
export class Notes {
  readonly #found = new Map<Oddity, { line: number; count: number; space: string }>();
  /** The row whose quotes were counted last. */
  #row = -1;
  #quotes = 0;

  /** @param excelText whether cells like `="0012"` are read as their text, and so are not odd */
  constructor(
    private readonly dialect: Pick<Dialect, 'delimiter' | 'quote'>,
    private readonly excelText = false,
  ) {}

  /** Looks at a cell. @param line the line on which its row begins */
  add(text: string, isQuoted: boolean, line: number): void {
    if (text.startsWith('="')) {
      if (!this.excelText) this.#note('excel_text', line);
      return;
    }
    const { quote } = this.dialect;
    if (isQuoted || quote === null || !text.includes(quote)) return;
    const [space] = /^[ \t]*/.exec(text)!;
    if (space !== '' && text.startsWith(quote, space.length)) {
      this.#note('space_before_quote', line, space);
      return;
    }
    if (this.#row !== line) [this.#row, this.#quotes] = [line, 0];
    const before = this.#quotes;
    this.#quotes += text.split(quote).length - 1;
    if (before < 2 && this.#quotes >= 2) this.#note('quotes_in_text', line);
  }

  #note(oddity: Oddity, line: number, space = ''): void {
    const found = this.#found.get(oddity);
    if (found) found.count++;
    else this.#found.set(oddity, { line, count: 1, space });
  }

  warnings(): Warning[] {
    return [...this.#found].map(([oddity, { line, count, space }]) => ({
      message: `line ${line}: ${SENTENCES[oddity](count)}`,
      problem:
        oddity === 'space_before_quote'
          ? { code: 'space_before_quote', delimiter: this.dialect.delimiter + space }
          : { code: oddity },
    }));
  }
}
