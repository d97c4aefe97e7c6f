/** Tells a rejects file by its columns, and from which run it comes. */
import { ERROR, LINE, OWN_PREFIX, type RejectsHead, RUN } from './again.js';
import { findDelimiter } from './csv/delimiter.js';
import { csvRows } from './csv/rows.js';
import { CsvSplitter } from './csv/splitter.js';
import type { Head } from './text/head.js';

/** Null for an input that is not a rejects file. */
export async function rejectsHead(
  head: Pick<Head, 'text' | 'whole' | 'longer'>,
): Promise<RejectsHead | null> {
  if (!head.text.includes(RUN)) return null;
  const start = /^\s*([{[]?)/.exec(head.text.subarray(0, 64).toString())![1];
  if (start === '[') return null;
  if (start === '{') return ofItems(head.text.toString());
  const delimiter = delimiterIn(head.text.toString());
  const rows = rowsIn(head, delimiter) ?? rowsIn(await head.longer(), delimiter) ?? [];
  const columns = (rows[0] ?? []).map((name) => name.trim());
  const at = columns.indexOf(RUN);
  if (at < 0 || !columns.includes(ERROR)) return null;
  const run = rows.slice(1).find((row) => row[at])?.[at] ?? null;
  return { run, delimiter, columns: columns.filter((name) => !name.startsWith(OWN_PREFIX)) };
}

/** Within a string the quotes would be escaped. */
const RUN_MEMBER = /[{,]\s*"_profiles_error"\s*:[\s\S]*?,\s*"_profiles_run"\s*:\s*"([^"\\]*)"/;

function ofItems(text: string): RejectsHead | null {
  const run = RUN_MEMBER.exec(text)?.[1];
  return run === undefined ? null : { run: run === '' ? null : run, delimiter: null, columns: [] };
}

/** Between two columns of ours stands the delimiter, whatever it is. */
const BETWEEN = new RegExp(`"?${LINE}"?([^_\\r\\n]{1,16}?)"?${ERROR}"?\\1"?${RUN}`);

const delimiterIn = (text: string): string =>
  BETWEEN.exec(text)?.[1] ?? findDelimiter(Buffer.from(text), [RUN]);

/** The first whole rows; null where not even the header ends. */
function rowsIn({ text, whole }: Pick<Head, 'text' | 'whole'>, delimiter: string): string[][] | null {
  const splitter = new CsvSplitter({ path: '', delimiter, maxCellBytes: text.length }, { header: false });
  try {
    const batch = splitter.push(text) ?? (whole ? splitter.end() : null);
    return batch && csvRows(batch.bytes, delimiter);
  } catch {
    return null; // what is wrong with it, its reader says
  }
}
