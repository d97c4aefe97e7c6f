/** A row of CSV or of a sheet, where its cells are. Odd rows, and cells that options change, are put into own memory. */
import { cleaner } from '../identifier.js';
import { CellLists, DOUBLED, type OddRow, type Rows, writeCell } from '../rows.js';
import { Output, viewOf } from '../text/bytes.js';
import type { OpenedInput } from '../types.js';

/** Shows one row of a batch after another. */
export class CsvRow {
  bytes: Buffer = Buffer.alloc(0);
  view = viewOf(this.bytes);
  starts = new Uint32Array(0);
  ends = new Uint32Array(0);
  kinds = new Uint8Array(0);
  /** Its first cell in these lists, and how many it has. */
  base = 0;
  count = 0;
  #rows: Rows | null = null;
  #odd: ReadonlyMap<number, OddRow> | null = null;
  readonly #excelText: boolean;
  readonly #clean: ((cell: string) => string) | null;
  readonly #out = new Output(4096);
  readonly #own = new CellLists(64);

  constructor(input?: Pick<OpenedInput, 'csv' | 'rules'>) {
    this.#excelText = input?.csv?.excelText ?? false;
    this.#clean = input ? cleaner(input.rules) : null;
  }

  begin(rows: Rows): void {
    this.#rows = rows;
    this.#odd = rows.odd ? new Map(rows.odd.map((row) => [row.number, row])) : null;
    this.#show(rows.bytes, rows);
  }

  /** Goes to a row of the batch. @returns why it cannot be read; null if it can */
  read(number: number): string | null {
    const odd = this.#odd?.get(number);
    if (odd || this.#clean || this.#excelText) {
      this.put(this.original(number));
      return odd?.reason ?? null;
    }
    this.#goTo(number);
    return null;
  }

  #goTo(number: number): void {
    const rows = this.#rows!;
    if (this.starts !== rows.starts) this.#show(rows.bytes, rows);
    this.count = rows.width;
    this.base = number * rows.width;
  }

  /** Shows a row that is in no batch. */
  put(cells: readonly string[]): void {
    this.#out.length = this.#own.length = 0;
    for (const cell of cells) writeCell(this.#out, this.#own, this.#clean ? this.#clean(cell) : cell);
    this.#show(this.#out.bytes, this.#own);
    this.base = 0;
    this.count = cells.length;
  }

  /** Makes the row as wide as this, with empty cells or without some. It must be an odd one. */
  pad(width: number): void {
    while (this.#own.length < width) writeCell(this.#out, this.#own, '');
    this.#show(this.#out.bytes, this.#own);
    this.count = width;
  }

  isEmpty(index: number): boolean {
    const at = this.base + index;
    return this.starts[at] === this.ends[at];
  }

  /** Whether all cells from one on are empty. */
  isEmptyFrom(index: number): boolean {
    for (let at = index; at < this.count; at++) if (!this.isEmpty(at)) return false;
    return true;
  }

  text(index: number): string {
    const at = this.base + index;
    const text = this.bytes.toString('utf8', this.starts[at], this.ends[at]);
    return (this.kinds[at]! & DOUBLED) === 0 ? text : text.replaceAll('""', '"');
  }

  texts(): string[] {
    return Array.from({ length: this.count }, (_, index) => this.text(index));
  }

  /** The cells of a row of the batch as they are in the file. */
  original(number: number): string[] {
    const odd = this.#odd?.get(number);
    if (odd?.reason) return odd.cells;
    const cells = odd?.cells ?? this.#textsOf(number);
    return this.#excelText ? cells.map(textOfExcel) : cells;
  }

  #textsOf(number: number): string[] {
    this.#goTo(number);
    return this.texts();
  }

  #show(bytes: Uint8Array, { starts, ends, kinds }: Pick<Rows, 'starts' | 'ends' | 'kinds'>): void {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = viewOf(bytes);
    this.starts = starts;
    this.ends = ends;
    this.kinds = kinds;
  }
}

/** Decodes `="0012"`, which spreadsheets write for text that looks like a number. */
const textOfExcel = (cell: string): string =>
  cell.length > 2 && cell.startsWith('="') && cell.endsWith('"')
    ? cell.slice(2, -1).replaceAll('""', '"')
    : cell;
