/** The columns of an input alone, before it is known what its rows are. */
import { NO_RULES, NUMBERS } from '../options.js';
import { csvHeader } from './csv/open.js';
import { formatOf } from './format.js';
import { jsonFields } from './json/open.js';
import { readHead } from './text/head.js';
import type { SourceFile } from './text/source.js';

/** Header of a CSV, or fields of the first JSON items. @throws InputError for what cannot be read */
export async function columnsOf(file: SourceFile, signal?: AbortSignal): Promise<string[]> {
  const head = await readHead(file, undefined, signal);
  const format = formatOf(file, head.text);
  const maxCellBytes = NUMBERS.maxCellBytes.default;
  if (format === 'csv' || format === 'tsv') {
    return (await csvHeader({ path: file.path, maxCellBytes }, head, format)).columns;
  }
  const { encoding, compression, stamp } = head;
  const fields = await jsonFields(
    { ...file, format, encoding, compression, stamp, maxCellBytes, rules: NO_RULES },
    head.text,
    signal,
  );
  return [...(fields?.flat ?? [])];
}
