/** What the columns of a CSV or a sheet hold: counted cell by cell in each batch, and added up over all of them. */
import type { CellType, ColumnPlan } from '../../model.js';
import type { Warning } from '../../problems.js';
import { count, grouped } from '../../util/numbers.js';
import { looksTyped, type Suggestion, suggestionOf } from '../conversion/guess.js';
import { classify, NOT_A_NUMBER } from '../conversion/numbers.js';
import {
  addCurrency,
  addPlain,
  addText,
  type ColumnStats,
  type Currencies,
  currenciesOf,
  currencyWarnings,
  type Decision,
  decide,
  decidedBefore,
  emptyStats,
  isUndecided,
  mergeCurrencies,
  mergeStats,
} from '../conversion/stats.js';
import {
  isSameStyle,
  isStyled,
  POINT_FOR_THOUSANDS,
  sentAs,
  sentType,
  typeNamed,
} from '../conversion/types.js';
import type { ColumnCounter, ColumnTotals, Inferred } from '../format.js';
import { isInferred, type Target } from '../mapping/targets.js';
import type { Rows } from '../rows.js';
import type { OpenedInput, Scan } from '../types.js';
import { quoted } from '../wording.js';
import type { CsvRow } from './rows.js';
import type { CsvWriter } from './writer.js';

/** What the scan of a batch found in one column. */
export interface ColumnPart {
  stats: ColumnStats;
  /** Non-empty cells of rows that are not among the accepted ones. */
  outside: number;
  /** Null unless the column is pinned to `money`. */
  currencies: Currencies | null;
}

const emptyPart = ({ pinned, guess }: Target): ColumnPart => ({
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
      else if (part.currencies)
        addCurrency(part.currencies, row.text(index), line, this.input.targets[index]!.pinned!);
    }
  }

  take(): readonly ColumnPart[] {
    return this.parts;
  }

  #look(index: number, row: CsvRow, line: number): void {
    const { stats } = this.parts[index]!;
    const at = row.base + index;
    const kind =
      stats.notNumber === null ? classify(row.bytes, row.starts[at]!, row.ends[at]!) : NOT_A_NUMBER;
    if (addPlain(stats, kind)) return;
    addText(stats, kind, row.text(index), line);
    this.#open[index] = isUndecided(stats);
  }
}

/** The types that all cells would fit. */
const sureTypes = (found: Suggestion | null): string[] =>
  found && found.markers.length === 0 && found.strays === null ? found.types : [];

interface Column extends ColumnPart, Decision {
  target: Target;
  suggestion: Suggestion | null;
}

export class CsvTotals implements ColumnTotals {
  protected readonly columns: Column[];

  /** @param place the word for lines: in a sheet, rows */
  constructor(
    protected readonly input: OpenedInput,
    private readonly place = 'line',
  ) {
    this.columns = input.targets.map((target) => ({
      ...{ target, ...emptyPart(target), suggestion: null },
      ...{ type: 'string', reason: '', warning: null },
    }));
  }

  add(parts: readonly unknown[]): void {
    for (const [index, part] of (parts as readonly ColumnPart[]).entries()) {
      const column = this.columns[index]!;
      column.stats = mergeStats(column.stats, part.stats);
      column.outside += part.outside;
      column.currencies = mergeCurrencies(column.currencies, part.currencies);
    }
  }

  inferred(): Inferred[] {
    return this.columns.flatMap((column, index) => {
      const { target, stats } = column;
      const { role, key, pinned } = target;
      if (role !== 'metadata' || stats.cells === 0 || (pinned !== null && pinned !== 'string')) return [];
      const { type, reason } = this.#decisionOf(index, column);
      return [{ key: key!, type, reason, stats, place: this.place }];
    });
  }

  decide(texts?: ReadonlyMap<string, string>): { types: CellType[]; surplus: number } {
    let surplus = 0;
    for (const [index, column] of this.columns.entries()) {
      const { target, stats, outside } = column;
      Object.assign(column, this.#decisionOf(index, column, texts?.get(target.key!)));
      // Sizes were counted with quotes around every inferred cell; numbers have none.
      if (isInferred(target) && column.type !== 'string') surplus += 2 * (stats.cells - outside);
    }
    this.#suggest(null);
    const styles = this.columns.flatMap(({ suggestion: found }) =>
      found?.types.length === 1 && isStyled(found.types[0]!) ? [found.types[0]!] : [],
    );
    // The style of one column's numbers decides for the others, unless there are two styles.
    const [styled] = styles;
    if (styled !== undefined && styles.every((style) => isSameStyle(style, styled))) this.#suggest(styled);
    return { types: this.columns.map(({ type }) => type), surplus };
  }

  /** @param text why the key is text because of other inputs */
  #decisionOf(index: number, { target: { pinned, because }, stats }: Column, text?: string): Decision {
    if (pinned) return { type: pinned, reason: because!, warning: null };
    const { decidedTypes } = this.input;
    const found: Decision = this.isBoolean(index, stats.cells)
      ? { type: 'boolean', reason: `all ${stats.cells} values are booleans`, warning: null }
      : decide(stats, this.place);
    const own = decidedBefore(found, stats, decidedTypes?.[index]);
    const isOwn = own.type === 'string' || text === undefined || decidedTypes !== undefined;
    return isOwn ? own : { type: 'string', reason: text, warning: null };
  }

  /** Whether all cells of a column are booleans. In a CSV, cells are text, even if they look like booleans. */
  protected isBoolean(_index: number, _cells: number): boolean {
    return false;
  }

  #suggest(styled: string | null): void {
    for (const [index, column] of this.columns.entries()) {
      const { target, type, stats } = column;
      if (!isInferred(target) || !stats.notNumber || type !== 'string') continue;
      column.suggestion = suggestionOf(stats.fits, this.plainOf(index, stats), styled);
    }
  }

  /** The cells of a text column that another type must read, too: plain numbers. */
  protected plainOf(_index: number, { whole, decimal }: ColumnStats): { whole: number; decimal: number } {
    return { whole, decimal };
  }

  plans(): ColumnPlan[] {
    return this.columns.map(({ target, stats, type, reason, suggestion }) => {
      const { column, role, key, because } = target;
      const { empty } = stats;
      if (role === 'ignored') return { column, key, type: null, reason: because!, empty };
      if (role === 'spread') return { column, key, type: 'object', reason: because!, empty };
      const types = sureTypes(suggestion);
      const suggested = types.length > 0 ? { suggested: types } : {};
      return { column, key, ...sentType(type), ...suggested, reason, empty };
    });
  }

  types(): Scan['types'] {
    return this.columns.flatMap(({ target: { role, key }, type }): Scan['types'] =>
      role === 'metadata' ? [[key!, sentAs(type)]] : [],
    );
  }

  warnings(): Warning[] {
    const sure = this.columns
      .map(({ target: { column }, suggestion }) => ({ column, types: sureTypes(suggestion) }))
      .filter(({ types }) => types.length > 0);
    return [
      ...this.columns.flatMap((column, index) => this.#columnWarnings(column, index)),
      ...looksTyped(this.input.path, sure),
      ...this.columns.flatMap((column) => this.#nearly(column)),
      ...this.#points(),
    ];
  }

  #columnWarnings({ target, stats: { cells }, currencies, warning }: Column, index: number): Warning[] {
    const { column } = target;
    if (currencies) return currencyWarnings(column, currencies, this.place);
    if (column === '' && cells > 0) {
      const message = `column ${index + 1} has no name and is left out, with ${count(cells, 'value')} in it`;
      return [{ message, problem: { code: 'nameless_column' } }];
    }
    return warning && isInferred(target)
      ? [{ message: `${column}: ${warning}`, problem: { code: 'digits_lost', column } }]
      : [];
  }

  /** For a column that would have a type if a few cells were different. */
  #nearly({ target: { column }, suggestion: found }: Column): Warning[] {
    if (!found || sureTypes(found).length > 0) return [];
    const { types, strays } = found;
    const markers = found.markers.map(({ text }) => text);
    const [type, other] = types as [string, string?];
    if (strays) {
      if (other !== undefined) return [];
      const { rows, of, first } = strays;
      const message = `${column}: ${grouped(of - rows)} of ${grouped(of)} values are ${typeNamed(type).noun}; ${this.place} ${first.line} ${quoted(first.text)} is not`;
      return [{ message, problem: { code: 'stray_values', column, markers, type, rows } }];
    }
    const shown = found.markers
      .map(({ text, cells }) => `${quoted(text)} (${count(cells, 'cell')})`)
      .join(', ');
    const message = `${column}: only ${shown} ${markers.length === 1 ? 'keeps' : 'keep'} it from being ${typeNamed(type).noun}`;
    return [{ message, problem: { code: 'null_markers', column, markers, types } }];
  }

  /** Numbers such as 1.188, where another column is written as 1.234,56: their point may be for thousands. */
  #points(): Warning[] {
    const types = this.columns.flatMap(({ type, suggestion }) => [type, ...(suggestion?.types ?? [])]);
    if (!types.some((type) => isStyled(type) && isSameStyle(type, POINT_FOR_THOUSANDS))) return [];
    return this.columns.flatMap(({ target, type, stats: { notInteger: first } }): Warning[] => {
      const isNumber = isInferred(target) && type === 'number';
      if (!isNumber || first === null || !/^-?\d{1,3}\.\d{3}$/.test(first.text)) return [];
      const { column } = target;
      const message = `${column}: ${this.place} ${first.line} ${quoted(first.text)} is sent as ${Number(first.text)}, but other columns have a point for thousands`;
      return [{ message, problem: { code: 'point_for_thousands', column, type: POINT_FOR_THOUSANDS } }];
    });
  }
}
