/** What becomes of columns, which rows are taken, and what of that was asked for. */
import type { CellType, EmptyCell, KeyStyle, Kind } from './model.js';

/** What becomes of columns. Pairs, not objects: a column may be called `__proto__`. */
export interface MappingRules {
  /** Sends a column under another key. */
  map: readonly (readonly [column: string, key: string])[];
  /** Sends only these columns as metadata; an empty list means all. */
  include: readonly string[];
  /** Leaves these columns out. */
  exclude: readonly string[];
  /** Adds a key to every item; its value is typed like a CSV cell. */
  set: readonly (readonly [key: string, value: string])[];
  /** Sets the type of a column, such as `integer`, `money`, or `date:MM/dd/yyyy`; `auto` infers it. */
  types: readonly (readonly [column: string, type: CellType | 'auto'])[];
  /** Infers the types of CSV columns. Default true; with false, a column without a type of its own is text. */
  infer: boolean;
  /** What an empty cell of a CSV becomes. Default `omit`. */
  empty: EmptyCell;
  // What came later is absent unless it was asked for: rules are compared with those of earlier runs.
  /** How a column that `map` does not name becomes a key. Default `as-is`. */
  keys?: KeyStyle | undefined;
  /** Texts that count as an empty cell, such as `NULL`. Default: none. */
  nulls?: readonly string[] | undefined;
  /** Removes white space and invisible characters around cells. Default false. */
  trim?: boolean | undefined;
  /** Identifiers to accept although they look like a missing value, such as `NULL`. Default: none. */
  allowIds?: readonly string[] | undefined;
}

/** What holds for the inputs of one kind, in full: it takes the place of the rules for all. */
export interface KindMapping {
  /** Column of the identifier, where an input has it. */
  id?: string | undefined;
  /** Users: column of their company, where an input has it. */
  companyId?: string | undefined;
  rules: MappingRules;
}

/** No mapping: every column under its own name, types inferred, empty cells left out. */
export const NO_RULES: MappingRules = {
  map: [],
  include: [],
  exclude: [],
  set: [],
  types: [],
  infer: true,
  empty: 'omit',
};

/** No values that are set for every item are among it. */
export interface Stated {
  rules: { readonly [K in Kind]: { readonly [R in keyof MappingRules]?: MappingRules[R] | undefined } };
  /** Whether it says what the columns are, so that a rejects file of an unknown run can be read. */
  columns: boolean;
}

/** Takes the rows whose cell or field is this text, or with `!=` is not. */
export type Condition = readonly [column: string, is: '=' | '!=', value: string];
