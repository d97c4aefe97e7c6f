/** Scans a batch of CSV for the plan: types, sizes, and identifiers of its rows. */
import { addCurrency, type Currencies, noCurrencies } from '../conversion/currency.js';
import type { Guess } from '../conversion/guess.js';
import type { Converter } from '../conversion/type.js';
import { converterOf, partsOf } from '../conversion/types.js';
import { TOO_LARGE } from '../item-writer.js';
import { classify } from '../mapping/plain-number.js';
import { addCell, addPlain, type ColumnStats, emptyStats, isUndecided } from '../mapping/stats.js';
import { type Rows, rejectedRecord } from '../rows.js';
import { type RowOptions, type ScanPart, ScanRows } from '../scan-rows.js';
import { Output } from '../text/output.js';
import type { OpenedInput } from '../types.js';
import { BLANK, type CsvLayout, csvLayout, REPEATED_HEADER } from './layout.js';
import { CsvRow } from './row.js';
import { CsvWriter } from './writer.js';

/** What the scan of a batch found in one column. */
export interface ColumnPart {
  stats: ColumnStats;
  /** Non-empty cells of rows that are not among the accepted ones. */
  outside: number;
  /** Null unless the column is pinned to `money`. */
  currencies: Currencies | null;
}

/** Called for each row whose cells are counted, with its index in the batch. */
type OnCounted = (number: number, row: CsvRow) => void;

export function scanCsv(
  input: OpenedInput,
  options: RowOptions,
  onCounted?: OnCounted,
): (batch: Rows) => ScanPart {
  const layout = csvLayout(input);
  const { itemLimitBytes } = options;
  const row = new CsvRow(input);
  const accepted = new ScanRows(input, options);
  /** Writes items as if every inferred column were text, only to know their sizes. */
  const writer = new CsvWriter(layout, Array(layout.targets.length).fill('string'));
  const scratch = new Output(64 * 1024);
  const identifier = (index: number): string => {
    if (index < 0) return '';
    return layout.lower(index) ? row.text(index).toLowerCase() : row.text(index);
  };
  return (batch) => {
    const columns = new Columns(layout);
    row.begin(batch);
    accepted.begin(batch);
    for (let number = 0; number < batch.lines.length; number++) {
      const line = batch.lines[number]!;
      const unreadable = row.read(number);
      let reason = unreadable ?? layout.refusal(row);
      if (reason === BLANK) {
        accepted.skip();
        continue;
      }
      // A row that is not sent still counts for the types of its columns: it may come back fixed.
      const isCounted =
        unreadable === null && row.count === layout.targets.length && reason !== REPEATED_HEADER;
      if (isCounted) {
        columns.count(row, line);
        onCounted?.(number, row);
      }
      if (reason === null) {
        scratch.length = 0;
        const bytes = writer.write(row, scratch);
        if (bytes <= itemLimitBytes) {
          accepted.accept(number, identifier(layout.id), identifier(layout.company), bytes);
          continue;
        }
        // Without the quotes of numbers, the item may fit: it depends on the types of some columns.
        if (bytes - 2 * columns.perhapsNumbers(row) <= itemLimitBytes) accepted.leaveOpen(number);
        else reason = TOO_LARGE;
      }
      if (isCounted) columns.leaveOut(row);
      if (reason !== null) {
        accepted.reject(rejectedRecord(input.path, batch, number, reason, { cells: row.original(number) }));
      }
    }
    return accepted.finish(columns.parts, (number) => ({ cells: row.original(number) }));
  };
}

/** Counts the columns of a batch cell by cell. */
class Columns {
  readonly parts: ColumnPart[];
  readonly #converters: (Converter | null)[];
  /** For each column: whether to look at its cells instead of only counting them. */
  readonly #open: boolean[];
  readonly #inferred: boolean[];
  readonly #guesses: (Guess | undefined)[];

  constructor({ targets }: CsvLayout) {
    this.parts = targets.map(({ pinned, guess }) => ({
      stats: emptyStats(guess),
      outside: 0,
      currencies: pinned && partsOf(pinned).name === 'money' ? noCurrencies() : null,
    }));
    this.#guesses = targets.map(({ guess }) => guess);
    this.#converters = targets.map(({ pinned }) => pinned && converterOf(pinned));
    this.#inferred = targets.map(({ role, pinned }) => role === 'metadata' && pinned === null);
    this.#open = this.#inferred.map((inferred, index) => inferred || this.parts[index]!.currencies !== null);
  }

  count(row: CsvRow, line: number): void {
    for (let index = 0; index < this.parts.length; index++) {
      const { stats } = this.parts[index]!;
      if (row.isEmpty(index)) stats.empty++;
      else if (this.#open[index]) this.#look(index, row, line);
      else stats.cells++;
    }
  }

  #look(index: number, row: CsvRow, line: number): void {
    const { stats, currencies } = this.parts[index]!;
    if (currencies !== null) {
      stats.cells++;
      const text = row.text(index);
      // A cell that does not fit is in a row that is not sent.
      if (this.#converters[index]!.json(text) !== null) addCurrency(currencies, text, line);
      return;
    }
    const at = row.base + index;
    const isPlain =
      stats.notNumber === null && addPlain(stats, classify(row.bytes, row.starts[at]!, row.ends[at]!));
    if (isPlain) return;
    addCell(stats, row.text(index), line, this.#guesses[index]);
    this.#open[index] = isUndecided(stats);
  }

  /** How many cells of a row that was counted may turn out to be numbers. */
  perhapsNumbers(row: CsvRow): number {
    const isPerhaps = ({ stats }: ColumnPart, index: number): boolean =>
      this.#inferred[index]! && stats.notNumber === null && !row.isEmpty(index);
    return this.parts.filter(isPerhaps).length;
  }

  /** Records that a counted row is not accepted. */
  leaveOut(row: CsvRow): void {
    for (const [index, part] of this.parts.entries()) if (!row.isEmpty(index)) part.outside++;
  }
}
