/** Reads CSV and TSV. The beginning of the text shows dialect, header, kind, and identifier. */
import { InputError, ProfilesError } from '../../errors.js';
import type { InputFormat } from '../format.js';
import { type Identity, identify } from '../mapping/identity.js';
import { targetsOf } from '../mapping/targets.js';
import { toUtf8 } from '../text/encoding.js';
import type { InputFile, InputOptions, OpenedInput } from '../types.js';
import { list, quoted } from '../wording.js';
import {
  apostrophes,
  type Header,
  looksLikeValue,
  namesIn,
  quietly,
  type Table,
  tableOf,
  titleLines,
} from './header.js';
import { csvRows } from './rows.js';
import { CsvCounter, CsvTotals } from './totals.js';
import { CsvWriter } from './writer.js';

export const csvFormat: InputFormat<CsvWriter> = {
  extensions: { csv: 'csv', tsv: 'tsv', tab: 'tsv' },
  recognize: (_, named) => (named === 'tsv' ? 'tsv' : 'csv'),
  open: (file, options, head) => openTable(file, options, tableOf(head!, options, file.format)),
  rows(input, { bytes, notes }) {
    const { path, maxCellBytes, targets, encoding } = input;
    const dialect = input.csv!.dialect;
    const form = { path, maxCellBytes, dialect, width: targets.length, header: true, notes };
    return csvRows(toUtf8(bytes, encoding), form, input);
  },
  writer: (input, types) => new CsvWriter(input, types),
  counter: (input, writer) => new CsvCounter(input, writer),
  totals: (input) => new CsvTotals(input),
  placeOf: () => 'line',
};

const named = (columns: readonly string[]): string[] => columns.filter((name) => name !== '');

/** @throws InputError for a header that is missing, too long, or wrong; UsageError for options that do not fit it */
export async function openTable(file: InputFile, options: InputOptions, table: Table): Promise<OpenedInput> {
  const { shortRows, excelText } = options;
  const { header, columns, identity } = await identifiedIn(options, table);
  const { dialect, cells } = header;
  const csv = { dialect, header: cells, shortRows, excelText };
  const form = { ...file, delimiter: dialect.delimiter, csv, columns, ...identity };
  const below = table.below(header);
  return { ...form, warnings: apostrophes(header, below), targets: targetsOf(form, below) };
}

/** The header. Kind and identifier are guessed only if nothing else is wrong with it. */
async function identifiedIn(
  options: InputOptions,
  table: Table,
): Promise<{ header: Header; columns: string[]; identity: Identity }> {
  let header: Header | null = null;
  const identified = (guess: boolean | undefined) => {
    const columns = namesIn(header!, options);
    return { header: header!, columns, identity: identify(named(columns), { ...options, guess }) };
  };
  try {
    header = await table.first();
    return identified(undefined);
  } catch (error) {
    const other =
      betweenApostrophes(header, options) ??
      titleAbove(error, table, options, header) ??
      betweenOthers(header, table, options);
    if (other || !header || !options.guess) throw other ?? withoutHeader(error, header) ?? error;
    return identified(true);
  }
}

/** The error for a header whose names are enclosed in apostrophes; null for any other. */
function betweenApostrophes(header: Header | null, { path }: InputOptions): InputError | null {
  if (!header?.cells.every((cell) => /^\s*'.+'\s*$/s.test(cell))) return null;
  return new InputError('the names in the header are enclosed in apostrophes', {
    file: path,
    line: header.line,
    hint: 'if they are quotes, say so',
    problem: { code: 'apostrophes' },
  });
}

/** What may be between names. Other signs are in them, as in `crm.company_id` and `company_id (old)`. */
const BETWEEN_NAMES = /[^\p{L}\p{N} _.()[\]{}/\\'"-]/gu;

/**
 * The error for a header of one column that names an identifier with another delimiter, which is in the first row, too; null
 * for any other.
 */
function betweenOthers(header: Header | null, table: Table, options: InputOptions): InputError | null {
  const [only = '', ...more] = header?.cells ?? [];
  if (!header || more.length > 0) return null;
  const [[first = ''] = []] = table.below(header);
  const delimiter = [...new Set(only.match(BETWEEN_NAMES))].find((sign) => {
    const columns = only.split(sign).map((name) => name.trim());
    const isInRow = first.split(sign).length >= columns.length;
    return isInRow && !columns.includes('') && isIdentified(columns, options);
  });
  if (delimiter === undefined) return null;
  const ifSo = `if ${quoted(delimiter)} separates its columns`;
  const { path, sheets } = options;
  const split = `${ifSo}, split them into cells in the workbook, or import the file that they come from`;
  return new InputError(`the header is one column, ${quoted(only)}`, {
    ...{ file: path, line: header.line, hint: sheets ? split : `${ifSo}, say so` },
    // A workbook has no delimiter to name.
    ...(!sheets && { problem: { code: 'other_delimiter', path, delimiter } }),
  });
}

/** Whether columns name the identifier. */
const isIdentified = (columns: string[], options: InputOptions): boolean =>
  quietly(() => identify(named(columns), { ...options, guess: undefined })) !== null;

/** The error for columns that show no identifier, if a name looks like a value: databases unload without a header. */
function withoutHeader(error: unknown, header: Header | null): InputError | null {
  if (!(error instanceof InputError)) return null;
  const { message, hint, problem } = error;
  const value = header?.cells.find(looksLikeValue);
  const isUnknown = problem?.code === 'kind_unknown' || problem?.code === 'no_identifier';
  if (value === undefined || !isUnknown) return null;
  const advice = 'if the file has no header, add a line with the names of its columns above it';
  return new InputError(`${message}; ${quoted(value)} looks like a value: ${advice}`, { hint, problem });
}

/** The error for a header that is further down than expected; null if it is not. */
function titleAbove(
  error: unknown,
  table: Table,
  options: InputOptions,
  header: Header | null,
): InputError | null {
  if (!(error instanceof ProfilesError) || error.problem?.code === 'bad_dialect') return null;
  const fits = (columns: string[]): boolean => isIdentified(columns, options);
  // A header that names the identifier is one, whatever else is wrong with it.
  if (header && fits(header.cells.map((cell) => cell.trim()))) return null;
  const found = titleLines(table, options, header, fits);
  if (!found) return null;
  const lines = found.skipLines;
  const names = list(named(found.header));
  return new InputError(`the header seems to be on line ${lines + 1} (${names}), below a title`, {
    file: options.path,
    line: header?.line ?? 1,
    hint: `remove the ${lines === 1 ? 'line' : `${lines} lines`} above it`,
    problem: { code: 'title_above_header', path: options.path, lines },
  });
}
