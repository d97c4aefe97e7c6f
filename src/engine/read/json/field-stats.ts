/** What a field of JSON items holds over the whole input. JSON values keep their types; this only reports them. */
import type { ColumnPlan } from '../../model.js';
import { shown } from '../mapping/quoted.js';
import type { Evidence } from '../mapping/stats.js';

/** Fields that are reported; items may have any number of them, and memory must not grow with the file. */
export const MAX_FIELDS = 10_000;

export type JsonType = 'string' | 'integer' | 'number' | 'boolean' | 'null' | 'object';

/** A value, and where it stands. */
type Seen = Evidence & { type: JsonType };

export interface FieldStats {
  /** How often each type was met. */
  counts: Record<JsonType, number>;
  /** The first value that is not null. */
  first: Seen | null;
  /** The first value of another type than that. */
  other: Seen | null;
}

export const emptyFieldStats = (): FieldStats => ({
  counts: { string: 0, integer: 0, number: 0, boolean: 0, null: 0, object: 0 },
  first: null,
  other: null,
});

export function jsonTypeOf(value: unknown): JsonType {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'number';
    default:
      return value === null ? 'null' : 'object';
  }
}

/** An integer among decimals is no other type. */
const kindOf = (type: JsonType): JsonType => (type === 'integer' ? 'number' : type);

export function addValue(stats: FieldStats, value: unknown, line: number): void {
  const type = jsonTypeOf(value);
  if (countType(stats, type)) note(stats, type, value, line);
}

/** Counts a value. True when it is one to be noted: the first, or the first of another type. */
export function countType(stats: FieldStats, type: JsonType): boolean {
  stats.counts[type]++;
  if (type === 'null' || stats.other !== null) return false;
  return stats.first === null || kindOf(type) !== kindOf(stats.first.type);
}

/** Notes a value for which `countType` asked. */
export function note(stats: FieldStats, type: JsonType, value: unknown, line: number): void {
  const seen = { line, text: shown(value), type };
  if (stats.first === null) stats.first = seen;
  else stats.other = seen;
}

/** `a` stands before `b`. */
export function mergeFieldStats(a: FieldStats, b: FieldStats): FieldStats {
  const counts = { ...a.counts };
  for (const type of Object.keys(counts) as JsonType[]) counts[type] += b.counts[type];
  const first = a.first ?? b.first;
  const differs = (seen: Seen | null): boolean => seen !== null && kindOf(seen.type) !== kindOf(first!.type);
  return { counts, first, other: [a.other, b.first, b.other].find(differs) ?? null };
}

const NOUNS: Record<JsonType, string> = {
  string: 'text',
  integer: 'an integer',
  number: 'a number',
  boolean: 'a boolean',
  null: 'null',
  object: 'an object or array',
};

/** The field's type and why, for the plan. `place` is what lines are called: in an array they are items. */
export function describeField(stats: FieldStats, place: string): Pick<ColumnPlan, 'type' | 'reason'> {
  const { counts, first, other } = stats;
  if (first === null) return { type: null, reason: 'only null' };
  if (other) {
    const reason = `${place} ${other.line}: ${other.text} is ${NOUNS[other.type]}, others are ${NOUNS[first.type]}`;
    return { type: 'mixed', reason };
  }
  const type = first.type === 'integer' && counts.number > 0 ? 'number' : first.type;
  return { type: type === 'null' ? null : type, reason: 'the type of its JSON values' };
}
