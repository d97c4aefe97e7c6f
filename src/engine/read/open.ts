/** Tells what an input is before it is read: form, columns, kind and identifier. */
import { resolve } from 'node:path';
import { NO_RULES, NUMBERS } from '../options.js';
import { formatOf, readerOf } from './formats.js';
import { constantsOf } from './mapping/targets.js';
import { rejectsHead } from './rejects-head.js';
import { toUtf8 } from './text/encoding.js';
import { readHead } from './text/head.js';
import { readBytes, type SourceFile } from './text/source.js';
import type { InputFile, InputOptions, OpenedInput } from './types.js';

/**
 * Looks at the beginning of an input.
 * @throws InputError for what cannot be read; UsageError for flags that do not fit it
 */
export async function openInput(asked: InputOptions, signal?: AbortSignal): Promise<OpenedInput> {
  const location = resolve(asked.cwd, asked.location);
  let head = await readHead({ path: asked.path, location }, asked.encoding, signal);
  let options = asked;
  let again: OpenedInput['again'];
  const found = asked.rejects && (await rejectsHead(head));
  if (found) {
    const { again: rows, ...reading } = asked.rejects!(found);
    again = rows;
    options = { ...asked, ...reading, delimiter: found.delimiter ?? undefined };
    // JSON has no byte order mark, and rejects files are UTF-8 whatever their input was.
    if (found.delimiter === null) head = await readHead({ path: asked.path, location }, 'utf-8', signal);
  }
  const { encoding, compression, stamp } = head;
  const { path, maxCellBytes, rules, decidedTypes } = options;
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
    again,
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
  const file = { path, location, format, encoding, compression, stamp, maxCellBytes };
  const text = () => toUtf8(readBytes(file, signal), encoding);
  return readerOf(file).columns({ ...file, rules: NO_RULES, constants: [] }, head, text);
}
