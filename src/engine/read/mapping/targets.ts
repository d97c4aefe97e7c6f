/** Where the values of each column or JSON field go, under the user's mapping rules. */
import { UsageError } from '../../errors.js';
import { type CellType, ID_FIELD, type Kind } from '../../model.js';
import type { MappingRules } from '../../options/mapping-rules.js';
import type { ColumnRule, Warning } from '../../problems.js';
import { nearest } from '../../util/nearest.js';
import { guessOf } from '../conversion/guess.js';
import { classifyText, NOT_A_NUMBER } from '../conversion/numbers.js';
import { converterOf } from '../conversion/types.js';
import { cleaner } from '../identifier.js';
import { jsonString } from '../json/text.js';
import { type Again, OWN_PREFIX } from '../rejects-rows.js';
import { list, quoted } from '../wording.js';
import { keyStyle } from './rules.js';

/**
 * `id` becomes `user_id` or `company_id`; `company` is a user's `company_id`; `spread` is a column of JSON objects
 * whose members become metadata; `ignored` columns are left out.
 */
export type Role = 'id' | 'company' | 'metadata' | 'spread' | 'ignored';

export interface Target {
  column: string;
  role: Role;
  /** Key in the item or its metadata; null if left out. */
  key: string | null;
  /** The type that the user pinned; null if the column's values decide. */
  pinned: CellType | null;
  /** Why the column is left out or has its type, if not because of its values. */
  because: string | null;
  /** CSV: the types that the column may be given, if its values decide. */
  guess?: readonly string[];
}

/** Whether the column's values decide its type. */
export const isInferred = ({ role, pinned }: Target): boolean => role === 'metadata' && pinned === null;

export const METADATA = 'metadata';

/** What decides where the columns of an input go. */
export interface Mapped {
  path: string;
  kind: Kind;
  /** Null where no field can be the identifier. */
  idColumn: string | null;
  companyIdColumn: string | null;
  rules: MappingRules;
  again?: Again | undefined;
}

/**
 * Decides one column at a time, because the fields of JSON items are met one by one.
 * @param isItem the columns are fields of items: what `include` names may be inside their `metadata`
 */
export function targeting(
  { rules, kind, idColumn, companyIdColumn }: Omit<Mapped, 'path'>,
  isItem = false,
): (column: string) => Target {
  const keys = new Map(rules.map);
  const styled = keyStyle(rules.keys);
  const types = new Map(rules.types);
  const include = new Set(rules.include);
  const exclude = new Set(rules.exclude);
  const set = new Set(rules.set.map(([key]) => key));
  return (column) => {
    const as = (role: Role, key: string | null, pinned: CellType | null, because: string | null): Target => ({
      ...{ column, role, key, pinned, because },
    });
    const left = (because: string): Target => as('ignored', null, null, because);
    const asked = types.get(column);
    const text = asked === 'lower' ? asked : 'string';
    if (column === idColumn) return as('id', ID_FIELD[kind], text, 'the identifier');
    if (column === companyIdColumn) return as('company', 'company_id', text, 'an identifier');
    if (column.startsWith(OWN_PREFIX)) return left('a column of a rejects file');
    if (exclude.has(column)) return left('excluded');
    const named = keys.get(column);
    if (include.size > 0 && !include.has(column)) {
      const isAround = isItem && column === METADATA && named === undefined;
      return isAround ? as('spread', null, null, 'not included') : left('not included');
    }
    if (column === METADATA && named === undefined) {
      return as('spread', METADATA, null, 'its members become metadata');
    }
    const key = named ?? styled(column);
    if (set.has(key)) return left('set for every item');
    if (asked !== undefined && asked !== 'auto') return as('metadata', key, asked, 'pinned');
    const isText = !rules.infer && asked === undefined;
    return isText ? as('metadata', key, 'string', 'all columns are text') : as('metadata', key, null, null);
  };
}

/** The target of a column without a name. A field of a JSON item may have an empty name. */
const NAMELESS: Target = { column: '', role: 'ignored', key: null, pinned: null, because: 'it has no name' };

/**
 * Targets of all columns of a header.
 * @param rows the cells of the first rows
 * @throws UsageError if two columns would have the same metadata key
 */
export function targetsOf(
  input: Mapped & { columns: readonly string[] },
  rows: readonly (readonly string[])[],
): Target[] {
  const targetOf = targeting(input);
  const targets = input.columns.map((column) => (column === '' ? NAMELESS : targetOf(column)));
  const owner = new Map<string, string>();
  for (const { column, key, role } of targets) {
    if (role !== 'metadata' || key === null) continue;
    const other = owner.get(key);
    if (other !== undefined) {
      throw new UsageError(`columns "${other}" and "${column}" both map to the key "${key}"`, {
        hint: 'exclude one of them, or map it to another key',
        problem: { code: 'same_key', key, columns: [other, column] },
      });
    }
    owner.set(key, column);
  }
  const clean = cleaner(input.rules) ?? ((cell: string) => cell);
  return targets.map((target, index) => {
    if (!isInferred(target)) return target;
    const cells = rows.map((row) => clean(row[index] ?? ''));
    return { ...target, guess: guessOf(cells.filter((cell) => cell !== '')) };
  });
}

/** A column as its input names it: headers are trimmed, so the spaces around a name in a rule are, too. */
export function columnIn(columns: readonly string[], name: string): string {
  const trimmed = name.trim();
  return !columns.includes(name) && columns.includes(trimmed) ? trimmed : name;
}

/** The error for a column that does not exist, with a similar name if there is one. */
export function unknownColumn(
  rule: ColumnRule,
  column: string,
  columns: readonly string[],
  path: string,
): UsageError {
  const like = nearest(column, columns);
  return new UsageError(`${rule}: ${path} has no column "${column}"`, {
    hint: like ? `did you mean "${like}"?` : `its columns are ${list(columns)}`,
    problem: { code: 'unknown_column', path, rule, column },
  });
}

/** The JSON text of a single value, typed like a CSV cell. */
export const jsonOfCell = (text: string): string =>
  text !== '' && classifyText(text) !== NOT_A_NUMBER ? text : jsonString(text);

/** Values that become numbers, and lose a zero at their end. */
export function constantWarnings({ set, types, infer }: MappingRules): Warning[] {
  const typeOf = new Map(types);
  return set.flatMap(([key, value]): Warning[] => {
    const isInferred = infer && (typeOf.get(key) ?? 'auto') === 'auto';
    const number = jsonOfCell(value);
    if (!isInferred || !/^-?\d+\.\d*0$/.test(number)) return [];
    const message = `${key}: the zero at the end is dropped: ${quoted(value)} becomes ${Number(number)}`;
    return [{ message, problem: { code: 'digits_lost', column: key } }];
  });
}

/** Metadata set for every item: keys and JSON texts. @throws UsageError for a value that does not fit its type */
export function constantsOf(rules: MappingRules): [key: string, json: string][] {
  const types = new Map(rules.types);
  return rules.set.map(([key, value]) => {
    const type = types.get(key) ?? (rules.infer ? 'auto' : 'string');
    if (type === 'auto') return [key, jsonOfCell(value)];
    if (type === 'string') return [key, jsonString(value)];
    const json = converterOf(type)!.json(value);
    if (json === null) {
      throw new UsageError(`${key}: the value "${value}" is not of type ${type}`, {
        hint: 'change the value, or leave the type out',
        problem: { code: 'constant_of_other_type', key, value, type },
      });
    }
    return [key, json];
  });
}
