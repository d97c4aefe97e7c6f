/** Tables: with borders at a terminal, plain in a pipe. */
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

/** The minimum width of a column that is cut: less would show too little of its values. */
const LEGIBLE = 12;
const GAP = '  ';

/**
 * A table as text; every line ends in a line break. At a terminal, the table has borders and is cut to the width. Columns
 * separated by two spaces are used instead in a pipe, or if borders would take space that values need. Cells are made
 * safe and put on one line. Without rows, there is only the header.
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
  const isBoxed = width !== null && isLegible(boxed);
  const widths = isBoxed ? boxed : plain(count);
  const styles = stylesFor(color);
  const shown = cells.map((row, at) =>
    columns.map((column, i) => {
      const cut = cutTo(row[i]!, widths[i]!);
      const isOpen = !isBoxed && i === count - 1 && column.align !== 'right';
      const text = isOpen ? cut : pad(cut, widths[i]!, column.align);
      const style = at === 0 ? 'bold' : column.style?.(row[i]!);
      return style ? styles[style](text) : text;
    }),
  );
  const lines = isBoxed ? withBorders(shown, widths) : shown.map((row) => row.join(GAP).trimEnd());
  return {
    text: lines.map((line) => `${line}\n`).join(''),
    leftOut: all.slice(count).map(({ header }) => header),
  };
}

/** Lines with borders around them, and a rule below the header. */
function withBorders(rows: readonly (readonly string[])[], widths: readonly number[]): string[] {
  const rule = (left: string, between: string, right: string): string =>
    `${left}${widths.map((width) => '─'.repeat(width + 2)).join(between)}${right}`;
  const [head = '', ...lines] = rows.map((row) => `│ ${row.join(' │ ')} │`);
  const below = lines.length > 0 ? [rule('├', '┼', '┤'), ...lines] : [];
  return [rule('┌', '┬', '┐'), head, ...below, rule('└', '┴', '┘')];
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
