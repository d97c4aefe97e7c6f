/** What the columns of a CSV, or the fields of JSON items, turned out to be over all batches. */
import type { ColumnPlan, ColumnType } from '../../model.js';
import { describeField, emptyFieldStats, MAX_FIELDS, mergeFieldStats } from '../json/field-stats.js';
import type { CsvColumnPart, FieldPart, ScanPart } from '../parts.js';
import type { OpenedInput, Scan } from '../types.js';
import { type Decision, decide, decidedBefore, emptyStats, mergeStats } from './stats.js';
import { checkRules, type Target, targetsOf } from './targets.js';

export interface ColumnsTotal {
  add(columns: ScanPart['columns']): void;
  /** Decides the types, once all parts are in. @throws UsageError for a rule that names an unknown field */
  decide(): { types: ColumnType[] /** Bytes counted too many. */; surplus: number };
  /** After `decide`. `rows` is the number of rows that were read. */
  plans(rows: number): ColumnPlan[];
  /** After `decide`: type of each metadata key. */
  types(): Scan['types'];
  /** After `decide`: sentences that begin with a column. */
  warnings(): string[];
}

export function columnsTotal(input: OpenedInput): ColumnsTotal {
  return input.delimiter === null ? new FieldsTotal(input) : new CsvTotal(input);
}

/** What the numbers of records are called: lines of the file, but items of an array. */
export const placeOf = ({ format }: OpenedInput): string => (format === 'json' ? 'item' : 'line');

class CsvTotal implements ColumnsTotal {
  readonly #targets: Target[];
  readonly #before: OpenedInput['decidedTypes'];
  #columns: CsvColumnPart[];
  #decisions: Decision[] = [];

  constructor(input: OpenedInput) {
    this.#targets = targetsOf(input);
    this.#before = input.decidedTypes;
    this.#columns = this.#targets.map(() => ({ stats: emptyStats(), outside: 0 }));
  }

  add(columns: ScanPart['columns']): void {
    const more = columns as CsvColumnPart[];
    this.#columns = this.#columns.map(({ stats, outside }, index) => ({
      stats: mergeStats(stats, more[index]!.stats),
      outside: outside + more[index]!.outside,
    }));
  }

  decide(): { types: ColumnType[]; surplus: number } {
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
      return { column, key, type, reason, empty };
    });
  }

  types(): Scan['types'] {
    return this.#targets.flatMap(({ role, key }, index): Scan['types'] =>
      role === 'metadata' ? [[key!, this.#decisions[index]!.type]] : [],
    );
  }

  warnings(): string[] {
    return this.#decisions.flatMap(({ warning }, index) => {
      const { column } = this.#targets[index]!;
      return warning && this.#inferred(index)
        ? [`${column}: ${warning}; --type ${column}=string keeps them`]
        : [];
    });
  }

  #inferred(index: number): boolean {
    const { role, pinned } = this.#targets[index]!;
    return role === 'metadata' && pinned === null;
  }
}

class FieldsTotal implements ColumnsTotal {
  readonly #input: OpenedInput;
  readonly #fields = new Map<string, FieldPart>();

  constructor(input: OpenedInput) {
    this.#input = input;
  }

  add(columns: ScanPart['columns']): void {
    for (const part of columns as FieldPart[]) {
      const known = this.#fields.get(part.column);
      if (!known && this.#fields.size >= MAX_FIELDS) continue;
      const stats = mergeFieldStats(known?.stats ?? emptyFieldStats(), part.stats);
      this.#fields.set(part.column, { ...part, stats });
    }
  }

  decide(): { types: ColumnType[]; surplus: number } {
    if (this.#fields.size > 0) checkRules(this.#input, [...this.#fields.keys()]);
    return { types: [], surplus: 0 };
  }

  plans(rows: number): ColumnPlan[] {
    return [...this.#fields.values()].map(({ column, key, role, because, stats }) => {
      const empty = rows - Object.values(stats.counts).reduce((sum, count) => sum + count, 0);
      if (role === 'ignored') return { column, key, type: null, reason: because!, empty };
      if (role === 'id') return { column, key, type: 'string', reason: because!, empty };
      return { column, key, ...describeField(stats, placeOf(this.#input)), empty };
    });
  }

  types(): Scan['types'] {
    return [...this.#fields.values()].flatMap(({ role, key, stats }): Scan['types'] =>
      role === 'metadata' ? [[key!, describeField(stats, placeOf(this.#input)).type]] : [],
    );
  }

  warnings(): string[] {
    return this.#fields.size < MAX_FIELDS
      ? []
      : [`more than ${MAX_FIELDS} different fields; the plan shows the first`];
  }
}
