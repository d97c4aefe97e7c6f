/** Recognizes a rejects file by its columns, and finds the run that it comes from. */

import { findDelimiter, firstCells } from './csv/delimiter.js';
import { plainDialect, rejectsDelimiter } from './csv/dialect.js';
import { ERROR, OWN_PREFIX, type RejectsHead, RUN } from './rejects-rows.js';
import type { Head } from './text/head.js';

/** Null for an input that is not a rejects file. */
export function rejectsHead(head: Pick<Head, 'text' | 'whole'>): RejectsHead | null {
  if (!head.text.includes(RUN)) return null;
  const start = /^\s*([{[]?)/.exec(head.text.subarray(0, 64).toString())![1];
  if (start === '[') return null;
  if (start === '{') return ofItems(head.text.toString());
  const delimiter = rejectsDelimiter(head.text) ?? findDelimiter(head, [RUN]);
  const rows = firstCells(head, plainDialect(delimiter));
  const columns = (rows[0] ?? []).map((name) => name.trim());
  const at = columns.indexOf(RUN);
  if (at < 0 || !columns.includes(ERROR)) return null;
  const run = rows.slice(1).find((row) => row[at])?.[at] ?? null;
  return { run, delimiter, columns: columns.filter((name) => !name.startsWith(OWN_PREFIX)) };
}

/** Does not match inside a string, where quotes are escaped. */
const RUN_MEMBER = /[{,]\s*"_profiles_error"\s*:[\s\S]*?,\s*"_profiles_run"\s*:\s*"([^"\\]*)"/;

function ofItems(text: string): RejectsHead | null {
  const run = RUN_MEMBER.exec(text)?.[1];
  return run === undefined ? null : { run: run === '' ? null : run, delimiter: null, columns: [] };
}
