/** Options for how files are read. */
import type { Format, ShortRows } from '../model.js';

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

/** How files are read: known before the kind of their rows is, so that it holds for all inputs. */
export interface FileFacts extends DialectOptions {
  /** Format of the inputs. Default: detected from the first bytes, then from the name. */
  format?: Format | undefined;
  /** Sheet of a workbook: its name, or its number from 1. Default: the first that is not hidden. */
  sheet?: string | undefined;
  /** Encoding of text, by its label in the Encoding Standard, such as `windows-1252`. Default: UTF-8, or UTF-16 with a byte order mark. */
  encoding?: string | undefined;
  /**
   * JSON: where the array of items is, such as `data.items`. Default: the array itself, or the member `companies` or
   * `users`.
   */
  jsonPath?: string | undefined;
  /**
   * JSON: rounds numbers that a double cannot represent exactly, instead of rejecting their rows. Default
   * false.
   */
  roundNumbers?: boolean | undefined;
}

export const FACTS = [
  'format',
  'encoding',
  'sheet',
  'delimiter',
  'quote',
  'escape',
  'comment',
  'skipLines',
  'lenientQuotes',
  'shortRows',
  'excelText',
  'renameDuplicates',
  'jsonPath',
  'roundNumbers',
] as const satisfies readonly (keyof FileFacts)[];

/** Only the facts that were given. One that is off (false or 0) counts as not given. */
export const givenFacts = (options: FileFacts): FileFacts =>
  Object.fromEntries(
    FACTS.flatMap((name) => {
      const value = options[name];
      return value === undefined || value === false || value === 0 ? [] : [[name, value]];
    }),
  );
