/** Dates without a pattern: the one pattern that every cell fits, found before the rows are read (contract §3 "Types"). */
import { InputError } from '../../errors.js';
import type { CellType, Conversion, RejectedRow } from '../../model.js';
import type { MappingRules } from '../../options/mapping-rules.js';
import { type Evidence, quoted } from '../wording.js';
import { type DateKind, patternsOf, readsAs } from './date-patterns.js';
import { dateText } from './date-types.js';
import { utc } from './dates.js';
import { partsOf } from './types.js';

/** A date column whose rule has no pattern. */
interface Undecided {
  column: string;
  kind: DateKind;
  zone: string | null;
}

/** @param columns of the input; null if they are not known yet */
export const undecided = (types: MappingRules['types'], columns: readonly string[] | null): Undecided[] =>
  types.flatMap(([column, type]): Undecided[] => {
    const { name, form, zone } = partsOf(type);
    if ((name !== 'date' && name !== 'datetime') || form !== null) return [];
    if (columns !== null && !columns.includes(column)) return [];
    return [{ column, kind: name, zone }];
  });

/** Narrows down the patterns that the values of a column may have. */
export class PatternFinder {
  #candidates: string[] | null = null;
  /** By two patterns: where their readings differ. */
  readonly #differing = new Map<string, Evidence>();

  constructor(
    private readonly path: string,
    private readonly target: Undecided,
  ) {}

  /** Whether further values cannot change the result, unless they do not fit. */
  get decided(): boolean {
    return this.#candidates?.length === 1;
  }

  /** @throws InputError for a value that fits no pattern of the earlier values */
  add(seen: Evidence): void {
    const { kind, column, zone } = this.target;
    if (this.#candidates === null) {
      this.#candidates = patternsOf(seen.text, kind);
      if (this.#candidates.length === 0) {
        throw new InputError(
          `${column}: ${quoted(seen.text)} is not a ${kind} that can be read without its pattern`,
          {
            file: this.path,
            line: seen.line,
            hint: 'name the pattern of its values, such as dd.MM.yyyy',
            problem: { code: 'no_pattern', column, kind, zone, ...(kind === 'date' && timed(seen.text)) },
          },
        );
      }
      if (kind === 'datetime' && zone === null && hasNoOffset(seen.text, this.#candidates)) {
        throw zoneMissing(this.path, seen, column, this.#candidates);
      }
    }
    const left = this.#candidates.filter((pattern) => readsAs(seen.text, kind, pattern));
    if (left.length === 0) throw strayDate(this.path, seen, column, this.#type(this.#candidates[0]!));
    this.#candidates = left;
    for (const pair of pairsOf(left)) {
      if (!this.#differing.has(pair.join('\n')) && !isSame(seen.text, kind, pair)) {
        this.#differing.set(pair.join('\n'), seen);
      }
    }
  }

  /** The type with its pattern; null if there are no values. @throws InputError if two patterns fit */
  type(): Conversion | null {
    if (this.#candidates === null) return null;
    const { column, kind } = this.target;
    for (const pair of pairsOf(this.#candidates)) {
      const seen = this.#differing.get(pair.join('\n'));
      if (!seen) continue;
      const readings = pair.map((pattern) => ({
        type: this.#type(pattern),
        reading: dateText(readsAs(seen.text, kind, pattern)!),
      }));
      throw new InputError(
        `${column}: ${quoted(seen.text)} may be ${readings.map((r) => r.reading).join(' or ')}, and no other value shows which`,
        {
          file: this.path,
          line: seen.line,
          hint: 'name the pattern',
          problem: { code: 'two_patterns', column, readings },
        },
      );
    }
    return this.#type(this.#candidates[0]!);
  }

  #type(pattern: string): Conversion {
    const { kind, zone } = this.target;
    return `${kind}:${pattern}${zone === null ? '' : `@${zone}`}`;
  }
}

/** The pattern of a value that would be a date but for its time. */
function timed(text: string): { timed?: string } {
  const [, sign, seconds] = /^\d{4}-\d\d-\d\d([ T])\d\d:\d\d(:\d\d)?$/.exec(text) ?? [];
  if (sign === undefined) return {};
  return { timed: `yyyy-MM-dd${sign === ' ' ? ' ' : "'T'"}HH:mm${seconds === undefined ? '' : ':ss'}` };
}

const hasNoOffset = (text: string, patterns: readonly string[]): boolean =>
  patterns.every((pattern) => readsAs(text, 'datetime', pattern)?.offset === null);

function zoneMissing(
  file: string,
  { line, text }: Evidence,
  column: string,
  patterns: readonly string[],
): InputError {
  const type = patterns.length === 1 ? `datetime:${patterns[0]}` : 'datetime';
  return new InputError(`${column}: ${quoted(text)} does not say in which zone it is`, {
    file,
    line,
    hint: 'name the zone of its times, such as Europe/Berlin',
    problem: { code: 'zone_missing', column, type },
  });
}

/** The error for a value that does not fit the pattern that was found. */
export function strayDate(
  file: string,
  { line, text }: Evidence,
  column: string,
  type: CellType,
): InputError {
  return new InputError(`${column}: ${quoted(text)} does not fit ${type}, as the values before it do`, {
    file,
    line,
    hint: 'name the pattern, and rows that do not fit it are rejected',
    problem: { code: 'stray_date', column, type },
  });
}

type Pair = readonly [string, string];

const pairsOf = (patterns: readonly string[]): Pair[] =>
  patterns.flatMap((one, at) => patterns.slice(at + 1).map((other): Pair => [one, other]));

function isSame(text: string, kind: DateKind, [one, other]: Pair): boolean {
  const [a, b] = [readsAs(text, kind, one)!, readsAs(text, kind, other)!];
  return utc(a) === utc(b) && a.fraction === b.fraction;
}

/**
 * Reads the texts of some columns from rows as they are in the file; null for an empty one.
 * @param others whether JSON values of other types are read, too
 */
export function textsIn(
  columns: readonly string[],
  wanted: readonly string[] = columns,
  others = false,
): (original: RejectedRow['original']) => (string | null)[] {
  const places = wanted.map((column) => columns.indexOf(column));
  return (original) => {
    if ('cells' in original) return places.map((place) => original.cells[place] || null);
    let item: unknown = original.item;
    try {
      if (typeof item === 'string') item = JSON.parse(item);
    } catch {
      return wanted.map(() => null);
    }
    const { metadata, ...flat } = (item ?? {}) as Record<string, unknown>;
    const nested = (metadata ?? {}) as Record<string, unknown>;
    return wanted.map((column) => {
      const value = Object.hasOwn(flat, column) ? flat[column] : nested[column];
      if (typeof value === 'string' && value !== '') return value;
      return others && value !== null && value !== undefined && value !== '' ? JSON.stringify(value) : null;
    });
  };
}

/** The text of one column of a row. */
export const textOf = (
  original: RejectedRow['original'],
  column: string,
  columns: readonly string[],
): string | null => textsIn(columns, [column])(original)[0]!;
