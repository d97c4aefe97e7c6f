/** The rows of a CSV, in any dialect: of a whole text, and of its beginning. */
import type { Rows } from '../rows.js';
import type { PackedFile } from '../text/bad-text.js';
import { atLine, splitText } from '../text/splitter.js';
import { isPlain } from './dialect.js';
import type { HeadRow } from './odd-rows.js';
import { firstParsedRows, parsedRows } from './parser.js';
import { CsvRow } from './row.js';
import { type HeadForm, type HeadText, Tokenizer, type TokenizerForm } from './tokenizer.js';

/** All rows after the header. @throws InputError */
export function csvRows(
  text: AsyncIterable<Buffer>,
  csv: Omit<TokenizerForm, 'line'>,
  file: PackedFile & { encoding: string },
  signal?: AbortSignal,
): AsyncGenerator<Rows> {
  const { dialect } = csv;
  const skip = dialect.skipLines;
  const form = { ...csv, line: skip + 1 };
  const rest = skip > 0 ? withoutLines(text, skip) : text;
  if (!isPlain(dialect)) return parsedRows(rest, form, (error, line) => atLine(error, line, file, signal));
  return splitText(rest, new Tokenizer(form), file, signal);
}

const LF = 0x0a;
const CR = 0x0d;

/** A text without its first lines, whatever is in them. */
async function* withoutLines(text: AsyncIterable<Buffer>, lines: number): AsyncGenerator<Buffer> {
  let left = lines;
  let afterCr = false;
  for await (const chunk of text) {
    let at = 0;
    for (; at < chunk.length && (left > 0 || (afterCr && chunk[at] === LF)); at++) {
      const isSecond = afterCr && chunk[at] === LF;
      afterCr = chunk[at] === CR;
      if (!isSecond && (afterCr || chunk[at] === LF)) left--;
    }
    if (left === 0 && at < chunk.length) {
      afterCr = false;
      yield chunk.subarray(at);
    }
  }
}

/**
 * The first whole rows of a text.
 * @throws InputError for a quote or a cell that does not end within its limit
 */
export function firstRows({ text: head, whole }: HeadText, form: HeadForm): HeadRow[] {
  const { dialect } = form;
  // The last line of a whole file counts even without a line end.
  const text = afterLines(whole ? Buffer.concat([head, Buffer.from('\n')]) : head, dialect.skipLines);
  const above = dialect.skipLines;
  if (!isPlain(dialect)) {
    return firstParsedRows({ text, whole }, form).map((row) => ({ ...row, line: row.line + above }));
  }
  const tokenizer = new Tokenizer({ ...form, width: null, header: false, line: above + 1 });
  const rows = tokenizer.push(text) ?? (whole ? tokenizer.end() : null);
  if (!rows) return [];
  const row = new CsvRow();
  row.begin(rows);
  const reasons = new Map(rows.odd?.map(({ number, reason }) => [number, reason]));
  return Array.from(rows.lines, (line, number) => {
    return { cells: row.original(number), line, reason: reasons.get(number) ?? null };
  });
}

function afterLines(text: Buffer, lines: number): Buffer {
  let at = 0;
  for (let left = lines; left > 0 && at < text.length; at++) {
    if (text[at] === CR && text[at + 1] === LF) at++;
    if (text[at] === LF || text[at] === CR) left--;
  }
  return text.subarray(at);
}
