/** Rules for columns and rows, and which of them the user has set. */
import type { CellType, EmptyCell, KeyStyle, Kind } from '../model.js';

/** Rules for columns. Pairs and not objects, because a column may be called `__proto__`. */
export interface MappingRules {
  /** Sends a column under another key. */
  map: readonly (readonly [column: string, key: string])[];
  /** Sends only these columns as metadata; an empty list means all. */
  include: readonly string[];
  /** Does not send these columns. */
  exclude: readonly string[];
  /** Adds a key with a constant value to every item. The value is converted like the cell of a CSV. */
  set: readonly (readonly [key: string, value: string])[];
  /** Sets the type of a column, such as `integer`, `money`, or `date:MM/dd/yyyy`; `auto` infers it. */
  types: readonly (readonly [column: string, type: CellType | 'auto'])[];
  /** Infers the types of CSV columns. Default true; with false, a column without a type of its own is text. */
  infer: boolean;
  /** What an empty cell of a CSV becomes. Default `omit`. */
  empty: EmptyCell;
  // Newer rules are absent unless they were set, because rules are compared with those of runs of earlier
  // versions.
  /** How the name of a column becomes a key, unless `map` has the column. Default `as-is`. */
  keys?: KeyStyle | undefined;
  /** Texts that count as an empty cell, such as `NULL`. Default: none. */
  nulls?: readonly string[] | undefined;
  /** Removes white space and invisible characters around cells. Default false. */
  trim?: boolean | undefined;
  /** Identifiers to accept even though they look like a missing value, such as `NULL`. Default: none. */
  allowIds?: readonly string[] | undefined;
}

/** The rules of one source. What it leaves out is taken from the next. */
export type SomeRules = { readonly [R in keyof MappingRules]?: MappingRules[R] | undefined };

/** The rules for the inputs of one kind. They replace the rules for all inputs completely. */
export interface KindMapping {
  /** Column of the identifier, in inputs that have it. */
  id?: string | undefined;
  /** Users: column of their company, in inputs that have it. */
  companyId?: string | undefined;
  rules: MappingRules;
}

/** The default: every column is sent under its own name, types are inferred, and empty cells are left out. */
export const NO_RULES: MappingRules = {
  map: [],
  include: [],
  exclude: [],
  set: [],
  types: [],
  infer: true,
  empty: 'omit',
};

/** The rules that the user has set, apart from defaults. Has no constant values (`set`). */
export interface Stated {
  /** By kind of the inputs. */
  rules: { readonly [K in Kind]: SomeRules };
  /** Those of mapping files alone, which no command without flags for columns can leave out. */
  files?: { readonly [K in Kind]: MappingRules } | undefined;
  /** Whether it describes the columns, so that a rejects file of an unknown run can be read. */
  columns: boolean;
}

/** A condition for rows: the cell or field of a column is this text, or with `!=`, is not. */
export type Condition = readonly [column: string, is: '=' | '!=', value: string];
