/** Scans a batch of CSV for the plan: types, sizes, and identifiers of its rows. */
import { type Converter, partsOf } from '../conversion/converter.js';
import { addCurrency, type Currencies, noCurrencies } from '../conversion/currency.js';
import { type Likely, nextLikely, noLikely } from '../conversion/likely.js';
import { COMPANY, METADATA_CLOSE, METADATA_OPEN } from '../item-text.js';
import { TOO_LARGE } from '../item-writer.js';
import { jsonStringBytes } from '../json/text.js';
import { classify } from '../mapping/plain-number.js';
import { addCell, addPlain, type ColumnStats, emptyStats, isUndecided } from '../mapping/stats.js';
import { type RowOptions, type ScanPart, ScanRows } from '../scan-rows.js';
import { rejectedRecord } from '../text/splitter.js';
import type { OpenedInput, RecordBatch } from '../types.js';
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
          columns.measure(row, line);
          columns.leaveOut(row);
          onCounted?.(number, (column) => row[column]!);
        }
        continue;
      }
      const bytes = columns.measure(row, line);
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
  /** In the row measured last: cells that may turn out to be numbers. */
  perhapsNumbers = 0;
  readonly #layout: CsvLayout;
  /** Columns whose cells are only counted: identifiers, those left out, and `metadata`. */
  readonly #others: { index: number; stats: ColumnStats }[];
  readonly #metadata: {
    index: number;
    stats: ColumnStats;
    keyBytes: number;
    inferred: boolean;
    converter: Converter | null;
    currencies: Currencies | null;
  }[];
  /** For each column: whether to look at its cells instead of only counting them. */
  readonly #open: boolean[];
  readonly #emptyBytes: number;
  readonly #constantBytes: number;

  constructor(layout: CsvLayout, likely: readonly Likely[]) {
    this.#layout = layout;
    this.parts = layout.targets.map(({ pinned }, index) => ({
      stats: emptyStats(likely[index]),
      outside: 0,
      currencies: pinned && partsOf(pinned).name === 'money' ? noCurrencies() : null,
    }));
    const stats = this.parts.map((part) => part.stats);
    this.#metadata = layout.metadata.map(({ index, key, converter, target: { pinned } }) => ({
      index,
      stats: stats[index]!,
      keyBytes: Buffer.byteLength(key),
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
    this.#emptyBytes = layout.empty?.length ?? 0;
    this.#constantBytes = Buffer.byteLength(layout.constants);
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

  /** Counts the cells of a row, and the bytes of its item if every inferred column is text. */
  measure(row: readonly string[], line: number): number {
    const { head } = this.#layout;
    this.perhapsNumbers = 0;
    let members = this.#constantBytes;
    for (const { index, stats, keyBytes, inferred, converter, currencies } of this.#metadata) {
      const cell = row[index]!;
      if (cell === '') {
        stats.empty++;
        if (this.#emptyBytes > 0) members += keyBytes + this.#emptyBytes;
        continue;
      }
      if (inferred) {
        addCell(stats, cell, line);
        if (stats.notNumber === null) this.perhapsNumbers++;
      } else {
        stats.cells++;
      }
      if (converter === null) {
        members += keyBytes + jsonStringBytes(cell);
        continue;
      }
      const size = converter.size(cell);
      // A cell that does not fit is in a row that is not sent.
      members += keyBytes + Math.max(0, size);
      if (currencies !== null && size >= 0) addCurrency(currencies, cell, line);
    }
    for (const { index, stats } of this.#others) {
      if (row[index] === '') stats.empty++;
      else stats.cells++;
    }
    const spread = this.#layout.spread(row);
    if (spread !== '') members += Buffer.byteLength(spread);
    const company = this.#layout.companyOf(row);
    let bytes = head.length + jsonStringBytes(this.#layout.idOf(row)) + '}'.length;
    if (company !== '') bytes += COMPANY.length + jsonStringBytes(company);
    // There is a comma before each member but the first.
    if (members > 0) bytes += METADATA_OPEN.length + members - 1 + METADATA_CLOSE.length;
    return bytes;
  }

  /** Records that a measured row is not accepted. */
  leaveOut(row: readonly string[]): void {
    for (const [index, part] of this.parts.entries()) if (row[index] !== '') part.outside++;
  }
}
