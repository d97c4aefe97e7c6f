/** CSV and TSV: delimiter, header, kind and identifier are told by the beginning. */
import { InputError, UsageError } from '../../errors.js';
import type { FormatReader } from '../format.js';
import { identify } from '../mapping/id-column.js';
import { targetsOf } from '../mapping/targets.js';
import type { Head } from '../text/head.js';
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
  split: (input) => new CsvSplitter({ ...input, delimiter: input.delimiter! }, { header: true }),
  scan: scanCsv,
  totals: (input) => new CsvTotals(input),
  build: buildCsv,
  original: (batch, input) => batchRows(batch, input.delimiter!).map((cells) => ({ cells })),
  item: (input, schema, original) => JSON.parse(itemText(csvLayout(input), schema)(cellsOf(original))),
  placeOf: () => 'line',
};

/** @throws InputError for a header that is missing or wrong; UsageError for flags that do not fit it */
function open(file: InputFile, options: InputOptions, head: Head): OpenedInput {
  const names = [options.id ?? 'user_id', options.companyId ?? 'company_id'];
  // The last line of a whole file counts even without a line end.
  const text = head.whole ? Buffer.concat([head.text, Buffer.from('\n')]) : head.text;
  const delimiter =
    options.delimiter !== undefined
      ? delimiterOf(options.delimiter)
      : file.format === 'tsv'
        ? '\t'
        : findDelimiter(text, names);
  const { cells, line } = firstRow(text, delimiter, options);
  const columns = headerOf(cells, options.path, line);
  const form = { ...file, delimiter, columns, body: null, ...identify(columns, options) };
  return { ...form, targets: targetsOf(form) };
}

/** The header, trimmed. @throws InputError for a column without name, and for two with one name */
function headerOf(cells: readonly string[], path: string, line: number): string[] {
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

/** `--delimiter`: one character that cannot be taken for a quote or a line end. */
function delimiterOf(text: string): string {
  const delimiter = text === 'tab' || text === '\\t' ? '\t' : text;
  if (delimiter.length !== 1 || !/[\t\x20-\x7e]/.test(delimiter) || delimiter === '"') {
    throw new UsageError(`--delimiter: ${JSON.stringify(text)} is not one ASCII character`, {
      hint: 'such as ";" or tab',
    });
  }
  return delimiter;
}

function firstRow(text: Buffer, delimiter: string, options: InputOptions): { cells: string[]; line: number } {
  const { path, maxCellBytes } = options;
  const splitterOf = (): CsvSplitter => new CsvSplitter({ path, delimiter, maxCellBytes }, { header: false });
  // Most headers end within the first bytes: the parser need not read all of the text for it.
  let splitter = splitterOf();
  let batch = splitter.push(text.subarray(0, 4096));
  if (!batch) {
    splitter = splitterOf();
    batch = splitter.push(text) ?? splitter.end();
  }
  if (!batch) throw new InputError('has no header', { file: path, hint: 'its first line names the columns' });
  const [cells] = csvRows(batch.bytes, delimiter);
  return { cells: cells!, line: batch.lines[0]! };
}
