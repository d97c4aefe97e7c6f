/** Options for the dialect of a CSV. */
import type { ShortRows } from '../model.js';

/** The dialect of a CSV. In each text, escapes such as `\t`, `\x01`, and `\u00a6` mean characters. */
export interface DialectOptions {
  /**
   * CSV: separator of cells: one or more characters, or `tab`. Default: that in Excel's `sep=` line, or
   * without such a line, the detected one of `,` `;` tab `|`.
   */
  delimiter?: string | undefined;
  /** CSV: the quote character, or `none` if quotes are text. Default `"`. */
  quote?: string | undefined;
  /**
   * CSV: the character before a quote inside quoted text. Default: the quote itself, so that it is doubled.
   */
  escape?: string | undefined;
  /** CSV: skips lines that begin with this text. Default: none. */
  comment?: string | undefined;
  /** CSV: number of lines to skip above the header. Default 0. */
  skipLines?: number | undefined;
  /**
   * CSV: reads text after a closing quote as part of the cell, instead of rejecting the row. Default false.
   */
  lenientQuotes?: boolean | undefined;
  /** CSV: what to do with rows that have fewer cells than the header. Default `reject`. */
  shortRows?: ShortRows | undefined;
  /** CSV: reads cells like `="0012"` as their text. Default false. */
  excelText?: boolean | undefined;
  /**
   * CSV: renames columns with the same name (`name`, `name_2`), instead of ending with an error. Default
   * false.
   */
  renameDuplicates?: boolean | undefined;
}

export const DIALECT_OPTIONS = [
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

/** Only the options that were given. An option that is off (false or 0) counts as not given. */
export const dialectOptions = (options: DialectOptions): DialectOptions =>
  Object.fromEntries(
    DIALECT_OPTIONS.flatMap((name) => {
      const value = options[name];
      return value === undefined || value === false || value === 0 ? [] : [[name, value]];
    }),
  );
