/** CSV and TSV: delimiter, header, kind and identifier are told by the beginning. */
import { InputError, UsageError } from '../../errors.js';
import { type Format, KINDS } from '../../model.js';
import { formatSize } from '../../size.js';
import type { FormatReader } from '../format.js';
import { identify, namesOf } from '../mapping/id-column.js';
import { targetsOf } from '../mapping/targets.js';
import { HEADER_BYTES, type Head, lineEnds } from '../text/head.js';
import type { InputFile, InputOptions, OpenedInput } from '../types.js';
import { buildCsv, itemText } from './build.js';
import { findDelimiter } from './delimiter.js';
import { csvLayout } from './layout.js';
import { batchRows, cellsOf, csvRows } from './rows.js';
import { scanCsv } from './scan.js';
import { CsvSplitter } from './splitter.js';
import { CsvTotals } from './totals.js';

export const csvReader: FormatReader = {
  extensions: { csv: 'csv', tsv: 'tsv', tab: 'tsv' },
  recognize: (_, named) => (named === 'tsv' ? 'tsv' : 'csv'),
  open,
  columns: async (file, head) => (await headerOf(file, head, file.format)).columns,
  split: (input) => new CsvSplitter({ ...input, delimiter: input.delimiter! }, { header: true }),
  scan: scanCsv,
  totals: (input) => new CsvTotals(input),
  build: buildCsv,
  original: (batch, input) => batchRows(batch, input.delimiter!).map((cells) => ({ cells })),
  item: (input, schema, original) => JSON.parse(itemText(csvLayout(input), schema)(cellsOf(original))),
  placeOf: () => 'line',
};

/** @throws InputError for a header that is missing, too long or wrong; UsageError for options that do not fit it */
async function open(file: InputFile, options: InputOptions, head: Head): Promise<OpenedInput> {
  const { delimiter, columns } = await headerOf(options, head, file.format);
  const form = { ...file, delimiter, columns, body: null, ...identify(columns, options) };
  return { ...form, targets: targetsOf(form) };
}

type HeaderOptions = Pick<InputOptions, 'path' | 'delimiter' | 'maxCellBytes'> &
  Partial<Pick<InputOptions, 'id' | 'userId' | 'companyId' | 'byKind'>>;

/** Delimiter and columns, before it is known what the rows are. @throws InputError UsageError */
async function headerOf(
  options: HeaderOptions,
  head: Head,
  format: Format,
): Promise<{ delimiter: string; columns: string[] }> {
  const found =
    headerIn(head, options, format) ??
    headerIn(head.whole ? head : await head.longer(), options, format) ??
    endless(head, options.path);
  return { delimiter: found.delimiter, columns: namesIn(found.cells, options.path, found.line) };
}

interface Header {
  delimiter: string;
  cells: string[];
  line: number;
}

/** Null where the text ends before the header does. @throws InputError for a whole text without a header */
function headerIn(head: Pick<Head, 'text' | 'whole'>, options: HeaderOptions, format: Format): Header | null {
  const given = KINDS.flatMap((kind) => namesOf(kind, options).map(({ column }) => column));
  const names = ['user_id', 'company_id', ...given];
  // The last line of a whole file counts even without a line end.
  const text = head.whole ? Buffer.concat([head.text, Buffer.from('\n')]) : head.text;
  const delimiter =
    options.delimiter !== undefined
      ? delimiterOf(options.delimiter)
      : format === 'tsv'
        ? '\t'
        : findDelimiter(text, names);
  const row = firstRow({ text, whole: head.whole }, delimiter, options);
  if (row) return { delimiter, ...row };
  if (head.whole)
    throw new InputError('has no header', { file: options.path, hint: 'its first line names the columns' });
  return null;
}

function endless({ text }: Head, path: string): never {
  const start = text.findIndex((byte) => byte !== LF && byte !== CR);
  throw new InputError(`the header does not end within the first ${formatSize(HEADER_BYTES)}`, {
    file: path,
    line: lineEnds(text.subarray(0, start)) + 1,
    hint: 'check the line ends and the quotes; a header may not be longer',
  });
}

const LF = 0x0a;
const CR = 0x0d;

/** The names in a header, trimmed. @throws InputError for a column without name, and for two with one name */
function namesIn(cells: readonly string[], path: string, line: number): string[] {
  const seen = new Map<string, number>();
  return cells.map((cell, index) => {
    const name = cell.trim();
    if (name === '') {
      throw new InputError(`column ${index + 1} of ${cells.length} has no name`, {
        file: path,
        line,
        hint: 'name it in the header, or remove the column',
      });
    }
    const other = seen.get(name);
    if (other !== undefined) {
      throw new InputError(`columns ${other + 1} and ${index + 1} are both called "${name}"`, {
        file: path,
        line,
        hint: 'rename or remove one of them',
      });
    }
    seen.set(name, index);
    return name;
  });
}

/** One character that cannot be taken for a quote or a line end. */
function delimiterOf(text: string): string {
  const delimiter = text === 'tab' || text === '\\t' ? '\t' : text;
  if (delimiter.length !== 1 || !/[\t\x20-\x7e]/.test(delimiter) || delimiter === '"') {
    throw new UsageError(`delimiter: ${JSON.stringify(text)} is not one ASCII character`, {
      problem: { code: 'bad_delimiter', delimiter: text },
      hint: 'such as ";" or tab',
    });
  }
  return delimiter;
}

/** Null where no row ends in the text. @throws InputError for a quote or a cell that does not end within its limit */
function firstRow(
  { text, whole }: Pick<Head, 'text' | 'whole'>,
  delimiter: string,
  options: HeaderOptions,
): { cells: string[]; line: number } | null {
  const { path, maxCellBytes } = options;
  const splitter = (): CsvSplitter => new CsvSplitter({ path, delimiter, maxCellBytes }, { header: false });
  // Most headers end within the first bytes: the parser need not read all of the text for it.
  let batch = splitter().push(text.subarray(0, 4096));
  if (!batch) {
    const all = splitter();
    batch = all.push(text) ?? (whole ? all.end() : null);
  }
  if (!batch) return null;
  const [cells] = csvRows(batch.bytes, delimiter);
  return { cells: cells!, line: batch.lines[0]! };
}
