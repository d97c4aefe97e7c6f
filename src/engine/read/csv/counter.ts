/** Counts the columns of a batch of CSV for the plan, cell by cell: what types they may have. */
import { addCurrency, type Currencies, currenciesOf } from '../conversion/currency.js';
import { classify } from '../conversion/numbers.js';
import type { Converter } from '../conversion/type.js';
import { converterOf } from '../conversion/types.js';
import type { ColumnCounter } from '../format.js';
import { addCell, addPlain, type ColumnStats, emptyStats, isUndecided } from '../mapping/stats.js';
import { isInferred } from '../mapping/targets.js';
import type { Rows } from '../rows.js';
import type { OpenedInput } from '../types.js';
import type { CsvRow } from './row.js';
import type { CsvWriter } from './writer.js';

/** What the scan of a batch found in one column. */
export interface ColumnPart {
  stats: ColumnStats;
  /** Non-empty cells of rows that are not among the accepted ones. */
  outside: number;
  /** Null unless the column is pinned to `money`. */
  currencies: Currencies | null;
}

export class CsvCounter implements ColumnCounter {
  protected parts: ColumnPart[] = [];
  readonly #converters: (Converter | null)[];
  readonly #inferred: boolean[];
  /** For each column: whether to look at its cells instead of only counting them. */
  #open: boolean[] = [];
  #lines: Rows['lines'] = new Uint32Array(0);

  constructor(
    protected readonly input: OpenedInput,
    protected readonly writer: CsvWriter,
  ) {
    const { targets } = input;
    this.#converters = targets.map(({ pinned }) => pinned && converterOf(pinned));
    this.#inferred = targets.map(isInferred);
  }

  begin({ lines }: Rows): void {
    this.#lines = lines;
    this.parts = this.input.targets.map(({ pinned, guess }) => ({
      stats: emptyStats(guess),
      outside: 0,
      currencies: currenciesOf(pinned),
    }));
    this.#open = this.#inferred.map((inferred, index) => inferred || this.parts[index]!.currencies !== null);
  }

  count(number: number, isAccepted: boolean): void {
    const { row, isCounted } = this.writer;
    if (!isCounted) return;
    const line = this.#lines[number]!;
    for (let index = 0; index < this.parts.length; index++) {
      const part = this.parts[index]!;
      if (row.isEmpty(index)) {
        part.stats.empty++;
        continue;
      }
      if (this.#open[index]) this.#look(index, row, line);
      else part.stats.cells++;
      if (!isAccepted) part.outside++;
    }
  }

  take(): readonly ColumnPart[] {
    return this.parts;
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
    addCell(stats, row.text(index), line, this.input.targets[index]!.guess);
    this.#open[index] = isUndecided(stats);
  }
}
