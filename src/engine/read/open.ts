/** Tells what an input is before it is read: form, columns, kind and identifier. */
import { resolve } from 'node:path';
import { formatOf, readerOf } from './formats.js';
import { constantsOf } from './mapping/targets.js';
import { toUtf8 } from './text/encoding.js';
import { readHead } from './text/head.js';
import { readBytes } from './text/source.js';
import type { InputFile, InputOptions, OpenedInput } from './types.js';

/** Default of `--max-cell`. */
export const MAX_CELL_BYTES = 1024 * 1024;

/**
 * Looks at the beginning of an input.
 * @throws InputError for what cannot be read; UsageError for flags that do not fit it
 */
export async function openInput(options: InputOptions, signal?: AbortSignal): Promise<OpenedInput> {
  const location = resolve(options.cwd, options.location);
  const head = await readHead({ path: options.path, location }, options.encoding, signal);
  const { encoding, compression, stamp } = head;
  const { path, maxCellBytes, rules } = options;
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
    stamp,
  };
  return readerOf(file).open(file, options, head, () => toUtf8(readBytes(file, signal), encoding));
}
