/** Tells what a CSV is by its beginning: delimiter, header, kind and identifier. */
import { InputError, UsageError } from '../../errors.js';
import { identify } from '../mapping/id-column.js';
import { headerOf } from '../mapping/targets.js';
import type { InputOptions } from '../open.js';
import type { Head } from '../text/head.js';
import type { OpenedInput } from '../types.js';
import { findDelimiter } from './delimiter.js';
import { csvRows } from './rows.js';
import { CsvSplitter } from './splitter.js';

type Form = Pick<
  OpenedInput,
  'format' | 'kind' | 'delimiter' | 'columns' | 'idColumn' | 'companyIdColumn' | 'body'
>;

/** @throws InputError for a header that is missing or wrong; UsageError for flags that do not fit it */
export function openCsv(options: InputOptions, head: Head, format: 'csv' | 'tsv'): Form {
  const { delimiter, columns } = csvHeader(options, head, format);
  return { format, delimiter, columns, body: null, ...identify(columns, options) };
}

/** Delimiter and header. @throws InputError UsageError */
export function csvHeader(
  options: Omit<InputOptions, 'location' | 'cwd' | 'rules'>,
  head: Head,
  format: 'csv' | 'tsv',
): { delimiter: string; columns: string[] } {
  const names = [options.id ?? 'user_id', options.companyId ?? 'company_id'];
  // The last line of a whole file counts even without a line end.
  const text = head.whole ? Buffer.concat([head.text, Buffer.from('\n')]) : head.text;
  const delimiter =
    options.delimiter !== undefined
      ? delimiterOf(options.delimiter)
      : format === 'tsv'
        ? '\t'
        : findDelimiter(text, names);
  const { cells, line } = firstRow(text, delimiter, options);
  return { delimiter, columns: headerOf(cells, options.path, line) };
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

function firstRow(
  text: Buffer,
  delimiter: string,
  options: Pick<InputOptions, 'path' | 'maxCellBytes'>,
): { cells: string[]; line: number } {
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
