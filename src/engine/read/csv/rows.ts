/** The rows of a CSV, in any dialect: of a whole text, and of its beginning. */
import type { Rows } from '../rows.js';
import type { Head } from '../text/head.js';
import { type Splitter, splitText } from '../text/splitter.js';
import { isPlain } from './dialect.js';
import { DialectSplitter } from './parser.js';
import { CsvRow } from './row.js';
import { type CsvForm, Tokenizer } from './tokenizer.js';

/** The beginning of a text; if it is all there is, a quote that is open there is never closed. */
export type HeadText = Pick<Head, 'text' | 'whole'>;

const splitterOf = (form: CsvForm): Splitter =>
  isPlain(form.dialect) ? new Tokenizer(form) : new DialectSplitter(form);

/** All rows after the header. @throws InputError */
export function csvRows(
  text: AsyncIterable<Buffer>,
  form: Omit<CsvForm, 'line'>,
  file: { path: string; encoding: string },
): AsyncGenerator<Rows> {
  const { skipLines } = form.dialect;
  const splitter = splitterOf({ ...form, line: skipLines + 1 });
  return splitText(skipLines > 0 ? withoutLines(text, skipLines) : text, splitter, file);
}

async function* withoutLines(text: AsyncIterable<Buffer>, lines: number): AsyncGenerator<Buffer> {
  const skip = skipping(lines);
  for await (const chunk of text) yield skip(chunk);
}

const LF = 0x0a;
const CR = 0x0d;

/** Returns a function that leaves out the first lines of a text, a chunk at a time, whatever is in them. */
function skipping(lines: number): (chunk: Buffer) => Buffer {
  let left = lines;
  let afterCr = false;
  return (chunk) => {
    let at = 0;
    for (; at < chunk.length && (left > 0 || (afterCr && chunk[at] === LF)); at++) {
      const isSecond = afterCr && chunk[at] === LF;
      afterCr = chunk[at] === CR;
      if (!isSecond && (afterCr || chunk[at] === LF)) left--;
    }
    if (at < chunk.length) afterCr = false;
    return chunk.subarray(at);
  };
}

/** A row at the beginning of a text. */
interface HeadRow {
  cells: string[];
  line: number;
  /** Why it cannot be read; null if it can. */
  reason: string | null;
}

/**
 * The first whole rows of a text.
 * @throws InputError for a quote or a cell that does not end within its limit
 */
export function firstRows(
  { text, whole }: HeadText,
  form: Pick<CsvForm, 'path' | 'maxCellBytes' | 'maxColumns' | 'dialect'>,
): HeadRow[] {
  const { skipLines } = form.dialect;
  const splitter = splitterOf({ ...form, width: null, header: false, line: skipLines + 1 });
  // The last line of a whole file counts even without a line end.
  const lines = skipping(skipLines)(whole ? Buffer.concat([text, Buffer.from('\n')]) : text);
  const rows = splitter.push(lines) ?? (whole ? splitter.end() : null);
  if (!rows) return [];
  const row = new CsvRow();
  row.begin(rows);
  const reasons = new Map(rows.odd?.map(({ number, reason }) => [number, reason]));
  return Array.from(rows.lines, (line, number) => {
    return { cells: row.original(number), line, reason: reasons.get(number) ?? null };
  });
}
