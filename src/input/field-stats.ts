/** What a field of JSON items holds over the whole input. JSON values keep their types; this only reports them. */
import type { Evidence } from './column-stats.js';

export type JsonType = 'string' | 'integer' | 'number' | 'boolean' | 'null' | 'object';

export interface FieldStats {
  /** How often each type was met. */
  counts: Record<JsonType, number>;
  /** The first value of another type than the first one, and that value's type. */
  first: JsonType | null;
  other: (Evidence & { type: JsonType }) | null;
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
  stats.counts[type]++;
  if (type === 'null') return;
  if (stats.first === null) stats.first = type;
  else if (stats.other === null && kindOf(type) !== kindOf(stats.first)) {
    stats.other = { line, text: JSON.stringify(value), type };
  }
}

/** `a` stands before `b`. */
export function mergeFieldStats(a: FieldStats, b: FieldStats): FieldStats {
  const counts = { ...a.counts };
  for (const type of Object.keys(counts) as JsonType[]) counts[type] += b.counts[type];
  const first = a.first ?? b.first;
  return { counts, first, other: a.other ?? b.other };
}
