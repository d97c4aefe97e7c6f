/** Reads a column, some rows at a time: texts as they are, and the JSON texts of other values. */
import type { RowGroup } from 'hyparquet';
import { InputError } from '../../errors.js';
import { BOOLEAN, DECIMAL, INTEGER, TEXT } from '../json/look.js';
import { jsonString } from '../json/text.js';
import { ABSENT, AS_JSON, type CellColumn, ESCAPED_TEXT, needsEscape } from '../rows.js';
import { isPlain, Output, viewOf } from '../text/bytes.js';
import type { ArrowValues } from './arrow.js';
import type { FileColumn, ParquetFile } from './file.js';
import { readerOf } from './nested.js';
import { ColumnPages } from './pages.js';
import { BadValueError, converterOf, isJson, isText, textOf } from './values.js';

/** How a column goes into items. */
export interface Member {
  /** Whether a value that cannot be sent rejects its row: not in a column that is left out, or sent as text. */
  rejects: boolean;
  /** JSON text of a missing value; null to leave the key out. */
  missing: string | null;
  /** Which values become text: whole numbers in identifiers, or all if the user pinned the column to text. */
  asText: 'none' | 'integers' | 'all';
  /** Text that holds a JSON object is written as that object. */
  spread: boolean;
  /** The values include 64-bit integers that a double cannot hold. */
  wide: boolean;
}

/** Some rows of a row group. */
export interface Step {
  group: RowGroup;
  /** Their numbers in it, from 0, the end exclusive. */
  from: number;
  to: number;
  /** How many rows of the file come before the group. */
  before: number;
}

/** The values of rows of a group that hyparquet has decoded at once. */
interface Page {
  first: number;
  end: number;
  value(row: number): unknown;
}

const NO_PAGE: Page = { first: 0, end: 0, value: () => undefined };

export class Column {
  /** Of the current row group. */
  #pages: { group: RowGroup; of: ColumnPages; page: Page } | null = null;
  /** The cells that are read, and why their values cannot be sent, by row in the file. */
  #out = new Output(64);
  #bad = new Map<number, string>();
  /** Writes a value, and gives its kind. It has written nothing when it throws. */
  readonly #write: (raw: unknown) => number;

  constructor(
    private readonly file: ParquetFile,
    private readonly column: FileColumn,
    readonly member: Member,
  ) {
    this.#write = this.#writer();
  }

  /**
   * Reads the rows after those that were read last.
   * @param values as parquet-wasm has decoded them; null if hyparquet must
   * @returns also why values cannot be sent, by row in the file
   * @throws InputError
   */
  async read(
    step: Step,
    values: ArrowValues | null,
  ): Promise<{ cells: CellColumn; bad: ReadonlyMap<number, string> }> {
    const { from, to, before } = step;
    const count = to - from;
    if (values?.texts && (this.member.missing === null || values.isNull === null))
      return { cells: textCells(values.texts, values.isNull, count), bad: new Map() };
    this.#out = new Output(Math.ceil(this.#out.length * 1.1) + 64);
    this.#bad = new Map();
    const cells = { starts: new Uint32Array(count + 1), kinds: new Uint8Array(count) };
    for (let row = from; row < to; ) {
      const { first, end, value } = values ? asPage(values, step) : await this.#pageAt(step.group, row);
      for (const until = Math.min(end, to); row < until; row++) {
        const at = row - from;
        cells.kinds[at] = this.#writeAt(before + row, value(row - first));
        cells.starts[at + 1] = this.#out.length;
      }
    }
    const { bytes, length } = this.#out;
    return {
      cells: { ...cells, bytes: new Uint8Array(bytes.buffer as ArrayBuffer, 0, length) },
      bad: this.#bad,
    };
  }

  async #pageAt(group: RowGroup, row: number): Promise<Page> {
    if (this.#pages?.group !== group)
      this.#pages = { group, of: new ColumnPages(this.file, this.column, group), page: NO_PAGE };
    const pages = this.#pages;
    if (row >= pages.page.end) {
      pages.page = NO_PAGE; // is garbage while the next one is decoded
      const { count, value } = await pages.of.from(row);
      pages.page = { first: row, end: row + count, value };
    }
    return pages.page;
  }

  /** @param row in the file @returns the kind of the cell */
  #writeAt(row: number, value: unknown): number {
    try {
      return this.#write(value);
    } catch (error) {
      const [why, shown] = this.#unfit(error, row);
      if (this.member.rejects) this.#bad.set(row, why);
      return this.#writeText(shown);
    }
  }

  #writeText(text: string): number {
    this.#out.write(text);
    return needsEscape(text) ? ESCAPED_TEXT : TEXT;
  }

  /** Why a value cannot be sent, and its text. @throws the error of one that cannot be read */
  #unfit(error: unknown, row: number): [reason: string, shown: string] {
    if (!(error instanceof BadValueError)) throw error;
    const { message, shown } = error;
    if (shown !== null) return [`${this.column.name}: ${message}`, shown];
    const hint = 'fix the value, and export the file again';
    throw new InputError(message, { file: this.file.path, line: row + 1, hint });
  }

  #writer(): (raw: unknown) => number {
    const { asText, missing, spread, wide } = this.member;
    const { node, isFlat } = this.column;
    const write = (json: string | null): number => {
      const written = json ?? missing;
      if (written === null) return ABSENT;
      this.#out.write(written);
      return AS_JSON;
    };
    if (!isFlat) {
      const read = readerOf(node);
      return (raw) => {
        const value = read(raw);
        return write(value === null ? null : JSON.stringify(value));
      };
    }
    if (spread || isJson(node.element)) return (raw) => write(jsonText(raw, spread));
    const copies = isText(node.element);
    const convert = converterOf(node.element, wide);
    return (raw) => {
      if (raw === undefined) throw new Error(NO_VALUE);
      if (copies && raw !== null && this.#out.copyText(raw as Uint8Array)) return TEXT;
      const value = raw === null ? null : convert(raw);
      if (value === null) return write(null);
      const isText = asText === 'all' || (asText === 'integers' && Number.isSafeInteger(value));
      if (isText || typeof value === 'string') return this.#writeText(String(value));
      if (typeof value === 'boolean') {
        this.#out.write(String(value));
        return BOOLEAN;
      }
      this.#out.writeNumber(value as number);
      return Number.isInteger(value) ? INTEGER : DECIMAL;
    };
  }
}

/** Values of parquet-wasm are those of one step. */
const asPage = ({ isNull, value }: ArrowValues, { from, to }: Step): Page => ({
  first: from,
  end: to,
  value: isNull === null ? value : (row) => (isNull(row) ? null : value(row)),
});

/** Texts as parquet-wasm has them in memory. */
function textCells(
  texts: NonNullable<ArrowValues['texts']>,
  isNull: ArrowValues['isNull'],
  count: number,
): CellColumn {
  const { bytes, starts } = texts;
  const view = viewOf(bytes);
  const arePlain = isPlain(view, 0, bytes.length) !== null;
  if (arePlain && isNull === null) return { ...texts, kinds: null };
  const kinds = new Uint8Array(count);
  for (let row = 0; row < count; row++) {
    if (isNull?.(row)) kinds[row] = ABSENT;
    else if (!arePlain && isPlain(view, starts[row]!, starts[row + 1]!) === null) kinds[row] = ESCAPED_TEXT;
  }
  return { ...texts, kinds };
}

const NO_VALUE = 'a value is not in its dictionary';

/** JSON stays as it is in the file: parsed and written again, a number could lose digits. Null for no value. */
function jsonText(raw: unknown, spread: boolean): string | null {
  if (raw === undefined) throw new Error(NO_VALUE);
  if (raw === null) return null;
  const text = textOf(raw as Uint8Array, true);
  try {
    const value: unknown = JSON.parse(text);
    if (!spread || (typeof value === 'object' && value !== null)) return text;
  } catch {} // sent as text, or rejected with the same reason as in other formats
  return jsonString(text);
}
