/** Reads the rows of a sheet, cell by cell, as text. */
import { decimalSign } from '../conversion/types.js';
import { KIND_BITS, type Rows } from '../rows.js';
import type { OpenedInput, RejectedRecord } from '../types.js';
import { type NumberForm, PLAIN, plainNumber, serialText } from './number-forms.js';
import type { Attribute, Handlers } from './xml.js';

/** The type of a cell in the workbook, as far as it matters to its column. */
export enum Is {
  empty,
  text,
  number,
  /** A date or a time, as ISO text. */
  date,
  boolean,
  /** `#REF!`, `#N/A`, … */
  error,
  /** A formula that no program has computed. */
  uncomputed,
  /** A number that is formatted as a date, and is none. */
  noDay,
}

export interface Cell {
  /** From 0. */
  column: number;
  text: string;
  kind: Is;
}

export interface Row {
  /** Row number as the spreadsheet shows it, from 1. */
  number: number;
  /** By column; only those that the sheet has. */
  cells: Cell[];
  /** Why the row cannot be read; null if it can. */
  wrong: string | null;
}

/** The limits of a sheet (ECMA-376). */
const MAX_COLUMNS = 16_384;
const MAX_ROWS = 1_048_576;

interface SheetContext {
  forms: readonly NumberForm[];
  from1904: boolean;
  /** Returns a shared string. */
  text(index: number): string;
  /** The most UTF-16 code units in a cell. */
  maxCell: number;
}

/** The texts of a string, which may consist of runs in several fonts. How it is pronounced is left out. */
export const textsIn = (path: string, text: (more: string) => void): Handlers => ({
  [`${path}/x:t`]: { text },
  [`${path}/x:r/x:t`]: { text },
});

const ROW = 'x:worksheet/x:sheetData/x:row';
const CELL = `${ROW}/x:c`;

/** Collects the rows of a sheet in `rows` until the caller takes them. */
export class SheetRows {
  rows: Row[] = [];
  readonly handlers: Handlers;
  readonly #context: SheetContext;
  #row: Row = { number: 0, cells: [], wrong: null };
  #last = 0;
  #column = -1;
  #type = 'n';
  #style = 0;
  #value = '';
  /** The text that is in the cell itself. */
  #inline: string | null = null;
  #formula = false;

  constructor(context: SheetContext) {
    this.#context = context;
    this.handlers = {
      [ROW]: { open: (attribute) => this.#openRow(attribute('r')), close: () => this.#closeRow() },
      [CELL]: { open: (attribute) => this.#openCell(attribute), close: () => this.#closeCell() },
      [`${CELL}/x:v`]: {
        text: (more) => {
          this.#value = this.#longer(this.#value, more);
        },
      },
      [`${CELL}/x:is`]: {
        open: () => {
          this.#inline = '';
        },
      },
      ...textsIn(`${CELL}/x:is`, (more) => {
        this.#inline = this.#longer(this.#inline!, more);
      }),
      [`${CELL}/x:f`]: {
        open: () => {
          this.#formula = true;
        },
      },
    };
  }

  #longer(text: string, more: string): string {
    if (text.length + more.length > this.#context.maxCell) throw new CellTooLong(this.#row.number);
    return text + more;
  }

  #openRow(r: string | undefined): void {
    const number = r === undefined ? this.#last + 1 : Number(r);
    if (!(number > this.#last && number <= MAX_ROWS)) throw new Error('its rows are out of order');
    this.#last = number;
    this.#row = { number, cells: [], wrong: null };
    this.#column = -1;
  }

  #closeRow(): void {
    const row = this.#row;
    // Rows that only have formatting are empty.
    if (row.cells.every(({ text }) => text === '')) return;
    if (row.cells.some(({ column }, at) => at > 0 && column <= row.cells[at - 1]!.column)) {
      row.cells.sort((a, b) => a.column - b.column);
      const twice = row.cells.find(({ column }, at) => column === row.cells[at + 1]?.column);
      if (twice) row.wrong = `has two cells ${columnName(twice.column)}${row.number}`;
    }
    this.rows.push(row);
  }

  #openCell(attribute: Attribute): void {
    const r = attribute('r');
    this.#column = r === undefined ? this.#column + 1 : columnOf(r);
    if (!(this.#column < MAX_COLUMNS)) throw new Error(`its row ${this.#row.number} has too many cells`);
    this.#type = attribute('t') ?? 'n';
    const s = attribute('s');
    this.#style = s === undefined ? 0 : Number(s);
    this.#value = '';
    this.#inline = null;
    this.#formula = false;
  }

  #closeCell(): void {
    const value = (this.#type === 'inlineStr' ? this.#inline : null) ?? this.#value;
    if (value === '') {
      // A formula whose value is an empty text has the type `str`.
      if (this.#formula && this.#type !== 'str') this.#put('', Is.uncomputed);
      return;
    }
    switch (this.#type) {
      case 's': {
        const text = this.#longer('', this.#context.text(Number(value)));
        if (text !== '') this.#put(text, Is.text);
        break;
      }
      case 'str':
      case 'inlineStr':
        this.#put(unescaped(value), Is.text);
        break;
      case 'b':
        this.#put(/^(?:1|true)$/i.test(value) ? 'true' : 'false', Is.boolean);
        break;
      case 'e':
        this.#put(value, Is.error);
        break;
      case 'd':
        this.#put(value.replace(/T00:00:00(?:\.0+)?$/, ''), Is.date);
        break;
      default:
        this.#number(value);
    }
  }

  #number(value: string): void {
    const { forms, from1904 } = this.#context;
    const form = forms[this.#style] ?? PLAIN;
    const number = Number(value);
    if (form === PLAIN || (!form.date && !form.elapsed && number < 0)) {
      this.#put(plainNumber(value), Is.number);
      return;
    }
    const date = serialText(number, form, from1904);
    if (date === null) this.#put(plainNumber(value), Is.noDay);
    else this.#put(date, Is.date);
  }

  #put(text: string, kind: Is): void {
    this.#row.cells.push({ column: this.#column, text, kind });
  }
}

export class CellTooLong extends Error {
  constructor(readonly row: number) {
    super(`a cell of row ${row} is too long`);
  }
}

/** The column of an address such as `BC12`, from 0. NaN if it is not an address. */
function columnOf(address: string): number {
  let column = 0;
  let at = 0;
  for (; at < address.length; at++) {
    const letter = address.charCodeAt(at) & 0xdf;
    if (letter < 0x41 || letter > 0x5a) break;
    column = column * 26 + letter - 0x40;
  }
  return at === 0 ? Number.NaN : column - 1;
}

/** The letters of a column, from 0. */
export const columnName = (column: number): string =>
  (column < 26 ? '' : columnName(Math.floor(column / 26) - 1)) + String.fromCharCode(0x41 + (column % 26));

/** The two halves of a surrogate pair, or any other code unit. */
const ESCAPE =
  /_x([dD][89ABab][\dA-Fa-f]{2})__x([dD][C-Fc-f][\dA-Fa-f]{2})_|_x((?![dD][89A-Fa-f])[\dA-Fa-f]{4})_/g;

/**
 * Decodes control characters, which XML cannot contain and workbooks write as `_xHHHH_`. Half of a surrogate pair,
 * which is no character, stays as it is written.
 */
export const unescaped = (text: string): string =>
  text.includes('_x')
    ? text.replace(ESCAPE, (_, high, low, code) => (code ? unit(code) : unit(high) + unit(low)))
    : text;

const unit = (hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));

/**
 * The signs of columns whose type names another one than the point: numbers there are written with it, or they would be
 * misread, also from a rejects file.
 */
export function decimalSigns({ targets }: OpenedInput): Map<number, string> {
  const signs = targets.map(
    ({ pinned }, column) => [column, pinned === null ? '.' : decimalSign(pinned)] as const,
  );
  return new Map(signs.filter(([, sign]) => sign !== '.'));
}

/** The rows of a batch, with decimal points as the workbook stores them. */
export function withPoints(
  rows: RejectedRecord['original'][],
  { kinds }: Rows,
  input: OpenedInput,
): RejectedRecord['original'][] {
  const signs = decimalSigns(input);
  if (signs.size === 0) return rows;
  return rows.map((row, number) => {
    const cells = 'cells' in row ? [...row.cells] : [];
    for (const [column, sign] of signs) {
      const isNumber = kinds[number * input.columns.length + column]! >> KIND_BITS === Is.number;
      if (isNumber) cells[column] = cells[column]!.replace(sign, '.');
    }
    return { cells };
  });
}
