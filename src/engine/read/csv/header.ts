/** Reads the beginning of a CSV: its dialect, and the names of its columns. */
import { InputError } from '../../errors.js';
import type { Format } from '../../model.js';
import type { Warning } from '../../problems.js';
import { formatSize } from '../../util/size.js';
import { tooManyColumns, tooWide } from '../limits.js';
import { givenNames } from '../mapping/named-column.js';
import { HEADER_BYTES, type Head, lineEnds } from '../text/head.js';
import type { InputOptions } from '../types.js';
import { cellsIn, findDelimiter } from './delimiter.js';
import {
  type AskedDialect,
  askedDialect,
  type Dialect,
  plainDialect,
  rejectsDelimiter,
  separatorLine,
} from './dialect.js';
import { firstRows } from './rows.js';
import type { HeadText } from './tokenizer.js';

export type HeaderOptions = Pick<InputOptions, 'path' | 'maxCellBytes' | 'maxColumns'> &
  Partial<Omit<InputOptions, 'sheet'>>;

export interface Header {
  dialect: Dialect;
  /** The cells as written. */
  cells: string[];
  line: number;
}

/** The beginning of a table, of text or of a sheet. */
export interface Table {
  /** The header. @throws InputError if there is none; UsageError for options that do not fit it */
  first(): Promise<Header>;
  /** The header after some lines; null if there is none. */
  after(skipLines: number): Header | null;
  /** The cells of the first rows after a header; none if they cannot be read. */
  below(header: Header): string[][];
  /** How many lines the first rows take, of which some may be a title. */
  lines: number;
}

export const tableOf = (head: Head, options: HeaderOptions, format: Format): Table => ({
  first: () => headerOf(head, options, format),
  after(skipLines) {
    const asked = { ...askedOf(head, options), skipLines };
    return quietly(() => headerIn(head, { ...options, skipLines }, format, asked));
  },
  below: (header) => rowsBelow(head, header),
  lines: rejectsDelimiter(head.text) === null ? lineEnds(head.text) : 0,
});

/** Before it is known what the rows are. @throws InputError UsageError */
async function headerOf(head: Head, options: HeaderOptions, format: Format): Promise<Header> {
  const asked = askedOf(head, options);
  return (
    headerIn(head, options, format, asked) ??
    headerIn(head.whole ? head : await head.longer(), options, format, asked) ??
    endless(head, options.path)
  );
}

/** The requested dialect, completed by what the text itself says. @throws UsageError */
function askedOf({ text }: HeadText, options: HeaderOptions): AskedDialect {
  const rejects = rejectsDelimiter(text);
  if (rejects !== null) return plainDialect(rejects);
  const asked = askedDialect(options);
  const separator = separatorLine(text);
  if (separator === null) return asked;
  return { ...asked, delimiter: asked.delimiter ?? separator, skipLines: Math.max(asked.skipLines, 1) };
}

/** Null if the text ends before the header does. @throws InputError for a complete text without a header */
function headerIn(
  head: HeadText,
  options: HeaderOptions,
  format: Format,
  asked: AskedDialect,
): Header | null {
  const names = ['user_id', 'company_id', ...givenNames(options)];
  const delimiter = asked.delimiter ?? (format === 'tsv' ? '\t' : findDelimiter(head, names, asked));
  const dialect = { ...asked, delimiter };
  const row = firstRow(head, dialect, options);
  if (row) return { dialect, ...row };
  if (head.whole)
    throw new InputError('has no header', { file: options.path, hint: 'its first line names the columns' });
  return null;
}

function endless({ text }: HeadText, path: string): never {
  const start = text.findIndex((byte) => byte !== LF && byte !== CR);
  throw new InputError(`the header does not end within the first ${formatSize(HEADER_BYTES)}`, {
    file: path,
    line: lineEnds(text.subarray(0, start)) + 1,
    hint: 'check the line ends and the quotes; a header may not be longer',
  });
}

const LF = 0x0a;
const CR = 0x0d;

/** Null if no row ends in the text. @throws InputError for a quote or a cell that does not end within its limit */
function firstRow(
  { text, whole }: HeadText,
  dialect: Dialect,
  { path, maxCellBytes, maxColumns }: HeaderOptions,
): { cells: string[]; line: number } | null {
  const form = { path, dialect, maxCellBytes, maxColumns };
  // Most headers end within the first bytes.
  const start = { text: text.subarray(0, 4096), whole: false };
  const first = firstRows(start, form)[0] ?? firstRows({ text, whole }, form)[0];
  if (!first) return null;
  const { cells, line, reason } = first;
  // At least as many as there are: it also counts delimiters in quotes.
  if (reason === tooWide(form)) throw tooManyColumns(form, cells[0]!.split(dialect.delimiter).length, line);
  if (reason !== null) {
    throw new InputError('text follows the closing quote of a cell in the header', {
      file: path,
      line,
      hint: 'double a quote that belongs to the text ("")',
    });
  }
  return first;
}

/**
 * The names in a header, trimmed; empty for a column without one.
 * @throws InputError for two columns with one name, unless the second is to be renamed, and if no column has a name
 */
export function namesIn({ cells, line }: Header, { path, renameDuplicates }: HeaderOptions): string[] {
  const trimmed = cells.map((cell) => cell.trim());
  const taken = new Set(trimmed);
  const seen = new Map<string, number>();
  if (trimmed.every((name) => name === '')) {
    throw new InputError('the header names no column', {
      file: path,
      line,
      hint: 'its first line names the columns',
    });
  }
  return trimmed.map((name, index) => {
    const other = seen.get(name);
    if (name === '' || other === undefined) {
      seen.set(name, index);
      return name;
    }
    if (!renameDuplicates) {
      throw new InputError(`columns ${other + 1} and ${index + 1} are both called "${name}"`, {
        file: path,
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
  options: HeaderOptions,
  first: Header | null,
  fits: (columns: string[]) => boolean,
): { skipLines: number; header: string[] } | null {
  const lines = Math.min(table.lines, MOST_TITLE_LINES);
  const found: { skipLines: number; header: Header; names: string[] }[] = [];
  for (let skipLines = (options.skipLines ?? 0) + 1; skipLines <= lines; skipLines++) {
    const header = table.after(skipLines);
    const names = header && quietly(() => namesIn(header, options));
    // A header after an empty line is found again from the next line, so that the empty line is skipped, too.
    if (!header || !names || header.line !== skipLines + 1) continue;
    if (fits(names)) return { skipLines, header: names };
    found.push({ skipLines, header, names });
  }
  const least = Math.max(first?.cells.filter((cell) => cell.trim() !== '').length ?? 0, 1);
  for (const { skipLines, header, names } of found) {
    if (names.length <= least || names.includes('') || names.some(looksLikeValue)) continue;
    const rows = table.below(header);
    const fit = rows.filter((row) => row.length === names.length).length;
    if (rows.length > 0 && fit + 1 > (rows.length + 1) * 0.8) return { skipLines, header: names };
  }
  return null;
}

/** A null marker, an e-mail address, a date, or a number other than a year. */
const VALUE = /^(?:\\N|\S+@\S+\.\S+|\d{4}-\d\d-\d\d.*|(?!(?:19|20)\d\d$)-?\d+(?:\.\d+)?)$/s;

/** Whether a name of a header is rather a cell of a row. */
export const looksLikeValue = (name: string): boolean => VALUE.test(name.trim());

function quietly<T>(attempt: () => T): T | null {
  try {
    return attempt();
  } catch {
    return null;
  }
}

/** How much text has enough rows for a guess at their types. */
const ROWS_BYTES = 128 * 1024;

/** The cells of the first rows after the header; none if they cannot be read. */
const rowsBelow = (head: HeadText, { dialect }: Header): string[][] =>
  (quietly(() => cellsIn(head, dialect, ROWS_BYTES)) ?? []).slice(1);

/** Columns in which every cell at the beginning of the file is enclosed in apostrophes: they may be quotes. */
export function apostrophes({ dialect, line, cells: names }: Header, below: string[][]): Warning[] {
  if (dialect.quote === "'") return [];
  const rows = below.filter(({ length }) => length === names.length);
  const columns = names.flatMap((name, index) => {
    const cells = rows.map((row) => row[index] ?? '').filter((cell) => cell !== '');
    return cells.length > 0 && cells.every((cell) => /^'.*'$/s.test(cell) && cell.length > 1)
      ? [name.trim()]
      : [];
  });
  if (columns.length === 0) return [];
  return [
    {
      message: `line ${line + 1}: the cells of ${columns.length === 1 ? `"${columns[0]}"` : `${columns.length} columns`} are enclosed in apostrophes, which are sent with them`,
      problem: { code: 'apostrophes' },
    },
  ];
}
