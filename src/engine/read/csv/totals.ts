/** What the columns of a CSV turned out to be over all batches. */
import type { CellType, ColumnPlan } from '../../model.js';
import type { Warning } from '../../problems.js';
import { sentAs, sentType } from '../conversion/converter.js';
import type { ColumnTotals } from '../format.js';
import { type Decision, decide, decidedBefore, emptyStats, mergeStats } from '../mapping/stats.js';
import type { Target } from '../mapping/targets.js';
import type { OpenedInput, Scan } from '../types.js';
import type { ColumnPart } from './scan.js';

export class CsvTotals implements ColumnTotals {
  readonly #targets: Target[];
  readonly #before: OpenedInput['decidedTypes'];
  #columns: ColumnPart[];
  #decisions: (Omit<Decision, 'type'> & { type: CellType })[] = [];

  constructor(input: OpenedInput) {
    this.#targets = input.targets;
    this.#before = input.decidedTypes;
    this.#columns = this.#targets.map(() => ({ stats: emptyStats(), outside: 0 }));
  }

  add(columns: readonly unknown[]): void {
    const more = columns as readonly ColumnPart[];
    this.#columns = this.#columns.map(({ stats, outside }, index) => ({
      stats: mergeStats(stats, more[index]!.stats),
      outside: outside + more[index]!.outside,
    }));
  }

  decide(): { types: CellType[]; surplus: number } {
    this.#decisions = this.#targets.map(({ pinned, because }, index) => {
      if (pinned) return { type: pinned, reason: because!, warning: null };
      const { stats } = this.#columns[index]!;
      return decidedBefore(decide(stats), stats, this.#before?.[index]);
    });
    let surplus = 0;
    this.#decisions.forEach(({ type }, index) => {
      const { stats, outside } = this.#columns[index]!;
      // Sizes were counted with quotes around every inferred cell; numbers have none.
      if (this.#inferred(index) && type !== 'string') surplus += 2 * (stats.cells - outside);
    });
    return { types: this.#decisions.map(({ type }) => type), surplus };
  }

  plans(): ColumnPlan[] {
    return this.#targets.map(({ column, role, key, because }, index) => {
      const { type, reason } = this.#decisions[index]!;
      const { empty } = this.#columns[index]!.stats;
      if (role === 'ignored') return { column, key, type: null, reason: because!, empty };
      if (role === 'spread') return { column, key, type: 'object', reason: because!, empty };
      return { column, key, ...sentType(type), reason, empty };
    });
  }

  types(): Scan['types'] {
    return this.#targets.flatMap(({ role, key }, index): Scan['types'] =>
      role === 'metadata' ? [[key!, sentAs(this.#decisions[index]!.type)]] : [],
    );
  }

  warnings(): Warning[] {
    return this.#decisions.flatMap(({ warning }, index) => {
      const { column } = this.#targets[index]!;
      return warning && this.#inferred(index)
        ? [{ message: `${column}: ${warning}`, problem: { code: 'digits_lost', column } }]
        : [];
    });
  }

  #inferred(index: number): boolean {
    const { role, pinned } = this.#targets[index]!;
    return role === 'metadata' && pinned === null;
  }
}
