/** Tells what an input is before it is read: form, columns, kind and identifier. */
import { resolve } from 'node:path';
import type { ColumnType } from '../model.js';
import type { ReadOptions } from '../options.js';
import { openCsv } from './csv/open.js';
import { formatOf } from './format.js';
import { openJson } from './json/open.js';
import { constantsOf, targetsOf } from './mapping/targets.js';
import { readHead } from './text/head.js';
import type { OpenedInput } from './types.js';

export interface InputOptions extends Omit<ReadOptions, 'paths'> {
  /** As the user wrote it; `-` for stdin. */
  path: string;
  /** Where the bytes are; relative to `cwd`. For stdin, what `spoolStdin` gave. */
  location: string;
  cwd: string;
  /** CSV: types that an earlier session of the run decided, by position. Default: inferred. */
  decidedTypes?: readonly ColumnType[] | undefined;
}

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
    decidedTypes: options.decidedTypes,
    stamp: head.stamp,
  };
  constantsOf(options.rules); // a rule that cannot hold is told now
  const format = formatOf(options, head.text);
  if (format === 'csv' || format === 'tsv') {
    const opened = { ...common, ...(await openCsv(options, head, format)) };
    targetsOf(opened); // rules that do not fit the header are told now
    return opened;
  }
  return openJson({ ...common, format }, options, head.text, signal);
}
