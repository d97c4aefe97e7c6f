/**
 * Selects records: `--filter`, `--search`, `--sort`, `--limit`, `--columns`, in that order (contract §5).
 * Pure.
 */
import { UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import { cellText, fieldsOf, type ListRecord } from './records.js';

export interface Selection {
  /** Fields to show, in this order. */
  columns?: readonly string[];
  /** All keys must match. A key given several times matches any of its values. The comparison is exact. */
  filter?: readonly { key: string; value: string }[];
  /** Searched in all fields, ignoring case. */
  search?: string;
  sort?: { key: string; descending: boolean };
  limit?: number;
}

export interface Selected {
  records: ListRecord[];
  /** The columns of a table or a CSV. */
  columns: string[];
}

/**
 * Selects records.
 * @param expected the fields in the spec, which are known even if no record has them
 * @throws UsageError for a column or key that no record has, with the nearest one. An empty list has no
 * fields to compare with, so there it is no error
 */
export function select(
  records: readonly ListRecord[],
  selection: Selection,
  expected: readonly string[] = [],
): Selected {
  const fields = fieldsOf(records, expected);
  const known = (key: string, flag: string): string => {
    if (records.length === 0 || fields.includes(key)) return key;
    const like = nearest(key, fields);
    throw new UsageError(`${flag}: unknown field "${key}"`, {
      hint: like ? `did you mean "${like}"?` : `available fields: ${fields.join(', ')}`,
    });
  };
  const columns = selection.columns?.map((key) => known(key, '--columns')) ?? fields;
  const wanted = valuesByKey(selection.filter ?? []);
  for (const key of wanted.keys()) known(key, '--filter');
  const sortKey = selection.sort && known(selection.sort.key, '--sort');

  let chosen = records.filter((record) =>
    [...wanted].every(([key, values]) => values.has(cellText(record[key]))),
  );
  if (selection.search !== undefined) {
    const needle = selection.search.toLowerCase();
    chosen = chosen.filter((record) =>
      Object.values(record).some((value) => cellText(value).toLowerCase().includes(needle)),
    );
  }
  if (sortKey !== undefined) chosen = sorted(chosen, sortKey, selection.sort!.descending);
  if (selection.limit !== undefined) chosen = chosen.slice(0, selection.limit);
  if (selection.columns) chosen = chosen.map((record) => pick(record, columns));
  return { records: chosen, columns };
}

/** True if the selection changes nothing. */
export function selectsAll(selection: Selection): boolean {
  return Object.values(selection).every((part) => part === undefined);
}

function valuesByKey(filter: readonly { key: string; value: string }[]): Map<string, Set<string>> {
  const wanted = new Map<string, Set<string>>();
  for (const { key, value } of filter) wanted.set(key, (wanted.get(key) ?? new Set()).add(value));
  return wanted;
}

/** Numbers by value, other values by their text. Records without a value always come last. */
function sorted(records: readonly ListRecord[], key: string, descending: boolean): ListRecord[] {
  const collator = new Intl.Collator('en');
  const sign = descending ? -1 : 1;
  const absent = (value: unknown): boolean => value === null || value === undefined;
  return [...records].sort((a, b) => {
    const [x, y] = [a[key], b[key]];
    if (absent(x) || absent(y)) return Number(absent(x)) - Number(absent(y));
    if (typeof x === 'number' && typeof y === 'number') return sign * (x - y);
    return sign * collator.compare(cellText(x), cellText(y));
  });
}

function pick(record: ListRecord, columns: readonly string[]): ListRecord {
  return Object.fromEntries(
    columns.filter((key) => Object.hasOwn(record, key)).map((key) => [key, record[key]]),
  );
}
