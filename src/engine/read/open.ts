/** Tells what an input is before it is read: form, columns, kind and identifier. */
import { resolve } from 'node:path';
import { NO_RULES, NUMBERS } from '../options.js';
import { formatOf, readerOf } from './formats.js';
import { constantsOf } from './mapping/targets.js';
import { toUtf8 } from './text/encoding.js';
import { readHead } from './text/head.js';
import { readBytes, type SourceFile } from './text/source.js';
import type { InputFile, InputOptions, OpenedInput } from './types.js';

/**
 * Looks at the beginning of an input.
 * @throws InputError for what cannot be read; UsageError for flags that do not fit it
 */
export async function openInput(options: InputOptions, signal?: AbortSignal): Promise<OpenedInput> {
  const location = resolve(options.cwd, options.location);
  const head = await readHead({ path: options.path, location }, options.encoding, signal);
  const { encoding, compression, stamp } = head;
  const { path, maxCellBytes, rules, decidedTypes, where = [], limit = null } = options;
  const constants = constantsOf(rules);
  const format = formatOf(options, head.text);
  const file: InputFile = {
    path,
    location,
    format,
    encoding,
    compression,
    rules,
    constants,
    maxCellBytes,
    decidedTypes,
    roundNumbers: options.roundNumbers ?? false,
    selection: where.length > 0 || limit !== null ? { where, absent: [], limit } : null,
    stamp,
  };
  return readerOf(file).open(file, options, head, () => toUtf8(readBytes(file, signal), encoding));
}

/** The columns alone, before it is known what the rows are: a header, or the fields of the first JSON items. @throws InputError */
export async function columnsOf(source: SourceFile, signal?: AbortSignal): Promise<string[]> {
  const head = await readHead(source, undefined, signal);
  const { encoding, compression, stamp } = head;
  const format = formatOf(source, head.text);
  const maxCellBytes = NUMBERS.maxCellBytes.default;
  const { path, location } = source;
  const file = {
    path,
    location,
    format,
    encoding,
    compression,
    stamp,
    maxCellBytes,
    roundNumbers: false,
    selection: null,
  };
  const text = () => toUtf8(readBytes(file, signal), encoding);
  return readerOf(file).columns({ ...file, rules: NO_RULES, constants: [] }, head, text);
}
