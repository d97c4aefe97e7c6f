/** Reads the beginning of a CSV: its dialect, and the names of its columns. */
import { InputError } from '../../errors.js';
import type { Format } from '../../model.js';
import type { Warning } from '../../problems.js';
import { formatSize } from '../../util/size.js';
import { givenNames } from '../mapping/identity.js';
import { CR, LF } from '../text/bytes.js';
import { HEAD_BYTES, lineEnds } from '../text/head.js';
import type { InputOptions } from '../types.js';
import { TOO_WIDE, tooManyColumns } from '../wording.js';
import {
  type AskedDialect,
  askedDialect,
  type Dialect,
  plainDialect,
  rejectsDelimiter,
  separatorLine,
} from './dialect.js';
import { findDelimiter, firstCells, firstRows, type HeadText } from './rows.js';

export interface Header {
  dialect: Dialect;
  /** The cells as written. */
  cells: string[];
  line: number;
}

/** The beginning of a table, of text or of a sheet. */
export interface Table {
  /** The header. @throws InputError if there is none; UsageError for options that do not fit it */
  first(): Header | Promise<Header>;
  /** The header after some lines; null if there is none. */
  after(skipLines: number): Header | null;
  /** The cells of the first rows after a header; none if they cannot be read. */
  below(header: Header): string[][];
  /** How many lines the first rows take, of which some may be a title. */
  lines: number;
}

/** How much text has enough rows for a guess at their types. */
const ROWS_BYTES = 128 * 1024;

export function tableOf(head: HeadText, options: InputOptions, format: Format): Table {
  const isRejects = rejectsDelimiter(head.text) !== null;
  return {
    first: () => headerIn(head, options, format) ?? missing(head, options.path),
    after: (skipLines) => quietly(() => headerIn(head, options, format, skipLines)),
    below: ({ dialect }) => firstCells(head, dialect, [ROWS_BYTES]).slice(1),
    lines: isRejects ? 0 : lineEnds(head.text),
  };
}

function missing({ text, whole }: HeadText, path: string): never {
  if (whole) throw new InputError('has no header', { file: path, hint: 'its first line names the columns' });
  const start = text.findIndex((byte) => byte !== LF && byte !== CR);
  throw new InputError(`the header does not end within the first ${formatSize(HEAD_BYTES)}`, {
    file: path,
    line: lineEnds(text.subarray(0, start)) + 1,
    hint: 'check the line ends and the quotes; a header may not be longer',
  });
}

/** The requested dialect, completed by what the text itself says. @throws UsageError */
function askedOf({ text }: HeadText, options: InputOptions): AskedDialect {
  const rejects = rejectsDelimiter(text);
  if (rejects !== null) return plainDialect(rejects);
  const asked = askedDialect(options);
  const separator = separatorLine(text);
  if (separator === null) return asked;
  return { ...asked, delimiter: asked.delimiter ?? separator, skipLines: Math.max(asked.skipLines, 1) };
}

/**
 * Null if no row ends in the text.
 * @param skipLines default: as the options say
 * @throws UsageError; InputError for a quote or a cell that does not end within its limit
 */
function headerIn(head: HeadText, options: InputOptions, format: Format, skipLines?: number): Header | null {
  const { path, maxCellBytes } = options;
  const asked = askedOf(head, options);
  if (skipLines !== undefined) asked.skipLines = skipLines;
  const names = ['user_id', 'company_id', ...givenNames(options)];
  const delimiter = asked.delimiter ?? (format === 'tsv' ? '\t' : findDelimiter(head, names, asked));
  const form = { path, maxCellBytes, dialect: { ...asked, delimiter } };
  // Most headers end within the first bytes.
  const start = { text: head.text.subarray(0, 4096), whole: false };
  const row = firstRows(start, form)[0] ?? firstRows(head, form)[0];
  if (!row) return null;
  const { cells, line, reason } = row;
  if (reason === TOO_WIDE) throw tooManyColumns(path, line);
  if (reason !== null) {
    throw new InputError('text follows the closing quote of a cell in the header', {
      file: path,
      line,
      hint: 'double a quote that belongs to the text ("")',
    });
  }
  return { dialect: form.dialect, cells, line };
}

/**
 * The names in a header, trimmed; empty for a column without one.
 * @throws InputError for two columns with one name, unless the second is to be renamed, and if no column has a name
 */
export function namesIn({ cells, line }: Header, { path: file, renameDuplicates }: InputOptions): string[] {
  const trimmed = cells.map((cell) => cell.trim());
  if (trimmed.every((name) => name === '')) {
    throw new InputError('the header names no column', {
      file,
      line,
      hint: 'its first line names the columns',
    });
  }
  const taken = new Set(trimmed);
  const seen = new Map<string, number>();
  return trimmed.map((name, index) => {
    const other = seen.get(name);
    seen.set(name, index);
    if (name === '' || other === undefined) return name;
    if (!renameDuplicates) {
      throw new InputError(`columns ${other + 1} and ${index + 1} are both called "${name}"`, {
        file,
        line,
        hint: 'rename or remove one of them',
        problem: { code: 'duplicate_column', column: name },
      });
    }
    let number = 2;
    while (taken.has(`${name}_${number}`)) number++;
    taken.add(`${name}_${number}`);
    return `${name}_${number}`;
  });
}

/** How many lines to search for a header. */
const MOST_TITLE_LINES = 30;

/**
 * How many lines to skip if the header seems to be further down: after them, `fits` finds its columns, or rows with
 * more columns begin. Null if nothing suggests that.
 */
export function titleLines(
  table: Table,
  options: InputOptions,
  first: Header | null,
  fits: (columns: string[]) => boolean,
): { skipLines: number; header: string[] } | null {
  const least = Math.max(first?.cells.filter((cell) => cell.trim() !== '').length ?? 0, 1);
  const lines = Math.min(table.lines, MOST_TITLE_LINES);
  let wider: { skipLines: number; header: string[] } | null = null;
  for (let skipLines = (options.skipLines ?? 0) + 1; skipLines <= lines; skipLines++) {
    const found = table.after(skipLines);
    const header = found && quietly(() => namesIn(found, options));
    // A header after an empty line is found again from the next line, so that the empty line is skipped, too.
    if (!header || found.line !== skipLines + 1) continue;
    if (fits(header)) return { skipLines, header };
    if (wider || header.length <= least || header.some((name) => name === '' || looksLikeValue(name)))
      continue;
    const rows = table.below(found);
    const fit = rows.filter((row) => row.length === header.length).length;
    if (rows.length > 0 && fit + 1 > (rows.length + 1) * 0.8) wider = { skipLines, header };
  }
  return wider;
}

/** A null marker, an e-mail address, a date, or a number other than a year. */
const VALUE = /^(?:\\N|\S+@\S+\.\S+|\d{4}-\d\d-\d\d.*|(?!(?:19|20)\d\d$)-?\d+(?:\.\d+)?)$/s;

/** Whether a name of a header is rather a cell of a row. */
export const looksLikeValue = (name: string): boolean => VALUE.test(name.trim());

/** The result of an attempt; null if it throws. */
export function quietly<T>(attempt: () => T): T | null {
  try {
    return attempt();
  } catch {
    return null;
  }
}

/** Columns in which every cell at the beginning of the file is enclosed in apostrophes: they may be quotes. */
export function apostrophes({ dialect, line, cells: names }: Header, below: string[][]): Warning[] {
  const rows = below.filter(({ length }) => length === names.length);
  const found = names.filter((_, index) => {
    const cells = rows.map((row) => row[index]!).filter((cell) => cell !== '');
    return cells.length > 0 && cells.every((cell) => /^'.*'$/s.test(cell) && cell.length > 1);
  });
  if (found.length === 0 || dialect.quote === "'") return [];
  const columns = found.length === 1 ? `"${found[0]!.trim()}"` : `${found.length} columns`;
  const message = `line ${line + 1}: the cells of ${columns} are enclosed in apostrophes, which are sent with them`;
  return [{ message, problem: { code: 'apostrophes' } }];
}
