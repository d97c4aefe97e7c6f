/** Counts the columns of a batch of CSV for the plan, cell by cell: what types they may have. */
import { addCurrency, type Currencies, currenciesOf } from '../conversion/currency.js';
import { classify } from '../conversion/plain-numbers.js';
import type { ColumnCounter } from '../format.js';
import { addCell, addPlain, type ColumnStats, emptyStats, isUndecided } from '../mapping/stats.js';
import { isInferred, type Target } from '../mapping/targets.js';
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

export const emptyPart = ({ pinned, guess }: Target): ColumnPart => ({
  stats: emptyStats(guess),
  outside: 0,
  currencies: currenciesOf(pinned),
});

export class CsvCounter implements ColumnCounter {
  protected parts: ColumnPart[] = [];
  /** For each column: whether to look at its cells instead of only counting them. */
  #open: boolean[] = [];
  protected batch: Rows | null = null;

  constructor(
    protected readonly input: OpenedInput,
    protected readonly writer: CsvWriter,
  ) {}

  begin(batch: Rows): void {
    this.batch = batch;
    this.parts = this.input.targets.map(emptyPart);
    this.#open = this.input.targets.map(isInferred);
  }

  count(number: number, isAccepted: boolean): void {
    const { row, isCounted } = this.writer;
    if (!isCounted) return;
    const line = this.batch!.lines[number]!;
    for (let index = 0; index < this.parts.length; index++) {
      const part = this.parts[index]!;
      if (row.isEmpty(index)) {
        part.stats.empty++;
        continue;
      }
      if (this.#open[index]) this.#look(index, row, line);
      else part.stats.cells++;
      if (!isAccepted) part.outside++;
      else if (part.currencies?.other === null) addCurrency(part.currencies, row.text(index), line);
    }
  }

  take(): readonly ColumnPart[] {
    return this.parts;
  }

  #look(index: number, row: CsvRow, line: number): void {
    const { stats } = this.parts[index]!;
    const at = row.base + index;
    const isPlain =
      stats.notNumber === null && addPlain(stats, classify(row.bytes, row.starts[at]!, row.ends[at]!));
    if (isPlain) return;
    addCell(stats, row.text(index), line, this.input.targets[index]!.guess);
    this.#open[index] = isUndecided(stats);
  }
}
