/** Which character separates the cells of a CSV, by looking at its first rows. */

import { csvRows } from './rows.js';
import { CsvSplitter } from './splitter.js';

const CANDIDATES = [',', ';', '\t', '|'] as const;
/** Text that is looked at: little, as long as it holds enough rows to tell. */
const SAMPLES_BYTES = [4 * 1024, 32 * 1024];
const ENOUGH_ROWS = 20;

interface Look {
  delimiter: string;
  /** Cells of the header. */
  columns: number;
  /** Share of rows that have as many cells as the header. */
  fit: number;
  /** The header holds a name that was asked for. */
  named: boolean;
}

/**
 * The delimiter of which most rows have the header's number of cells, quotes respected. A header that
 * holds one of `names` under one delimiter settles it. A single column has none: `,` then.
 */
export function findDelimiter(head: Buffer, names: readonly string[]): string {
  const looks = CANDIDATES.map((delimiter) => look(head, delimiter, names)).filter((l) => l !== null);
  looks.sort(
    (a, b) => Number(b.named) - Number(a.named) || Math.sign(b.fit - a.fit) || b.columns - a.columns,
  );
  return looks[0]?.delimiter ?? ',';
}

function look(head: Buffer, delimiter: string, names: readonly string[]): Look | null {
  if (!head.includes(delimiter)) return null;
  let rows: string[][];
  try {
    rows = firstRows(head, delimiter);
  } catch {
    return null; // with this delimiter the quotes make no sense
  }
  const columns = rows[0]?.length ?? 0;
  if (columns < 2) return null;
  const fit = rows.filter((row) => row.length === columns).length / rows.length;
  return { delimiter, columns, fit, named: rows[0]!.some((cell) => names.includes(cell.trim())) };
}

/** The first whole rows of a text; its last row counts only when a line end follows it. @throws InputError */
function firstRows(head: Buffer, delimiter: string): string[][] {
  const form = { path: '', delimiter, maxCellBytes: head.length };
  for (const bytes of [...SAMPLES_BYTES, head.length]) {
    const batch = new CsvSplitter(form, { header: false }).push(head.subarray(0, bytes));
    const last = bytes >= head.length;
    if (batch && (last || batch.lines.length >= ENOUGH_ROWS)) return csvRows(batch.bytes, delimiter);
  }
  return [];
}
