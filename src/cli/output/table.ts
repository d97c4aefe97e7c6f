/** Tables: with borders at a terminal, plain in a pipe. */
import CliTable from 'cli-table3';
import { type StyleName, safeLine, stylesFor } from './terminal.js';
import { cutTo, pad, widthOf } from './width.js';

export interface Column {
  header: string;
  align?: 'left' | 'right';
  /** For values that users copy, such as ids: cut only if they do not fit although all other columns are one cell wide. */
  whole?: boolean;
  /** Color of a cell by its text, if the output has color. */
  style?: (text: string) => StyleName | undefined;
}

export interface TableForm {
  /** The terminal's width in cells; null for a pipe, where nothing is cut or drawn. */
  width: number | null;
  color: boolean;
}

/** The maximum number of rows with borders: cli-table3 needs 1.6 s for 8,000 rows and 13.9 s for 20,000. */
const MAX_DRAWN = 1_000;
/** The minimum width of a column that is cut: less would show too little of its values. */
const LEGIBLE = 12;
/** Combining marks, as in Hindi or Thai, that cli-table3 counts as cells: it would cut such text too short. */
const MISCOUNTED = /(?![\u0300-\u036f\ufe0f])[\p{Mn}\p{Me}]/u;
const GAP = '  ';

/**
 * A table as text; every line ends in a line break. At a terminal, the table has borders and is cut to the width. Columns
 * separated by two spaces are used instead in a pipe, for more than 1,000 rows, for text that cli-table3 measures wrongly,
 * or if borders would take space that values need. Cells are made safe and put on one line. Without rows, there is only
 * the header.
 */
export const renderTable = (
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  form: TableForm,
): string => renderFitting(columns, rows, form, columns.length).text;

/**
 * Like `renderTable`, but leaves out the last columns if they do not fit the terminal. At least two columns are kept.
 * `leftOut` has the headers of the others.
 */
export function renderFitting(
  all: readonly Column[],
  rows: readonly (readonly string[])[],
  { width, color }: TableForm,
  least = 2,
): { text: string; leftOut: string[] } {
  const cells = [
    all.map(({ header }) => safeLine(header)),
    ...rows.map((row) => all.map((_, i) => safeLine(row[i] ?? ''))),
  ];
  const natural = all.map((_, i) => cells.reduce((most, row) => Math.max(most, widthOf(row[i]!)), 0));
  const whole = all.map((column) => column.whole === true);
  /** Widths of the first columns. @param between cells that are not for values */
  const widthsOf = (count: number, between: number): number[] =>
    width === null ? natural : share(natural.slice(0, count), width - between, whole);
  const isLegible = (widths: readonly number[]): boolean =>
    widths.every((cut, i) => cut >= Math.min(LEGIBLE, natural[i]!));
  const plain = (count: number): number[] => widthsOf(count, GAP.length * (count - 1));
  let count = all.length;
  while (count > least && !isLegible(plain(count))) count--;
  const columns = all.slice(0, count);
  const boxed = widthsOf(count, 3 * count + 1);
  const isBoxed =
    width !== null &&
    isLegible(boxed) &&
    rows.length <= MAX_DRAWN &&
    !cells.some((row) => row.slice(0, count).some((text) => MISCOUNTED.test(text)));
  const draw = isBoxed ? withBorders : aligned;
  const styles = stylesFor(color);
  const text = draw(columns, isBoxed ? boxed : plain(count), cells, (column, text, shown, isHead) => {
    const style = isHead ? 'bold' : column.style?.(text);
    return style ? styles[style](shown) : shown;
  });
  return { text, leftOut: all.slice(count).map(({ header }) => header) };
}

/** Widths that fit `room`: whole and narrow columns keep theirs, and wide ones get a common width (at least 1). */
function share(natural: readonly number[], room: number, whole: readonly boolean[] = []): number[] {
  const widths = [...natural];
  let left = room;
  // Whole columns are served first. The others share the rest, the narrowest first.
  const order = natural
    .map((_, i) => i)
    .sort((a, b) => Number(whole[b] ?? false) - Number(whole[a] ?? false) || natural[a]! - natural[b]!);
  order.forEach((column, done) => {
    const others = order.length - done - 1;
    const fair = whole[column] ? left - others : Math.floor(left / (others + 1));
    widths[column] = Math.max(1, Math.min(natural[column]!, fair));
    left -= widths[column]!;
  });
  return widths;
}

type Draw = (
  columns: readonly Column[],
  widths: readonly number[],
  /** The header, then the rows. */
  cells: readonly (readonly string[])[],
  paint: (column: Column, text: string, shown: string, isHead: boolean) => string,
) => string;

const withBorders: Draw = (columns, widths, cells, paint) => {
  // The colors of cli-table3 are turned off: cells are cut and styled before.
  const table = new CliTable({
    colWidths: widths.map((width) => width + 2),
    colAligns: columns.map((column) => column.align ?? 'left'),
    style: { head: [], border: [] },
  });
  for (const [at, row] of cells.entries())
    table.push(columns.map((column, i) => paint(column, row[i]!, cutTo(row[i]!, widths[i]!), at === 0)));
  // Only the rule below the header is kept: rules between rows would double the height of a table.
  const lines = table.toString().split('\n');
  return `${lines.filter((line, i) => i === 2 || !line.startsWith('├')).join('\n')}\n`;
};

const aligned: Draw = (columns, widths, cells, paint) => {
  const lines = cells.map((row, at) => {
    const shown = columns.map((column, i) => {
      const cut = cutTo(row[i]!, widths[i]!);
      const isOpen = i === columns.length - 1 && column.align !== 'right';
      return paint(column, row[i]!, isOpen ? cut : pad(cut, widths[i]!, column.align), at === 0);
    });
    return `${shown.join(GAP).trimEnd()}\n`;
  });
  return lines.join('');
};
