/** The dialect of a CSV: delimiter, quotes, and lines above the header (contract §3 "Dialects"). */

import { UsageError } from '../../errors.js';
import type { DialectOptions } from '../../options/dialect-options.js';
import type { DialectOption } from '../../problems.js';

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

/** The requested dialect, checked; a missing delimiter is detected later. */
export interface AskedDialect extends Omit<Dialect, 'delimiter'> {
  delimiter: string | null;
}

/** @throws UsageError for options that no file can have, or that contradict each other */
export function askedDialect(options: DialectOptions): AskedDialect {
  const { delimiter, quote, escape: escaping, comment, skipLines = 0, lenientQuotes = false } = options;
  const asked = {
    delimiter: delimiter === undefined ? null : delimiterOf(delimiter),
    quote: quote === undefined ? '"' : quote === 'none' ? null : oneCharacter('quote', quote),
    escape: escaping === undefined ? null : oneCharacter('escape', escaping),
    comment: comment === undefined ? null : unescaped(comment),
    skipLines,
    lenientQuotes,
  };
  // A quote that escapes itself is a doubled quote.
  if (asked.escape === asked.quote) asked.escape = null;
  const wrong = (option: DialectOption, value: string, reason: string): UsageError =>
    bad(option, value, reason);
  if (asked.escape !== null && asked.quote === null) {
    throw wrong('escape', escaping!, 'has a meaning only inside quotes, and there are none');
  }
  if (asked.delimiter !== null) {
    if (asked.quote !== null && asked.delimiter.includes(asked.quote)) {
      throw wrong('delimiter', delimiter!, 'contains the quote');
    }
    if (asked.escape !== null && asked.delimiter.includes(asked.escape)) {
      throw wrong('delimiter', delimiter!, 'contains the escape character');
    }
  }
  if (asked.comment !== null) {
    if (asked.comment === '' || /[\r\n\0]/.test(asked.comment)) {
      throw wrong('comment', comment!, 'is not the beginning of a line');
    }
    for (const other of [asked.delimiter, asked.quote]) {
      if (other?.startsWith(asked.comment) || (other !== null && asked.comment.startsWith(other))) {
        throw wrong('comment', comment!, 'would leave out rows: cells may begin with it');
      }
    }
  }
  return asked;
}

function bad(option: DialectOption, value: string, wrong: string): UsageError {
  return new UsageError(`${option}: ${JSON.stringify(value)} ${wrong}`, {
    problem: { code: 'bad_dialect', option, value, wrong },
    hint: option === 'delimiter' ? 'such as ";", tab or \\x01' : undefined,
  });
}

/** One or more characters that cannot be mistaken for a line end. */
function delimiterOf(text: string): string {
  const delimiter = text === 'tab' ? '\t' : unescaped(text);
  if (delimiter === '' || /[\r\n\0]/.test(delimiter)) throw bad('delimiter', text, 'cannot separate cells');
  return delimiter;
}

function oneCharacter(option: 'quote' | 'escape', text: string): string {
  const character = unescaped(text);
  if ([...character].length !== 1 || /[\r\n\0]/.test(character))
    throw bad(option, text, 'is not one character');
  return character;
}

/** Decodes `\t`, `\x01`, and `\u00a6` as typed. */
const unescaped = (text: string): string =>
  text.replace(/\\(?:t|x([\da-f]{2})|u([\da-f]{4}))/gi, (_, byte?: string, unit?: string) => {
    const code = byte ?? unit;
    return code === undefined ? '\t' : String.fromCharCode(Number.parseInt(code, 16));
  });

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
