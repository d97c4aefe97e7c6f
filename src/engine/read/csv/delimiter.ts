/** Finds the delimiter of a CSV from its first rows. */
import { DEFAULT_LIMITS } from '../limits.js';
import { type AskedDialect, askedDialect, type Dialect } from './dialect.js';
import { firstRows } from './rows.js';
import type { HeadText } from './tokenizer.js';

const CANDIDATES = [',', ';', '\t', '|'] as const;
/** How much text is examined: the larger amount only if the smaller one has too few rows. */
const SAMPLES_BYTES = [4 * 1024, 32 * 1024];
const ENOUGH_ROWS = 20;

interface Look {
  delimiter: string;
  /** Cells of the header. */
  columns: number;
  /** Share of rows that have as many cells as the header. */
  fit: number;
  /** Whether the header has one of the wanted names. */
  named: boolean;
}

/**
 * The delimiter with which most rows have as many cells as the header, taking quotes into account. If the header has
 * one of `names` under one delimiter, that decides. `,` for a single column.
 */
export function findDelimiter(
  head: HeadText,
  names: readonly string[],
  asked: AskedDialect = askedDialect({}),
): string {
  const free = CANDIDATES.filter((delimiter) => delimiter !== asked.quote && delimiter !== asked.escape);
  const looks = free.map((delimiter) => look(head, { ...asked, delimiter }, names)).filter((l) => l !== null);
  looks.sort(
    (a, b) => Number(b.named) - Number(a.named) || Math.sign(b.fit - a.fit) || b.columns - a.columns,
  );
  return looks[0]?.delimiter ?? free[0]!;
}

function look(head: HeadText, dialect: Dialect, names: readonly string[]): Look | null {
  const { delimiter } = dialect;
  if (!head.text.includes(delimiter)) return null;
  let rows: string[][];
  try {
    rows = firstCells(head, dialect);
  } catch {
    return null; // with this delimiter, the quotes are misplaced
  }
  const columns = rows[0]?.length ?? 0;
  if (columns < 2) return null;
  const fit = rows.filter((row) => row.length === columns).length / rows.length;
  return { delimiter, columns, fit, named: rows[0]!.some((cell) => names.includes(cell.trim())) };
}

/** The cells of the first whole rows of a text, from at most so many bytes. @throws InputError */
export function cellsIn({ text, whole }: HeadText, dialect: Dialect, bytes: number): string[][] {
  const form = { ...DEFAULT_LIMITS, path: '', dialect, maxCellBytes: text.length };
  const part = { text: text.subarray(0, bytes), whole: whole && bytes >= text.length };
  return firstRows(part, form).map(({ cells, reason }) => (reason === null ? cells : ['']));
}

/** The same from a small text, if it has enough rows. @throws InputError */
export function firstCells(head: HeadText, dialect: Dialect): string[][] {
  for (const bytes of SAMPLES_BYTES) {
    const rows = bytes < head.text.length ? cellsIn(head, dialect, bytes) : [];
    if (rows.length >= ENOUGH_ROWS) return rows;
  }
  return cellsIn(head, dialect, head.text.length);
}
