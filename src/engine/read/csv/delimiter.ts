/** Finds the delimiter of a CSV from its first rows. */
import { DEFAULT_LIMITS } from '../limits.js';
import { type AskedDialect, askedDialect, type Dialect } from './dialect.js';
import { firstRows, type HeadText } from './rows.js';

const CANDIDATES = [',', ';', '\t', '|'] as const;
/** How much text is examined: more only if it has too few rows. */
const SAMPLES_BYTES = [4 * 1024, 32 * 1024, Number.POSITIVE_INFINITY];
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
  const looks = free.flatMap((delimiter): Look[] => {
    const rows = head.text.includes(delimiter) ? firstCells(head, { ...asked, delimiter }) : [];
    const columns = rows[0]?.length ?? 0;
    if (columns < 2) return [];
    const fit = rows.filter((row) => row.length === columns).length / rows.length;
    return [{ delimiter, columns, fit, named: rows[0]!.some((cell) => names.includes(cell.trim())) }];
  });
  looks.sort(
    (a, b) => Number(b.named) - Number(a.named) || Math.sign(b.fit - a.fit) || b.columns - a.columns,
  );
  return looks[0]?.delimiter ?? free[0]!;
}

/** The cells of the first whole rows; none if quotes are misplaced in this dialect. @param samples how much text to examine */
export function firstCells(
  { text, whole }: HeadText,
  dialect: Dialect,
  samples: readonly number[] = SAMPLES_BYTES,
): string[][] {
  const form = { ...DEFAULT_LIMITS, path: '', dialect, maxCellBytes: text.length };
  for (const bytes of samples) {
    const isLast = bytes >= text.length || bytes === samples.at(-1);
    const part = { text: text.subarray(0, bytes), whole: whole && bytes >= text.length };
    try {
      const rows = firstRows(part, form);
      if (isLast || rows.length >= ENOUGH_ROWS)
        return rows.map(({ cells, reason }) => (reason === null ? cells : ['']));
    } catch {
      break;
    }
  }
  return [];
}
