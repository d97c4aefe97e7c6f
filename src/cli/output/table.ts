/** Tables: with borders at a terminal, plain in a pipe. */
import CliTable from 'cli-table3';
import { safeLine } from './safe.js';
import { stylesFor } from './style.js';
import { cutTo, pad, widthOf } from './width.js';

export interface Column {
  header: string;
  align?: 'left' | 'right';
  /**
   * For values that users copy, such as ids: cut only if they do not fit although all other columns are one
   * cell wide.
   */
  whole?: boolean;
  /** Color of a cell by its text, if the output has color. */
  style?: (text: string) => keyof ReturnType<typeof stylesFor> | undefined;
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
/**
 * Combining marks, as in Hindi or Thai, that cli-table3 counts as cells: it would cut such text too short.
 */
const MISCOUNTED = /(?![\u0300-\u036f\ufe0f])[\p{Mn}\p{Me}]/u;
const GAP = '  ';

interface Cell {
  text: string;
  width: number;
}

/** A table with cells that were made safe and measured. */
interface Sheet {
  columns: readonly Column[];
  head: readonly Cell[];
  body: readonly (readonly Cell[])[];
  /** The width of each column without cutting. */
  natural: readonly number[];
  color: boolean;
}

/**
 * A table as text; every line ends in a line break. At a terminal, the table has borders and is cut to the
 * width. Columns separated by two spaces are used instead in a pipe, for more than 1,000 rows, for text that
 * cli-table3 measures wrongly, or if borders would take space that values need. Cells are made safe and put
 * on one line. Without rows, there is only the header.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  form: TableForm,
): string {
  return render(sheetOf(columns, rows, form), form.width);
}

/**
 * Like `renderTable`, but leaves out the last columns if they do not fit the terminal. At least two columns
 * are kept. `leftOut` has the headers of the others.
 */
export function renderFitting(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  form: TableForm,
): { text: string; leftOut: string[] } {
  const sheet = sheetOf(columns, rows, form);
  let count = columns.length;
  while (form.width !== null && count > 2 && !isLegible(plainWidths(sheet, form.width, count), sheet))
    count--;
  const first = <T>(list: readonly T[]): readonly T[] => list.slice(0, count);
  const shown: Sheet = {
    columns: first(columns),
    head: first(sheet.head),
    body: count === columns.length ? sheet.body : sheet.body.map(first),
    natural: first(sheet.natural),
    color: form.color,
  };
  return { text: render(shown, form.width), leftOut: columns.slice(count).map(({ header }) => header) };
}

function sheetOf(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { color }: TableForm,
): Sheet {
  const head = columns.map((column) => measured(column.header));
  const body = rows.map((row) => columns.map((_, i) => measured(row[i] ?? '')));
  const natural = head.map((cell, i) =>
    body.reduce((widest, row) => Math.max(widest, row[i]!.width), cell.width),
  );
  return { columns, head, body, natural, color };
}

function render(sheet: Sheet, width: number | null): string {
  const { columns, body, natural } = sheet;
  if (width === null) return aligned(sheet, natural);
  const drawn = share(natural, width - (3 * columns.length + 1), columns.map(isWhole));
  if (isLegible(drawn, sheet) && body.length <= MAX_DRAWN && !miscounted(sheet)) return boxed(sheet, drawn);
  return aligned(sheet, plainWidths(sheet, width));
}

/** Widths of the first `count` columns, separated by two spaces. */
const plainWidths = ({ columns, natural }: Sheet, width: number, count = columns.length): number[] =>
  share(natural.slice(0, count), width - GAP.length * (count - 1), columns.slice(0, count).map(isWhole));

const isWhole = (column: Column): boolean => column.whole === true;
const isLegible = (widths: readonly number[], { natural }: Sheet): boolean =>
  widths.every((width, i) => width >= Math.min(LEGIBLE, natural[i]!));

/**
 * Widths that fit `room`: whole and narrow columns keep theirs, and wide ones get a common width (at least
 * 1).
 */
export function share(natural: readonly number[], room: number, whole: readonly boolean[] = []): number[] {
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

function measured(raw: string): Cell {
  const text = safeLine(raw);
  return { text, width: widthOf(text) };
}

const miscounted = ({ head, body }: Sheet): boolean =>
  [head, ...body].some((row) => row.some(({ text }) => MISCOUNTED.test(text)));

function boxed({ columns, head, body, color }: Sheet, widths: readonly number[]): string {
  // The colors of cli-table3 are turned off: cells are cut and styled before.
  const table = new CliTable({
    colWidths: widths.map((width) => width + 2),
    colAligns: columns.map((column) => column.align ?? 'left'),
    style: { head: [], border: [] },
  });
  const { bold } = stylesFor(color);
  table.push(head.map((cell, i) => bold(cutTo(cell.text, widths[i]!))));
  for (const row of body) {
    table.push(row.map(({ text }, i) => styled(columns[i]!, text, cutTo(text, widths[i]!), color)));
  }
  // Only the rule below the header is kept: rules between rows would double the height of a table.
  const lines = table.toString().split('\n');
  return `${lines.filter((line, i) => i === 2 || !line.startsWith('├')).join('\n')}\n`;
}

function aligned({ columns, head, body, color }: Sheet, widths: readonly number[]): string {
  const { bold } = stylesFor(color);
  const last = columns.length - 1;
  const line = (row: readonly Cell[], style: (text: string, shown: string, i: number) => string): string =>
    row
      .map(({ text, width }, i) => {
        const room = widths[i]!;
        const align = columns[i]!.align ?? 'left';
        const shown = width > room ? cutTo(text, room) : text;
        if (i === last && align === 'left') return style(text, shown, i);
        return style(text, pad(shown, room, align, width > room ? widthOf(shown) : width), i);
      })
      .join(GAP)
      .trimEnd();
  const lines = [line(head, (_, shown) => bold(shown))];
  for (const row of body) lines.push(line(row, (text, shown, i) => styled(columns[i]!, text, shown, color)));
  return `${lines.join('\n')}\n`;
}

function styled(column: Column, text: string, shown: string, color: boolean): string {
  const name = color ? column.style?.(text) : undefined;
  return name ? stylesFor(true)[name](shown) : shown;
}
