/** Reads the rows of a sheet, cell by cell, as text. */
import type { Hooks } from './archive.js';
import { Is } from './notes.js';
import { type NumberForm, PLAIN, plainNumber, serialText } from './number-forms.js';

export interface Row {
  /** Row number as the spreadsheet shows it, from 1. */
  number: number;
  cells: string[];
  kinds: Is[];
}

/** The limits of a sheet (ECMA-376). */
const MAX_COLUMNS = 16_384;
const MAX_ROWS = 1_048_576;

export interface SheetContext {
  forms: readonly NumberForm[];
  from1904: boolean;
  /** Returns a shared string. */
  text(index: number): string;
  /** The most UTF-16 code units in a cell. */
  maxCell: number;
}

/** Hooks for a sheet's XML. They collect its rows in `rows` until the caller takes them. */
export class SheetRows implements Hooks {
  rows: Row[] = [];
  /** Whether the sheet has been read to its end. */
  done = false;
  readonly #context: SheetContext;
  #row: Row = { number: 0, cells: [], kinds: [] };
  #last = 0;
  #column = -1;
  #type = 'n';
  #style = 0;
  #value = '';
  #collects = false;
  #formula = false;
  #phonetic = false;
  #inRow = false;

  constructor(context: SheetContext) {
    this.#context = context;
  }

  open(name: string, attributes: () => Record<string, string>): void {
    switch (name) {
      case 'c': {
        const { r, t, s } = attributes();
        this.#column = r === undefined ? this.#column + 1 : columnOf(r);
        if (!(this.#column < MAX_COLUMNS)) throw new Error(`its row ${this.#row.number} has too many cells`);
        this.#type = t ?? 'n';
        this.#style = s === undefined ? 0 : Number(s);
        this.#value = '';
        this.#formula = false;
        break;
      }
      case 'f':
        this.#formula = true;
        break;
      case 'v':
        this.#collects = true;
        break;
      case 't':
        this.#collects = this.#type === 'inlineStr' && !this.#phonetic;
        break;
      case 'rPh':
        this.#phonetic = true;
        break;
      case 'row': {
        const { r } = attributes();
        const number = r === undefined ? this.#last + 1 : Number(r);
        if (!(number > this.#last && number <= MAX_ROWS)) throw new Error('its rows are out of order');
        this.#last = number;
        this.#row = { number, cells: [], kinds: [] };
        this.#column = -1;
        this.#inRow = true;
        break;
      }
      default:
    }
  }

  text(text: string): void {
    if (!this.#collects) return;
    this.#value += text;
    if (this.#value.length > this.#context.maxCell) throw new CellTooLong(this.#row.number);
  }

  close(name: string): void {
    switch (name) {
      case 'v':
      case 't':
        this.#collects = false;
        break;
      case 'rPh':
        this.#phonetic = false;
        break;
      case 'c':
        if (this.#inRow) this.#cell();
        break;
      case 'row':
        this.#inRow = false;
        // Rows that only have formatting are empty.
        if (this.#row.cells.some((cell) => cell !== undefined && cell !== '')) this.rows.push(this.#row);
        break;
      case 'sheetData':
        this.done = true;
        break;
      default:
    }
  }

  #cell(): void {
    const value = this.#value;
    // A formula whose value is an empty text has the type `str`.
    const uncomputed = value === '' && this.#formula && this.#type !== 'str';
    if (value === '' && !uncomputed) return;
    const { cells, kinds } = this.#row;
    const column = this.#column;
    for (let at = cells.length; at < column; at++) {
      cells.push('');
      kinds.push(Is.empty);
    }
    if (uncomputed) {
      this.#put('', Is.uncomputed);
      return;
    }
    switch (this.#type) {
      case 's': {
        const text = this.#context.text(Number(value));
        if (text.length > this.#context.maxCell) throw new CellTooLong(this.#row.number);
        this.#put(text, text === '' ? Is.empty : Is.text);
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
    const date = form === PLAIN ? null : serialText(Number(value), form, from1904);
    if (date === null) this.#put(plainNumber(value), Is.number);
    else this.#put(date, Is.date);
  }

  #put(text: string, kind: Is): void {
    this.#row.cells[this.#column] = text;
    this.#row.kinds[this.#column] = kind;
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

/** Decodes control characters, which XML cannot contain and workbooks write as `_xHHHH_`. */
export const unescaped = (text: string): string =>
  text.includes('_x')
    ? text.replace(/_x([\dA-Fa-f]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    : text;
