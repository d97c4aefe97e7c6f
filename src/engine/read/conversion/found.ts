/** Dates without a pattern: the one pattern that every cell fits, found before the rows are read (contract §3 "Types"). */
import { InputError } from '../../errors.js';
import type { CellType, Conversion } from '../../model.js';
import type { MappingRules } from '../../options/mapping-rules.js';
import type { Problem } from '../../problems.js';
import { type Evidence, quoted } from '../wording.js';
import { type DateKind, dateText, patternsOf, readsAs } from './date-types.js';
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

const pairsOf = (patterns: readonly string[]) =>
  patterns.flatMap((one, at) => patterns.slice(at + 1).map((other) => [one, other] as const));

/** Narrows down the patterns that the values of a column may have. */
export class PatternFinder {
  #candidates: readonly string[] | null = null;
  /** By two patterns: the first value that they read differently. */
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
    const { kind, column } = this.target;
    this.#candidates ??= this.#first(seen);
    const left = this.#candidates.filter((pattern) => readsAs(seen.text, kind, pattern));
    if (left.length === 0) {
      this.#refuseDoubt(`and ${quoted(seen.text)} fits neither`);
      throw strayDate(this.path, seen, column, this.#type(this.#candidates[0]!));
    }
    this.#candidates = left;
    for (const pair of pairsOf(left)) {
      const [a, b] = pair.map((pattern) => utc(readsAs(seen.text, kind, pattern)!));
      if (a !== b && !this.#differing.has(String(pair))) this.#differing.set(String(pair), seen);
    }
  }

  /** The patterns of the first value. @throws InputError if there are none, and for a time in no zone */
  #first(seen: Evidence): string[] {
    const { kind, column, zone } = this.target;
    const found = patternsOf(seen.text, kind);
    if (found.length === 0) {
      throw this.#error(
        `${quoted(seen.text)} is not a ${kind} that can be read without its pattern`,
        seen,
        'name the pattern of its values, such as dd.MM.yyyy',
        { code: 'no_pattern', column, kind, zone, ...(kind === 'date' && timed(seen.text)) },
      );
    }
    if (kind === 'date' || zone !== null) return found;
    if (found.some((pattern) => readsAs(seen.text, kind, pattern)?.offset !== null)) return found;
    const type = found.length === 1 ? `datetime:${found[0]}` : 'datetime';
    throw this.#error(
      `${quoted(seen.text)} does not say in which zone it is`,
      seen,
      'name the zone of its times, such as Europe/Berlin',
      { code: 'zone_missing', column, type },
    );
  }

  /** The type with its pattern; null if there are no values. @throws InputError if two patterns fit */
  type(): Conversion | null {
    if (this.#candidates === null) return null;
    this.#refuseDoubt('and no other value shows which');
    return this.#type(this.#candidates[0]!);
  }

  /** @throws InputError if two patterns that are left read a value differently */
  #refuseDoubt(why: string): void {
    const { column, kind } = this.target;
    const doubtful = pairsOf(this.#candidates!).find((pair) => this.#differing.has(String(pair)));
    if (!doubtful) return;
    const seen = this.#differing.get(String(doubtful))!;
    const readings = doubtful.map((pattern) => ({
      type: this.#type(pattern),
      reading: dateText(readsAs(seen.text, kind, pattern)!),
    }));
    throw this.#error(
      `${quoted(seen.text)} may be ${readings.map(({ reading }) => reading).join(' or ')}, ${why}`,
      seen,
      'name the pattern',
      { code: 'two_patterns', column, readings },
    );
  }

  #type(pattern: string): Conversion {
    const { kind, zone } = this.target;
    return `${kind}:${pattern}${zone === null ? '' : `@${zone}`}`;
  }

  #error(sentence: string, { line }: Evidence, hint: string, problem: Problem): InputError {
    return new InputError(`${this.target.column}: ${sentence}`, { file: this.path, line, hint, problem });
  }
}

/** The pattern of a value that would be a date but for its time. */
function timed(text: string): { timed?: string } {
  const [, sign, seconds] = /^\d{4}-\d\d-\d\d([ T])\d\d:\d\d(:\d\d)?$/.exec(text) ?? [];
  if (sign === undefined) return {};
  return { timed: `yyyy-MM-dd${sign === ' ' ? ' ' : "'T'"}HH:mm${seconds === undefined ? '' : ':ss'}` };
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
