/** What the fields of items hold. JSON values keep their types; the plan reports them. */
import type { CellType, ColumnPlan } from '../../model.js';
import type { Warning } from '../../problems.js';
import {
  addCurrency,
  type Currencies,
  currenciesOf,
  currencyWarnings,
  mergeCurrencies,
} from '../conversion/stats.js';
import { sentType } from '../conversion/types.js';
import type { ColumnCounter, ColumnTotals } from '../format.js';
import type { Target } from '../mapping/targets.js';
import type { OpenedInput, Scan } from '../types.js';
import { type Evidence, shown } from '../wording.js';
import type { Members } from './members.js';
import { JSON_TYPES } from './text.js';

/** The most fields to know. Items may have any number of different ones, and memory must not grow with the file. */
export const MAX_FIELDS = 10_000;

/** What the values of items are counted in, accepted or not. */
export interface FieldSink {
  /** Adds a value with its target, and the item's line. */
  add(target: Target, value: Members, line: number): void;
  /** Of the current batch; null for fields that are not counted. */
  statsOf(target: Target): FieldStats | null;
}

const [TEXT, INTEGER, NUMBER, NULL] = [0, 1, 2, 4];

/** A value, its line, and its type number. */
type Seen = Evidence & { type: number };

export interface FieldStats {
  /** How many values have each type, by type number. */
  counts: number[];
  /** The first value that is not null. */
  first: Seen | null;
  /** The first value of another type than that. */
  other: Seen | null;
}

export const emptyFieldStats = (): FieldStats => ({
  counts: [0, 0, 0, 0, 0, 0],
  first: null,
  other: null,
});

/** Integers and decimals do not count as different types. */
const kindOf = (type: number): number => (type === INTEGER ? NUMBER : type);

/** Whether more values of a type only count. */
export const isSeen = ({ first, other }: FieldStats, type: number): boolean =>
  other !== null || (first !== null && kindOf(type) === kindOf(first.type));

function addValue(stats: FieldStats, value: Members, line: number): void {
  const { type } = value;
  stats.counts[type]!++;
  if (type === NULL || isSeen(stats, type)) return;
  const seen = { line, text: shown(value.read()), type };
  if (stats.first === null) stats.first = seen;
  else stats.other = seen;
}

/** `a` comes before `b`. */
function mergeFieldStats(a: FieldStats, b: FieldStats): FieldStats {
  const counts = a.counts.map((count, type) => count + b.counts[type]!);
  const first = a.first ?? b.first;
  const differs = (seen: Seen | null): boolean => seen !== null && kindOf(seen.type) !== kindOf(first!.type);
  return { counts, first, other: [a.other, b.first, b.other].find(differs) ?? null };
}

const NOUNS = ['text', 'an integer', 'a number', 'a boolean', 'null', 'an object or array'];

/** The field's type and the reason, for the plan. `place` is the word for a line; in an array it is `item`. */
function describeField(stats: FieldStats, place: string): Pick<ColumnPlan, 'type' | 'reason'> {
  const { counts, first, other } = stats;
  if (first === null) return { type: null, reason: 'only null' };
  if (other) {
    const reason = `${place} ${other.line}: ${other.text} is ${NOUNS[other.type]}, others are ${NOUNS[first.type]}`;
    return { type: 'mixed', reason };
  }
  const type = JSON_TYPES[first.type === INTEGER && counts[NUMBER]! > 0 ? NUMBER : first.type]!;
  return { type: type === 'null' ? null : type, reason: 'the type of its JSON values' };
}

/** The word for record numbers in messages. */
export const placeOf = ({ json }: OpenedInput): string => (json?.items === 'array' ? 'item' : 'line');

/** What the scan of a batch found in one field. */
export interface FieldPart extends Target {
  stats: FieldStats;
  /** Null unless the field is pinned to `money`. */
  currencies: Currencies | null;
}

/** Counts the fields of a batch, as the writer sees them. */
export class FieldCounter implements ColumnCounter, FieldSink {
  #parts = new Map<string, FieldPart>();

  constructor(values: { sink: FieldSink | null }) {
    values.sink = this;
  }

  begin(): void {
    this.#parts = new Map();
  }

  count(): void {}

  take(): FieldPart[] {
    return [...this.#parts.values()];
  }

  add(target: Target, value: Members, line: number): void {
    const part = this.#parts.get(target.column) ?? this.#open(target);
    if (part === null) return;
    addValue(part.stats, value, line);
    if (part.currencies && value.type === TEXT)
      addCurrency(part.currencies, value.read() as string, line, part.pinned!);
  }

  statsOf(target: Target): FieldStats | null {
    return (this.#parts.get(target.column) ?? this.#open(target))?.stats ?? null;
  }

  #open(target: Target): FieldPart | null {
    if (this.#parts.size >= MAX_FIELDS) return null;
    const part = { ...target, stats: emptyFieldStats(), currencies: currenciesOf(target.pinned) };
    this.#parts.set(target.column, part);
    return part;
  }
}

export class JsonTotals implements ColumnTotals {
  readonly #fields = new Map<string, FieldPart>();

  /** @param place the word for a line */
  constructor(private readonly place: string) {}

  add(columns: readonly unknown[]): void {
    for (const part of columns as readonly FieldPart[]) {
      const known = this.#fields.get(part.column);
      if (!known && this.#fields.size >= MAX_FIELDS) continue;
      const stats = mergeFieldStats(known?.stats ?? emptyFieldStats(), part.stats);
      const currencies = mergeCurrencies(known?.currencies ?? null, part.currencies);
      this.#fields.set(part.column, { ...part, stats, currencies });
    }
  }

  decide(): { types: CellType[]; surplus: number } {
    return { types: [], surplus: 0 };
  }

  plans(rows: number): ColumnPlan[] {
    return [...this.#fields.values()].map(({ column, key, role, because, pinned, stats }) => {
      const empty = rows - stats.counts.reduce((sum, count) => sum + count, 0);
      if (role === 'ignored') return { column, key, type: null, reason: because!, empty };
      if (role === 'id') return { column, key, type: 'string', reason: because!, empty };
      return { column, key, ...this.#describe({ pinned, stats }), empty };
    });
  }

  types(): Scan['types'] {
    return [...this.#fields.values()].flatMap(({ role, key, pinned, stats }): Scan['types'] =>
      role === 'metadata' ? [[key!, this.#describe({ pinned, stats }).type]] : [],
    );
  }

  #describe({
    pinned,
    stats,
  }: Pick<FieldPart, 'pinned' | 'stats'>): Pick<ColumnPlan, 'type' | 'conversion' | 'reason'> {
    if (pinned !== null && (stats.counts[TEXT]! > 0 || sentType(pinned).conversion) && pinned !== 'string') {
      return { ...sentType(pinned), reason: 'pinned' };
    }
    return describeField(stats, this.place);
  }

  warnings(): Warning[] {
    const warnings = [...this.#fields.values()].flatMap(({ column, currencies }) =>
      currencies ? currencyWarnings(column, currencies, this.place) : [],
    );
    if (this.#fields.size < MAX_FIELDS) return warnings;
    return [...warnings, { message: `more than ${MAX_FIELDS} different fields; the plan shows the first` }];
  }
}
