/** Reads the rows of a sheet, cell by cell, as text with the types that the cells have. */
import { decimalSign } from '../conversion/types.js';
import { type CsvLimits, tooLong } from '../csv/parser.js';
import type { Target } from '../mapping/targets.js';
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

export interface Row {
  /** Row number as the spreadsheet shows it, from 1. */
  number: number;
  /** By column, to the last one that is used below the width of the sheet. */
  texts: string[];
  kinds: Is[];
  /** What is beyond that width. */
  beyond: { column: number; text: string }[];
  /** Why the row cannot be read; null if it can. */
  wrong: string | null;
}

/** The limits of a sheet (ECMA-376). */
const MAX_COLUMNS = 16_384;
const MAX_ROWS = 1_048_576;

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
  #row: Row = { number: 0, texts: [], kinds: [], beyond: [], wrong: null };
  #column = -1;
  #type = 'n';
  #style = 0;
  #value = '';
  /** The text that is in the cell itself. */
  #inline: string | null = null;
  #formula = false;

  constructor(
    private readonly workbook: { forms: readonly NumberForm[]; from1904: boolean },
    private readonly strings: { get(index: number): string },
    private readonly limits: CsvLimits,
    /** Rows are lists up to this column: one cell far to the right would make each as long as the sheet is wide. */
    private readonly width = MAX_COLUMNS,
  ) {
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
    if (text.length + more.length <= this.limits.maxCellBytes) return text + more;
    throw tooLong(this.limits, this.#row.number);
  }

  #openRow(r: string | undefined): void {
    const last = this.#row.number;
    const number = r === undefined ? last + 1 : Number(r);
    if (!(number > last && number <= MAX_ROWS)) throw new Error('its rows are out of order');
    this.#row = { number, texts: [], kinds: [], beyond: [], wrong: null };
    this.#column = -1;
  }

  #closeRow(): void {
    // Rows that only have formatting are empty.
    if (widthOf(this.#row) > 0) this.rows.push(this.#row);
  }

  #openCell(attribute: Attribute): void {
    const r = attribute('r');
    this.#column = r === undefined ? this.#column + 1 : columnOf(r);
    if (!(this.#column < MAX_COLUMNS)) throw new Error(`its row ${this.#row.number} has too many cells`);
    this.#type = attribute('t') ?? 'n';
    this.#style = this.#type === 's' ? 0 : Number(attribute('s') ?? 0);
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
        const text = this.#longer('', this.strings.get(Number(value)));
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
    const { forms, from1904 } = this.workbook;
    const form = forms[this.#style] ?? PLAIN;
    if (form === PLAIN || (!form.date && !form.elapsed && Number(value) < 0)) {
      this.#put(plainNumber(value), Is.number);
      return;
    }
    const date = serialText(Number(value), form, from1904);
    this.#put(date ?? plainNumber(value), date === null ? Is.noDay : Is.date);
  }

  #put(text: string, kind: Is): void {
    const { number, texts, kinds, beyond } = this.#row;
    const column = this.#column;
    if (column >= this.width) {
      if (text !== '') beyond.push({ column, text });
      return;
    }
    while (texts.length <= column) {
      texts.push('');
      kinds.push(Is.empty);
    }
    if (kinds[column] !== Is.empty) this.#row.wrong ??= `has two cells ${columnName(column)}${number}`;
    texts[column] = text;
    kinds[column] = kind;
  }
}

/** Number of columns, without empty ones at the end. */
export const widthOf = ({ texts, beyond }: Row): number =>
  1 +
  beyond.reduce(
    (most, { column }) => Math.max(most, column),
    texts.findLastIndex((text) => text !== ''),
  );

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
export const decimalSigns = (targets: readonly Target[]): [column: number, sign: string][] =>
  targets
    .map(({ pinned }, column): [number, string] => [column, pinned === null ? '.' : decimalSign(pinned)])
    .filter(([, sign]) => sign !== '.');
