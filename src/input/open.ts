/** Tells what an input is before it is read: form, columns, kind and identifier. */
import { resolve } from 'node:path';
import { InputError, UsageError } from '../errors.js';
import type { Format, Kind } from '../model.js';
import { headerOf, targetsOf } from './columns.js';
import { CsvCutter } from './csv-cutter.js';
import { csvRows } from './csv-rows.js';
import { findDelimiter } from './delimiter.js';
import { type Head, readHead } from './head.js';
import { identify } from './identify.js';
import type { MappingRules, OpenedInput } from './types.js';

export interface InputOptions {
  /** As the user wrote it; `-` for stdin. */
  path: string;
  /** Where the bytes are; relative to `cwd`. For stdin, what `spoolStdin` gave. */
  location: string;
  cwd: string;
  kind?: Kind | undefined;
  id?: string | undefined;
  companyId?: string | undefined;
  format?: Format | undefined;
  /** One ASCII character, or `tab`. */
  delimiter?: string | undefined;
  encoding?: string | undefined;
  /** Bytes of UTF-8 that a cell may have (`--max-cell`). */
  maxCellBytes: number;
  rules: MappingRules;
}

/** Default of `--max-cell`. */
export const MAX_CELL_BYTES = 1024 * 1024;

/**
 * Looks at the beginning of an input.
 * @throws InputError for what cannot be read; UsageError for flags that do not fit it
 */
export async function openInput(options: InputOptions, signal?: AbortSignal): Promise<OpenedInput> {
  const location = resolve(options.cwd, options.location);
  const head = await readHead({ path: options.path, location }, options.encoding, signal);
  const common = {
    path: options.path,
    location,
    encoding: head.encoding,
    compression: head.compression,
    maxCellBytes: options.maxCellBytes,
    rules: options.rules,
    stamp: head.stamp,
  };
  const opened = { ...common, ...openCsv(options, head) };
  targetsOf(opened); // rules that do not fit the header are told now
  return opened;
}

type Form = Pick<
  OpenedInput,
  'format' | 'kind' | 'delimiter' | 'columns' | 'idColumn' | 'companyIdColumn' | 'body'
>;

function openCsv(options: InputOptions, head: Head): Form {
  const format = options.format ?? (/\.(?:tsv|tab)(?:\.\w+)?$/i.test(options.path) ? 'tsv' : 'csv');
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
  const columns = headerOf(cells, options.path, line);
  return { format, delimiter, columns, body: null, ...identify(columns, options) };
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
  const batch = new CsvCutter({ path, delimiter, maxCellBytes }, { header: false }).push(text);
  if (!batch) throw new InputError('has no header', { file: path });
  const [cells] = csvRows(batch.bytes, delimiter);
  return { cells: cells!, line: batch.lines[0]! };
}
