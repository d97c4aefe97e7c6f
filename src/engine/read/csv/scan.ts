/** Scans a batch of CSV for the plan: types, sizes, and identifiers of its rows. */
import { type Converter, partsOf } from '../conversion/converter.js';
import { addCurrency, type Currencies, noCurrencies } from '../conversion/currency.js';
import { type Likely, nextLikely, noLikely } from '../conversion/likely.js';
import { TOO_LARGE } from '../item-writer.js';
import { classify } from '../mapping/plain-number.js';
import { addCell, addPlain, type ColumnStats, emptyStats, isUndecided } from '../mapping/stats.js';
import { type RowOptions, type ScanPart, ScanRows } from '../scan-rows.js';
import { rejectedRecord } from '../text/splitter.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import { itemText } from './build.js';
import type { Cells } from './cells.js';
import { BLANK, type CsvLayout, csvLayout, REPEATED_HEADER } from './layout.js';
import { plainRow } from './plain-row.js';
import { rowReader } from './rows.js';

/** What the scan of a batch found in one column. */
export interface ColumnPart {
  stats: ColumnStats;
  /** Non-empty cells of rows that are not among the accepted ones. */
  outside: number;
  /** Null unless the column is pinned to `money`. */
  currencies: Currencies | null;
}

/** Called for each row whose cells are counted, with its index in the batch and a function that reads its cells. */
export type OnCounted = (number: number, cellOf: (column: number) => string) => void;

export function scanCsv(
  input: OpenedInput,
  options: RowOptions,
  onCounted?: OnCounted,
): (batch: RecordBatch) => ScanPart {
  const layout = csvLayout(input);
  const { itemLimitBytes } = options;
  const accepted = new ScanRows(input, options);
  const plain = plainRow(input, layout, null);
  /** The item, if every inferred column were text. */
  const itemOf = itemText(layout, { types: layout.targets.map(() => 'string'), itemLimitBytes });
  const plainCell = (column: number): string => plain!.cells.text(column);
  const read = rowReader(input);
  let likely = layout.targets.map(noLikely);
  return (batch) => {
    const rows = read(batch);
    const rowAt = (number: number): string[] => {
      const cells = rows.cells(number);
      return layout.clean ? layout.clean(cells) : cells;
    };
    const columns = new Columns(layout, likely);
    plain?.begin(batch);
    accepted.begin(batch);
    for (let number = 0; number < batch.lines.length; number++) {
      const line = batch.lines[number]!;
      if (plain?.read(number) && plain.size <= itemLimitBytes) {
        columns.count(plain.cells, line);
        onCounted?.(number, plainCell);
        accepted.acceptPlain(number, plain);
        continue;
      }
      const row = rowAt(number);
      const reason = rows.broken?.get(number) ?? layout.refusal(row);
      if (reason === BLANK) {
        accepted.skip();
        continue;
      }
      if (reason !== null) {
        accepted.reject(rejectedRecord(input.path, batch, number, reason, { cells: rows.cells(number) }));
        // A row that is not sent still counts for the types of its columns: it may come back fixed.
        const itsOwn =
          row.length === layout.targets.length && reason !== REPEATED_HEADER && !rows.broken?.has(number);
        if (itsOwn) {
          columns.countTexts(row, line);
          columns.leaveOut(row);
          onCounted?.(number, (column) => row[column]!);
        }
        continue;
      }
      columns.countTexts(row, line);
      const bytes = Buffer.byteLength(itemOf(row));
      onCounted?.(number, (column) => row[column]!);
      if (bytes <= itemLimitBytes) {
        accepted.accept(number, layout.idOf(row), layout.companyOf(row), bytes);
        continue;
      }
      columns.leaveOut(row);
      // Without the quotes of numbers, the item may fit: it depends on the types of some columns.
      if (bytes - 2 * columns.perhapsNumbers <= itemLimitBytes) accepted.leaveOpen(number);
      else
        accepted.reject(rejectedRecord(input.path, batch, number, TOO_LARGE, { cells: rows.cells(number) }));
    }
    likely = columns.parts.map(({ stats }) => nextLikely(stats.likely));
    return accepted.finish(columns.parts, (number) => ({ cells: rows.cells(number) }));
  };
}

/** Counts the columns of a batch cell by cell. */
class Columns {
  readonly parts: ColumnPart[];
  /** In the last row of texts: cells that may turn out to be numbers. */
  perhapsNumbers = 0;
  /** Columns whose cells are only counted: identifiers, those left out, and `metadata`. */
  readonly #others: { index: number; stats: ColumnStats }[];
  readonly #metadata: {
    index: number;
    stats: ColumnStats;
    inferred: boolean;
    converter: Converter | null;
    currencies: Currencies | null;
  }[];
  /** For each column: whether to look at its cells instead of only counting them. */
  readonly #open: boolean[];

  constructor(layout: CsvLayout, likely: readonly Likely[]) {
    this.parts = layout.targets.map(({ pinned }, index) => ({
      stats: emptyStats(likely[index]),
      outside: 0,
      currencies: pinned && partsOf(pinned).name === 'money' ? noCurrencies() : null,
    }));
    const stats = this.parts.map((part) => part.stats);
    this.#metadata = layout.metadata.map(({ index, converter, target: { pinned } }) => ({
      index,
      stats: stats[index]!,
      inferred: pinned === null,
      converter,
      currencies: this.parts[index]!.currencies,
    }));
    this.#others = layout.targets.flatMap(({ role }, index) =>
      role === 'metadata' ? [] : [{ index, stats: stats[index]! }],
    );
    this.#open = layout.targets.map(
      ({ role, pinned }, index) =>
        (role === 'metadata' && pinned === null) || this.parts[index]!.currencies !== null,
    );
  }

  /** Counts the cells of a plain row. */
  count(cells: Cells, line: number): void {
    const { starts, ends } = cells;
    for (let index = 0; index < this.parts.length; index++) {
      const { stats } = this.parts[index]!;
      if (starts[index] === ends[index]) stats.empty++;
      else if (this.#open[index]) this.#look(index, cells, line);
      else stats.cells++;
    }
  }

  #look(index: number, cells: Cells, line: number): void {
    const { stats, currencies } = this.parts[index]!;
    if (currencies !== null) {
      stats.cells++;
      addCurrency(currencies, cells.text(index), line);
      return;
    }
    const isPlain =
      stats.notNumber === null &&
      addPlain(stats, classify(cells.bytes, cells.starts[index]!, cells.ends[index]!));
    if (isPlain) return;
    addCell(stats, cells.text(index), line);
    this.#open[index] = isUndecided(stats);
  }

  /** Counts the cells of a row. */
  countTexts(row: readonly string[], line: number): void {
    this.perhapsNumbers = 0;
    for (const { index, stats, inferred, converter, currencies } of this.#metadata) {
      const cell = row[index]!;
      if (cell === '') stats.empty++;
      else if (inferred) {
        addCell(stats, cell, line);
        if (stats.notNumber === null) this.perhapsNumbers++;
      } else {
        stats.cells++;
        // A cell that does not fit is in a row that is not sent.
        if (currencies !== null && converter!.size(cell) >= 0) addCurrency(currencies, cell, line);
      }
    }
    for (const { index, stats } of this.#others) {
      if (row[index] === '') stats.empty++;
      else stats.cells++;
    }
  }

  /** Records that a counted row is not accepted. */
  leaveOut(row: readonly string[]): void {
    for (const [index, part] of this.parts.entries()) if (row[index] !== '') part.outside++;
  }
}
