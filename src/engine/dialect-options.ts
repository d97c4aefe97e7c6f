/** How a CSV is written, as it was asked for. */
import type { ShortRows } from './model.js';

/** How a CSV is written. In each text, `\t`, `\x01`, and `\u00a6` stand for characters. */
export interface DialectOptions {
  /** CSV: what separates cells: one character or several, or `tab`. Default: the one of Excel's `sep=` line; without such a line, detected among `,` `;` tab `|`. */
  delimiter?: string | undefined;
  /** CSV: the quote: one character, or `none` where quotes are text. Default `"`. */
  quote?: string | undefined;
  /** CSV: the character that makes a quote inside quotes text. Default: the quote itself, doubled. */
  escape?: string | undefined;
  /** CSV: leaves out the lines that begin with this. Default: none. */
  comment?: string | undefined;
  /** CSV: lines to leave out above the header. Default 0. */
  skipLines?: number | undefined;
  /** CSV: takes text after a closing quote as text, instead of rejecting the row. Default false. */
  lenientQuotes?: boolean | undefined;
  /** CSV: what becomes of rows with fewer cells than the header. Default `reject`. */
  shortRows?: ShortRows | undefined;
  /** CSV: reads cells like `="0012"` as their text. Default false. */
  excelText?: boolean | undefined;
  /** CSV: numbers columns of one name (`name`, `name_2`), instead of ending with an error. Default false. */
  renameDuplicates?: boolean | undefined;
}

const DIALECT_OPTIONS = [
  'delimiter',
  'quote',
  'escape',
  'comment',
  'skipLines',
  'lenientQuotes',
  'shortRows',
  'excelText',
  'renameDuplicates',
] as const satisfies readonly (keyof DialectOptions)[];

/** Those that were given; an option that is off counts as not given. */
export const dialectOptions = (options: DialectOptions): DialectOptions =>
  Object.fromEntries(
    DIALECT_OPTIONS.flatMap((name) => {
      const value = options[name];
      return value === undefined || value === false || value === 0 ? [] : [[name, value]];
    }),
  );
