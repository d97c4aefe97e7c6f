/** Compares keys and their types with those of the last import of the account, and with the properties of the service. Pure. */

import type { PropertyCheck } from '../model/plan-changes.js';
import type { ColumnPlan } from '../model.js';
import type { Warning } from '../problems.js';
import type { LookupRecord } from '../service/contract.js';
import { nearest } from '../util/nearest.js';

interface Types {
  types: readonly (readonly [key: string, type: string | null])[];
}

/**
 * Types of metadata keys, as the state stores them. Keys with values of several types (`mixed`) are left out.
 */
export function typesOf(scans: readonly Types[]): Map<string, string> {
  const types = new Map<string, string>();
  for (const scan of scans) {
    for (const [key, type] of scan.types) {
      if (type !== null && type !== 'mixed') types.set(key, type);
    }
  }
  return types;
}

/** Whether the last imports had these keys, with these types. */
export const isKnownLayout = (last: ReadonlyMap<string, string>, { types }: Types): boolean =>
  types.every(([key, type]) => type === null || type === 'mixed' || last.get(key) === type);

/** Whether one type reads every value that another one reads. */
const isWider = (type: string, other: string): boolean =>
  type === 'string' || (type === 'number' && other === 'integer');

/** A warning for each key with another type than in the last import, unless the user has chosen it. */
export function typeChanges(
  last: ReadonlyMap<string, string>,
  scans: readonly (Types & { columns: readonly Pick<ColumnPlan, 'column' | 'key' | 'reason'>[] })[],
): Warning[] {
  // The warning names the column, because users set types by column.
  const columnOf = new Map(scans.flatMap(({ columns }) => columns.map((column) => [column.key, column])));
  return [...typesOf(scans)].flatMap(([key, type]) => {
    const before = last.get(key);
    const { column = key, reason } = columnOf.get(key) ?? {};
    if (before === undefined || before === type || reason === 'pinned') return [];
    const message = `"${key}" is now ${type}; it was ${before} in this account's last import`;
    return [{ message, ...(isWider(before, type) && { problem: { code: 'type_changed', column, before } }) }];
  });
}

/**
 * Names that the service may use for our types (spec: `data_type`). The spec does not list them, so these are
 * common ones.
 */
const SAME_TYPE: Record<string, readonly string[]> = {
  string: ['string', 'text', 'str', 'varchar', 'date', 'datetime', 'timestamp'],
  integer: ['integer', 'int', 'number', 'numeric', 'long', 'float', 'double', 'decimal'],
  number: ['number', 'numeric', 'float', 'double', 'decimal'],
  boolean: ['boolean', 'bool'],
  object: ['object', 'json', 'list', 'array'],
};

/**
 * Finds keys that the service does not have, keys that look like a misspelled property, and keys of another
 * type.
 */
export function checkProperties(
  columns: readonly ColumnPlan[],
  records: readonly LookupRecord[],
): PropertyCheck {
  const known = new Map<string, string | null>();
  for (const record of records) {
    const { key, data_type } = record as { key?: unknown; data_type?: unknown };
    if (typeof key === 'string') known.set(key, typeof data_type === 'string' ? data_type : null);
  }
  const check: PropertyCheck = { new: [], near: [], types: [] };
  const seen = new Set<string>();
  for (const column of columns) {
    const { key, type } = column;
    if (key === null || key === 'user_id' || key === 'company_id' || isSpread(column)) continue;
    // Several files of one import may have the same column. It is reported once, unless its types differ.
    const once = JSON.stringify([key, known.has(key) ? type : null]);
    if (seen.has(once)) continue;
    seen.add(once);
    if (!known.has(key)) {
      const like = nearest(key, known.keys());
      if (like === undefined) check.new.push(key);
      else check.near.push({ key, like });
      continue;
    }
    const service = known.get(key);
    if (type === null || service == null) continue;
    if (!(SAME_TYPE[type] ?? [type]).includes(service.toLowerCase()))
      check.types.push({ key, here: type, service });
  }
  return check;
}

/**
 * Whether the column has whole `metadata` objects. Their members are the properties, and the column does not
 * name them.
 */
const isSpread = ({ column, key, type }: ColumnPlan): boolean =>
  column === 'metadata' && key === 'metadata' && type === 'object';
