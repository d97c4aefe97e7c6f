/** Tells what an input is before it is read: form, columns, kind and identifier. */
import { resolve } from 'node:path';
import { InputError, UsageError } from '../errors.js';
import type { Format, Kind } from '../model.js';
import { headerOf, METADATA, targetsOf } from './columns.js';
import { CsvCutter } from './csv-cutter.js';
import { csvRows } from './csv-rows.js';
import { findDelimiter } from './delimiter.js';
import { formatOf } from './format.js';
import { type Head, readHead } from './head.js';
import { identify } from './identify.js';
import { BODY } from './json-cutters.js';
import { jsonRecords } from './json-items.js';
import { isObject } from './json-layout.js';
import { readRecords } from './records.js';
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
  const format = formatOf(options, head.text);
  if (format === 'csv' || format === 'tsv') {
    const opened = { ...common, ...openCsv(options, head, format) };
    targetsOf(opened); // rules that do not fit the header are told now
    return opened;
  }
  const opened: OpenedInput = { ...common, ...JSON_FORM, format, body: bodyOf(head.text) };
  return { ...opened, ...(await identifyJson(opened, options, signal)) };
}

type Form = Pick<
  OpenedInput,
  'format' | 'kind' | 'delimiter' | 'columns' | 'idColumn' | 'companyIdColumn' | 'body'
>;

function openCsv(options: InputOptions, head: Head, format: 'csv' | 'tsv'): Form {
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
  const cutterOf = (): CsvCutter => new CsvCutter({ path, delimiter, maxCellBytes }, { header: false });
  // Most headers end within the first bytes: the parser need not read all of the text for it.
  let cutter = cutterOf();
  let batch = cutter.push(text.subarray(0, 4096));
  if (!batch) {
    cutter = cutterOf();
    batch = cutter.push(text) ?? cutter.end();
  }
  if (!batch) throw new InputError('has no header', { file: path, hint: 'its first line names the columns' });
  const [cells] = csvRows(batch.bytes, delimiter);
  return { cells: cells!, line: batch.lines[0]! };
}

const JSON_FORM = {
  kind: 'companies' as Kind,
  delimiter: null,
  columns: [] as string[],
  idColumn: '',
  companyIdColumn: null,
};

/** `{"companies": [` or `{"users": [`: the service's own body says what it holds. */
function bodyOf(text: Buffer): Kind | null {
  const bracket = text.indexOf('[');
  const match = BODY.exec(text.subarray(0, Math.max(bracket, 0)).toString());
  return (match?.[1] as Kind | undefined) ?? null;
}

/** Kind and identifier by the fields of the first items. An array without items may be anything. */
async function identifyJson(
  opened: OpenedInput,
  options: InputOptions,
  signal: AbortSignal | undefined,
): Promise<Partial<OpenedInput>> {
  const { body } = opened;
  if (body && options.kind && body !== options.kind) {
    throw new UsageError(`--kind ${options.kind}: ${options.path} holds {"${body}": […]}`, {
      hint: 'leave --kind out',
    });
  }
  const kind = options.kind ?? body ?? undefined;
  for await (const batch of readRecords(opened, { signal })) {
    const flat = new Set<string>();
    const nested = new Set<string>();
    for (const { value } of jsonRecords(batch, opened)) {
      if (!isObject(value)) continue;
      for (const field of Object.keys(value)) flat.add(field);
      if (isObject(value[METADATA])) for (const field of Object.keys(value[METADATA])) nested.add(field);
    }
    const columns = [...flat, ...[...nested].filter((field) => !flat.has(field))];
    return { columns, ...identify([...flat], { ...options, kind }) };
  }
  return identify(['user_id', 'company_id'], { path: options.path, kind: kind ?? 'companies' });
}
