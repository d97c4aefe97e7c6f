/** What the values of columns look like: how many there are, the first of them, and whether they repeat. */

const SHOWN_VALUES = 3;

/** What the values of a column look like. */
export interface Values {
  column: string;
  /** Number of rows with a value. */
  filled: number;
  /** The first different values, at most three. */
  values: string[];
}

/** At most three digits, and three more behind a point. */
const THOUSANDS = /^-?\d{1,3}(?:\.\d{3})?$/;

interface Count {
  filled: number;
  first: string[];
  /** The first value such as 3.456; null if a value is written in another way. Absent before the first. */
  thousands?: string | null;
  /** All values; null for a column that has no name of an identifier, once a value repeats. */
  seen: Set<string> | null;
}

/** Counts the values of all columns. */
export class Counts {
  readonly #columns: Count[];
  readonly #markers: Map<string, number>;

  /** @param ids columns that may be identifiers although values repeat */
  constructor(
    private readonly names: readonly string[],
    private readonly ids: ReadonlySet<string>,
    markers: readonly string[],
  ) {
    this.#columns = names.map(() => ({ filled: 0, first: [], seen: new Set() }));
    this.#markers = new Map(markers.map((marker) => [marker, 0]));
  }

  add(texts: readonly (string | null)[]): void {
    for (const [at, text] of texts.entries()) {
      if (text === null) continue;
      const column = this.#columns[at]!;
      column.filled++;
      if (column.seen?.has(text) && !this.ids.has(this.names[at]!)) column.seen = null;
      column.seen?.add(text);
      const marked = this.#markers.get(text);
      if (marked !== undefined) {
        this.#markers.set(text, marked + 1);
        continue;
      }
      if (!THOUSANDS.test(text)) column.thousands = null;
      else if (column.thousands === undefined && text.includes('.')) column.thousands = text;
      if (column.first.length < SHOWN_VALUES && !column.first.includes(text)) column.first.push(text);
    }
  }

  of(column: string): Values {
    const { filled, first } = this.#columns[this.names.indexOf(column)]!;
    return { column, filled, values: first };
  }

  values(column: string): string[] {
    return this.of(column).values;
  }

  /** Number of different values of a column that may be the identifier. */
  different(column: string): number {
    return this.#columns[this.names.indexOf(column)]!.seen!.size;
  }

  /** Whether a column has values, and none repeats. */
  isUnique(column: string): boolean {
    const { filled, seen } = this.#columns[this.names.indexOf(column)]!;
    return filled > 0 && seen?.size === filled;
  }

  /** A value such as 3.456, if all values have at most three digits before and three after a point. */
  thousands(column: string): string | null {
    return this.#columns[this.names.indexOf(column)]!.thousands ?? null;
  }

  marked(text: string): number {
    return this.#markers.get(text) ?? 0;
  }
}
