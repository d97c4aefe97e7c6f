/** Tells what an input is before it is read: form, columns, kind and identifier. */
import { resolve } from 'node:path';
import type { ColumnType, Format, Kind } from '../model.js';
import { openCsv } from './csv/open.js';
import { formatOf } from './format.js';
import { openJson } from './json/open.js';
import type { MappingRules } from './mapping/rules.js';
import { constantsOf, targetsOf } from './mapping/targets.js';
import { readHead } from './text/head.js';
import type { OpenedInput } from './types.js';

export interface InputOptions {
  /** As the user wrote it; `-` for stdin. */
  path: string;
  /** Where the bytes are; relative to `cwd`. For stdin, what `spoolStdin` gave. */
  location: string;
  cwd: string;
  /** Default: users where there is a `user_id`, else companies where there is a `company_id` (contract §3). */
  kind?: Kind | undefined;
  /** Column or field of the identifier. Default: the kind's own, `company_id` or `user_id` (spec: Company, User). */
  id?: string | undefined;
  /** Column or field of a user's company. Default `company_id`, where there is one (spec: User). */
  companyId?: string | undefined;
  /** Default: by the first bytes, else by the name. */
  format?: Format | undefined;
  /** One ASCII character, or `tab`. Default: found among `,` `;` tab `|`. */
  delimiter?: string | undefined;
  /** Label such as `windows-1252` (WHATWG). Default: UTF-8, or UTF-16 where a BOM says so. */
  encoding?: string | undefined;
  /** Bytes of UTF-8 that a cell may have (`--max-cell`). Default 1 MiB. */
  maxCellBytes: number;
  rules: MappingRules;
  /** CSV: types that an earlier session of the run decided, by position. Default: inferred. */
  decidedTypes?: readonly ColumnType[] | undefined;
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
