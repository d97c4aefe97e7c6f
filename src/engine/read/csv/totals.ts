/** Totals of the columns of a CSV over all batches. */
import type { CellType, ColumnPlan } from '../../model.js';
import type { Warning } from '../../problems.js';
import { count, grouped } from '../../util/numbers.js';
import { currencyWarnings, mergeCurrencies } from '../conversion/currency.js';
import { looksTyped, NO_GUESS, type Suggestion, suggestionOf } from '../conversion/guess.js';
import {
  isSameStyle,
  isStyled,
  POINT_FOR_THOUSANDS,
  sentAs,
  sentType,
  typeNamed,
} from '../conversion/types.js';
import type { ColumnTotals } from '../format.js';
import { type Decision, decide, decidedBefore, emptyStats, mergeStats } from '../mapping/stats.js';
import { isInferred, type Target } from '../mapping/targets.js';
import type { OpenedInput, Scan } from '../types.js';
import { quoted } from '../wording.js';
import type { ColumnPart } from './counter.js';

/** Whether all cells would fit. */
const isSure = ({ markers, strays }: Suggestion): boolean => markers.length === 0 && strays === null;

export class CsvTotals implements ColumnTotals {
  readonly #path: string;
  readonly #targets: Target[];
  readonly #before: OpenedInput['decidedTypes'];
  #columns: ColumnPart[];
  #decisions: (Omit<Decision, 'type'> & { type: CellType })[] = [];
  /** By column; null if there is none. */
  #suggestions: (Suggestion | null)[] = [];

  /** @param place the word for lines: in a sheet, rows */
  constructor(
    input: OpenedInput,
    private readonly place = 'line',
  ) {
    this.#path = input.path;
    this.#targets = input.targets;
    this.#before = input.decidedTypes;
    this.#columns = this.#targets.map(({ guess }) => ({
      stats: emptyStats(guess),
      outside: 0,
      currencies: null,
    }));
  }

  add(columns: readonly unknown[]): void {
    const more = columns as readonly ColumnPart[];
    this.#columns = this.#columns.map(({ stats, outside, currencies }, index) => ({
      stats: mergeStats(stats, more[index]!.stats),
      outside: outside + more[index]!.outside,
      currencies: mergeCurrencies(currencies, more[index]!.currencies),
    }));
  }

  decide(): { types: CellType[]; surplus: number } {
    this.#decisions = this.#targets.map(({ pinned, because }, index) => {
      if (pinned) return { type: pinned, reason: because!, warning: null };
      const { stats } = this.#columns[index]!;
      if (this.isBoolean(index, stats.cells)) {
        return { type: 'boolean', reason: `all ${stats.cells} values are booleans`, warning: null };
      }
      return decidedBefore(decide(stats, this.place), stats, this.#before?.[index]);
    });
    let surplus = 0;
    this.#decisions.forEach(({ type }, index) => {
      const { stats, outside } = this.#columns[index]!;
      // Sizes were counted with quotes around every inferred cell; numbers have none.
      if (this.#inferred(index) && type !== 'string') surplus += 2 * (stats.cells - outside);
    });
    this.#suggestions = this.#suggest();
    return { types: this.#decisions.map(({ type }) => type), surplus };
  }

  /** Whether all cells of a column are booleans. In a CSV, cells are text, even if they look like booleans. */
  protected isBoolean(_index: number, _cells: number): boolean {
    return false;
  }

  plans(): ColumnPlan[] {
    return this.#targets.map(({ column, role, key, because }, index) => {
      const { type, reason } = this.#decisions[index]!;
      const { empty } = this.#columns[index]!.stats;
      if (role === 'ignored') return { column, key, type: null, reason: because!, empty };
      if (role === 'spread') return { column, key, type: 'object', reason: because!, empty };
      const found = this.#suggestions[index];
      const suggested = found && isSure(found) ? { suggested: found.types } : {};
      return { column, key, ...sentType(type), ...suggested, reason, empty };
    });
  }

  #suggest(): (Suggestion | null)[] {
    const suggest = (styled: string | null) =>
      this.#columns.map(({ stats }, index) =>
        this.#inferred(index) && stats.notNumber && this.#decisions[index]!.type === 'string'
          ? suggestionOf(this.#targets[index]!.guess ?? NO_GUESS, stats.fits, stats.plain, styled)
          : null,
      );
    const alone = suggest(null);
    const styles = alone.flatMap((found) =>
      found?.types.length === 1 && isStyled(found.types[0]!) ? [found.types[0]!] : [],
    );
    // The style of one column's numbers decides for the others, unless there are two styles.
    const [styled] = styles;
    return styled !== undefined && styles.every((style) => isSameStyle(style, styled))
      ? suggest(styled)
      : alone;
  }

  types(): Scan['types'] {
    return this.#targets.flatMap(({ role, key }, index): Scan['types'] =>
      role === 'metadata' ? [[key!, sentAs(this.#decisions[index]!.type)]] : [],
    );
  }

  warnings(): Warning[] {
    return [...this.#columnWarnings(), ...this.#suggestedWarnings()];
  }

  /** Text columns that another type would fit, or would if a few cells were different. */
  #suggestedWarnings(): Warning[] {
    const columns = this.#targets.flatMap(({ column }, index) => {
      const found = this.#suggestions[index];
      return found && isSure(found) ? [{ column, types: found.types }] : [];
    });
    return [...looksTyped(this.#path, columns), ...this.#nearly(), ...this.#points()];
  }

  /** Numbers such as 1.188, where another column is written as 1.234,56: their point may be for thousands. */
  #points(): Warning[] {
    const types = [
      ...this.#decisions.map(({ type }) => type),
      ...this.#suggestions.flatMap((found) => found?.types ?? []),
    ];
    if (!types.some((type) => isStyled(type) && isSameStyle(type, POINT_FOR_THOUSANDS))) return [];
    return this.#targets.flatMap(({ column }, index): Warning[] => {
      const first = this.#columns[index]!.stats.notInteger;
      const isNumber = this.#inferred(index) && this.#decisions[index]!.type === 'number';
      if (!isNumber || first === null || !/^-?\d{1,3}\.\d{3}$/.test(first.text)) return [];
      const message = `${column}: ${this.place} ${first.line} ${quoted(first.text)} is sent as ${Number(first.text)}, but other columns have a point for thousands`;
      return [{ message, problem: { code: 'point_for_thousands', column, type: POINT_FOR_THOUSANDS } }];
    });
  }

  /** Columns that would have a type if a few cells were different. */
  #nearly(): Warning[] {
    return this.#suggestions.flatMap((found, index): Warning[] => {
      if (!found) return [];
      const { column } = this.#targets[index]!;
      const { types, strays } = found;
      const markers = found.markers.map(({ text }) => text);
      const [type, other] = types as [string, string?];
      if (strays) {
        if (other !== undefined) return [];
        const { rows, of, first } = strays;
        const message = `${column}: ${grouped(of - rows)} of ${grouped(of)} values are ${typeNamed(type).noun}; ${this.place} ${first.line} ${quoted(first.text)} is not`;
        return [{ message, problem: { code: 'stray_values', column, markers, type, rows } }];
      }
      if (markers.length === 0) return [];
      const shown = found.markers
        .map(({ text, cells }) => `${quoted(text)} (${count(cells, 'cell')})`)
        .join(', ');
      const message = `${column}: only ${shown} ${markers.length === 1 ? 'keeps' : 'keep'} it from being ${typeNamed(type).noun}`;
      return [{ message, problem: { code: 'null_markers', column, markers, type } }];
    });
  }

  #columnWarnings(): Warning[] {
    return this.#decisions.flatMap(({ warning }, index): Warning[] => {
      const { column } = this.#targets[index]!;
      const { stats, currencies } = this.#columns[index]!;
      const { cells } = stats;
      if (currencies) return currencyWarnings(column, currencies, this.place);
      if (column === '' && cells > 0) {
        const message = `column ${index + 1} has no name and is left out, with ${count(cells, 'value')} in it`;
        return [{ message, problem: { code: 'nameless_column' } }];
      }
      return warning && this.#inferred(index)
        ? [{ message: `${column}: ${warning}`, problem: { code: 'digits_lost', column } }]
        : [];
    });
  }

  #inferred(index: number): boolean {
    return isInferred(this.#targets[index]!);
  }
}
