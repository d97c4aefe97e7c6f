/** Writes the items of the rows of a CSV or a sheet. */
import type { CellType } from '../../model.js';
import { BLANK, type RowWriter } from '../format.js';
import { As, ItemWriter } from '../item-writer.js';
import type { Rows } from '../rows.js';
import type { Output } from '../text/output.js';
import type { OpenedInput } from '../types.js';
import type { Refusal } from '../wording.js';
import { type CsvLayout, csvLayout, REPEATED_HEADER } from './layout.js';
import { CsvRow } from './row.js';

export class CsvWriter implements RowWriter {
  /** The row that was written or refused last, and whether its cells count for the types of their columns. */
  readonly row: CsvRow;
  isCounted = false;
  readonly #layout: CsvLayout;
  readonly #items: ItemWriter;

  /** @param types of the columns, which the cells fit; null: as if each was text */
  constructor(input: OpenedInput, types: readonly CellType[] | null) {
    this.row = new CsvRow(input);
    this.#layout = csvLayout(input);
    const { metadata, constants, empty } = this.#layout;
    const members = metadata.map(({ index, key, converter }) => {
      const as = converter ? As.converted : types === null || types[index] === 'string' ? As.text : As.raw;
      return { index, key, as };
    });
    this.#items = new ItemWriter(input.kind, members, constants, empty);
  }

  get id(): string {
    return this.#layout.id;
  }

  get company(): string {
    return this.#layout.company;
  }

  get quotes(): number {
    return this.#items.quotes;
  }

  begin(batch: Rows): void {
    this.row.begin(batch);
  }

  original(number: number): { cells: string[] } {
    return { cells: this.row.original(number) };
  }

  write(number: number, out: Output): Refusal | null {
    const { row } = this;
    const unreadable = row.read(number);
    const reason = unreadable ?? this.#layout.refusal(row);
    // A row that is not sent still counts for the types of its columns: it may come back fixed.
    const isRow = unreadable === null && row.count === this.#layout.width;
    this.isCounted = isRow && reason !== BLANK && reason !== REPEATED_HEADER;
    if (reason === null) {
      const size = row.ends[row.base + row.count - 1]! - row.starts[row.base]!;
      this.#items.write(out, row, size, this.#layout);
    }
    return reason;
  }
}
