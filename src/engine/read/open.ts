/** Tells what an input is before it is read: form, columns, kind and identifier. */
import { resolve } from 'node:path';
import type { Format } from '../model.js';
import { NO_RULES, NUMBERS } from '../options.js';
import { binaryReaderOf, formatOf, textReaderOf } from './formats.js';
import { constantsOf } from './mapping/targets.js';
import { toUtf8 } from './text/encoding.js';
import { firstBytes, readHead } from './text/head.js';
import { openFile, readBytes, type SourceFile } from './text/source.js';
import type { InputFile, InputOptions, OpenedInput } from './types.js';

/**
 * Looks at the beginning of an input.
 * @throws InputError for what cannot be read; UsageError for flags that do not fit it
 */
export async function openInput(options: InputOptions, signal?: AbortSignal): Promise<OpenedInput> {
  const location = resolve(options.cwd, options.location);
  const { path, maxCellBytes, rules, decidedTypes } = options;
  const shared = { path, location, rules, constants: constantsOf(rules), maxCellBytes, decidedTypes };
  const binary = await binaryFile({ path, location, format: options.format });
  if (binary) return binary.reader.open({ ...shared, ...binary.form }, options);
  const head = await readHead({ path, location }, options.encoding, signal);
  const { encoding, compression, stamp } = head;
  const format = formatOf(options, head.text);
  const file: InputFile = { ...shared, format, encoding, compression, stamp };
  return textReaderOf(file).open(file, options, head, () => toUtf8(readBytes(file, signal), encoding));
}

/** The columns alone, before it is known what the rows are: a header, or the fields of the first JSON items. @throws InputError */
export async function columnsOf(source: SourceFile, signal?: AbortSignal): Promise<string[]> {
  const { path, location } = source;
  const shared = {
    path,
    location,
    maxCellBytes: NUMBERS.maxCellBytes.default,
    rules: NO_RULES,
    constants: [],
  };
  const binary = await binaryFile(source);
  if (binary) return binary.reader.columns({ ...shared, ...binary.form });
  const head = await readHead(source, undefined, signal);
  const { encoding, compression, stamp } = head;
  const format = formatOf(source, head.text);
  const file = { ...shared, format, encoding, compression, stamp };
  return textReaderOf(file).columns(file, head, () => toUtf8(readBytes(file, signal), encoding));
}

/** A file that is no text, and its reader; null for text. @throws InputError for what cannot be read */
async function binaryFile(source: SourceFile & { format?: Format | undefined }) {
  const { handle, stamp } = await openFile(source);
  let start: Buffer;
  try {
    start = await firstBytes(handle);
  } finally {
    await handle.close();
  }
  const found = await binaryReaderOf(source, start);
  if (!found) return null;
  const [reader, format] = found;
  return { reader, form: { format, stamp, encoding: 'utf-8', compression: null } };
}
