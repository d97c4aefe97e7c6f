/** The dialect of a CSV: delimiter, quotes, and lines above the header (contract §3 "Dialects"). */

import { UsageError } from '../../errors.js';
import type { DialectOptions } from '../../options/file-facts.js';
import type { DialectOption, Warning } from '../../problems.js';
import { count } from '../../util/numbers.js';

export interface Dialect {
  delimiter: string;
  /** Null if quotes have no special meaning. */
  quote: string | null;
  /** The character before a literal quote inside quotes; null if quotes are doubled. */
  escape: string | null;
  /** Lines that begin with it are left out. */
  comment: string | null;
  /** Lines above the header, including an Excel `sep=` line. */
  skipLines: number;
  /** Text after a closing quote is text. */
  lenientQuotes: boolean;
}

/** RFC 4180 with a delimiter of one byte. */
export const plainDialect = (delimiter: string): Dialect => ({
  delimiter,
  quote: '"',
  escape: null,
  comment: null,
  skipLines: 0,
  lenientQuotes: false,
});

/** Whether the tokenizer can read it; csv-parse reads the others. Lines above the header do not matter. */
export const isPlain = ({ delimiter, quote, escape: own, comment, lenientQuotes }: Dialect): boolean =>
  /^[\x01-\x7f]$/.test(delimiter) && quote === '"' && own === null && comment === null && !lenientQuotes;

/** The options of csv-parse for a dialect. Quotes in cells that begin without one are text. */
export const parserOptions = ({ delimiter, quote, escape: own, comment }: Dialect) => ({
  delimiter,
  quote: quote ?? false,
  escape: own ?? quote ?? false,
  ...(comment !== null && { comment, comment_no_infix: true }),
  record_delimiter: ['\r\n', '\n', '\r'],
  skip_empty_lines: true,
  relax_quotes: true,
  relax_column_count: true,
});

/** The requested dialect, checked; a missing delimiter is detected later. */
export interface AskedDialect extends Omit<Dialect, 'delimiter'> {
  delimiter: string | null;
}

/** @throws UsageError for options that no file can have, or that contradict each other */
export function askedDialect(options: DialectOptions): AskedDialect {
  const { skipLines = 0, lenientQuotes = false } = options;
  const delimiter = options.delimiter === 'tab' ? '\t' : unescaped(options.delimiter);
  const quote = options.quote === 'none' ? null : (unescaped(options.quote) ?? '"');
  const own = unescaped(options.escape);
  const comment = unescaped(options.comment);
  const others = [delimiter, quote].filter((other) => other !== null);
  const beginsAlike = (a: string, b: string): boolean => a.startsWith(b) || b.startsWith(a);
  const contains = (part: string | null): boolean => part !== null && delimiter?.includes(part) === true;
  const wrong: [DialectOption, is: boolean, why: string][] = [
    ['delimiter', delimiter !== null && !isInLine(delimiter), 'cannot separate cells'],
    ['quote', quote !== null && !isOneCharacter(quote), 'is not one character'],
    ['escape', own !== null && !isOneCharacter(own), 'is not one character'],
    ['escape', own !== null && quote === null, 'has a meaning only inside quotes, and there are none'],
    ['delimiter', contains(quote), 'contains the quote'],
    ['delimiter', contains(own), 'contains the escape character'],
    ['comment', comment !== null && !isInLine(comment), 'is not the beginning of a line'],
    [
      'comment',
      comment !== null && others.some((other) => beginsAlike(other, comment)),
      'would leave out rows: cells may begin with it',
    ],
  ];
  for (const [option, is, why] of wrong) {
    if (!is) continue;
    const value = options[option]!;
    throw new UsageError(`${option}: ${JSON.stringify(value)} ${why}`, {
      problem: { code: 'bad_dialect', option, value, wrong: why },
      hint: option === 'delimiter' ? 'such as ";", tab or \\x01' : undefined,
    });
  }
  // A quote that escapes itself is a doubled quote.
  return { delimiter, quote, escape: own === quote ? null : own, comment, skipLines, lenientQuotes };
}

/** Whether a text cannot be mistaken for a line end. */
const isInLine = (text: string): boolean => text !== '' && !/[\r\n\0]/.test(text);
const isOneCharacter = (text: string): boolean => isInLine(text) && [...text].length === 1;

/** Decodes `\t`, `\x01`, and `\u00a6` as typed; null for an option that was not given. */
const unescaped = (text: string | undefined): string | null =>
  text?.replace(/\\(?:t|x([\da-f]{2})|u([\da-f]{4}))/gi, (_, byte?: string, unit?: string) => {
    const code = byte ?? unit;
    return code === undefined ? '\t' : String.fromCharCode(Number.parseInt(code, 16));
  }) ?? null;

/** The delimiter in Excel's first line `sep=;`; null if there is none. */
export const separatorLine = (text: Buffer): string | null =>
  /^"?sep=([^"\r\n\0])"?(?:\r|\n|$)/i.exec(text.toString('utf8', 0, 16))?.[1] ?? null;

/**
 * The delimiter of a rejects file of this program, which is always written in the plain dialect: options for the
 * original file would misread it. Null for any other text.
 */
export function rejectsDelimiter(text: Buffer): string | null {
  const [header] = text.toString('utf8', 0, 64 * 1024).split(/[\r\n]/, 1);
  return /_profiles_line"?([^\w"])"?_profiles_error"?\1/.exec(header!)?.[1] ?? null;
}

type Oddity = 'excel_text' | 'space_before_quote' | 'quotes_in_text' | 'escape_lost';

const SENTENCES: Record<Oddity, (cells: number) => string> = {
  excel_text: (cells) =>
    `${cells === 1 ? 'a cell is' : `${count(cells, 'cell')} are`} written like ="0012", and are sent so`,
  space_before_quote: (cells) =>
    `${cells === 1 ? 'a cell has' : `${count(cells, 'cell')} have`} white space before an opening quote, which is text there`,
  quotes_in_text: (rows) =>
    `${rows === 1 ? 'a row has' : `${count(rows, 'row')} have`} more than one quote in cells that begin without one`,
  escape_lost: (rows) =>
    `${rows === 1 ? 'a row has' : `${count(rows, 'row')} have`} the escape character before one that needs none; it is left out there`,
};

/** Signs that a CSV has another dialect than the one in which it is read, over a whole input. They only cause warnings. */
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

  /** A row in whose quotes the escape character stands before a character that needs none, such as `\n`. */
  addLost(line: number): void {
    this.#note('escape_lost', line);
  }

  #note(oddity: Oddity, line: number, space = ''): void {
    const found = this.#found.get(oddity);
    if (found) found.count++;
    else this.#found.set(oddity, { line, count: 1, space });
  }

  warnings(): Warning[] {
    return [...this.#found].map(([oddity, { line, count, space }]): Warning => {
      const message = `line ${line}: ${SENTENCES[oddity](count)}`;
      if (oddity === 'escape_lost') return { message };
      const { delimiter } = this.dialect;
      const isSpace = oddity === 'space_before_quote';
      return {
        message,
        problem: isSpace ? { code: oddity, delimiter: delimiter + space } : { code: oddity },
      };
    });
  }
}
