/**
 * Selects rows of an input (contract §3 "Inputs"). The others are dropped here, before anything types, checks, or
 * counts them. Imports of all rows skip this step.
 */
import { InputError } from '../errors.js';
import type { RejectedRow } from '../model.js';
import type { Condition } from '../options/mapping-rules.js';
import { formatOf } from './formats.js';
import { objectMembers } from './json/text.js';
import { columnIn, METADATA, unknownColumn } from './mapping/targets.js';
import { only, type Rows } from './rows.js';
import type { OpenedInput, Selection } from './types.js';

/** How far to read, and how many rows have been left out. */
export interface Selected {
  /** Whether to read on after the limit is reached: a plan counts all rows. */
  toEnd: boolean;
  filtered?: number;
}

/**
 * The selected records, in batches without others.
 * @throws InputError for items that are not JSON, or have a field that only later items have; UsageError for a
 * condition on a column that no item has
 */
export function selectRecords(
  input: OpenedInput,
  batches: AsyncIterable<Rows>,
  selected: Selected,
): AsyncIterable<Rows> {
  return input.selection === null ? batches : taken(input, input.selection, batches, selected);
}

async function* taken(
  input: OpenedInput,
  selection: Selection,
  batches: AsyncIterable<Rows>,
  selected: Selected,
): AsyncGenerator<Rows> {
  for await (const { batch, numbers } of choose(input, selection, batches, selected)) {
    if (numbers.length === batch.lines.length) yield batch;
    else if (numbers.length > 0) yield only(batch, numbers);
  }
}

/** Every batch, with the indexes of its selected records. @throws as `selectRecords` does */
export async function* choose(
  input: OpenedInput,
  { where, absent, limit }: Selection,
  batches: AsyncIterable<Rows>,
  selected: Selected,
): AsyncGenerator<{ batch: Rows; numbers: number[] }> {
  const conditions = where.length > 0 || absent.length > 0 ? new Conditions(input, where, absent) : null;
  let left = limit ?? Number.POSITIVE_INFINITY;
  let read = 0;
  const originalsOf = formatOf(input).originals(input);
  for await (const batch of batches) {
    if (left === 0 && !selected.toEnd) return;
    const looks = conditions && (left > 0 || conditions.unseen.size > 0);
    const originals = looks ? originalsOf(batch) : null;
    const numbers: number[] = [];
    for (let number = 0; number < batch.lines.length; number++) {
      if (left === 0 && !originals) break;
      if (originals && !conditions!.hold(originals[number]!, batch.lines[number]!)) continue;
      if (left === 0) continue;
      numbers.push(number);
      left--;
    }
    read += batch.lines.length;
    selected.filtered = (selected.filtered ?? 0) + batch.lines.length - numbers.length;
    yield { batch, numbers };
  }
  const [column] = conditions?.unseen ?? [];
  if (column !== undefined && read > 0) throw unknownColumn('where', column, input.columns, input.path);
}

/** Conditions on the rows of one input, compared with the values in the file. */
class Conditions {
  /** Columns in conditions that no item has had so far. Empty if there is a header. */
  readonly unseen: Set<string>;
  readonly #conditions: { column: string; index: number; value: string; equal: boolean }[];

  constructor(
    private readonly input: OpenedInput,
    where: readonly Condition[],
    private readonly absent: readonly string[],
  ) {
    const { columns } = input;
    this.unseen = new Set(where.flatMap(([column]) => (columns.includes(column) ? [] : [column])));
    this.#conditions = where.map(([column, is, value]) => {
      return { column, index: columns.indexOf(column), value, equal: is === '=' };
    });
  }

  /** Whether a row meets the conditions. @throws InputError for an item with a field that the first items lack */
  hold(original: RejectedRow['original'], line: number): boolean {
    if ('cells' in original) {
      return this.#conditions.every(({ index, value, equal }) => {
        return ((original.cells[index] ?? '') === value) === equal;
      });
    }
    const fields = fieldsOf(String(original.item));
    for (const column of this.unseen) if (fields.has(column)) this.unseen.delete(column);
    const late = this.absent.find((column) => fields.has(column));
    if (late !== undefined) {
      const { path } = this.input;
      throw new InputError(`has "${late}", which the first items lack, and rows are selected by it`, {
        file: path,
        line,
        hint: 'import this file by itself',
      });
    }
    return this.#conditions.every(({ column, value, equal }) => {
      return ((fields.get(column) ?? '') === value) === equal;
    });
  }
}

/** The fields of an item and those of its `metadata`, by column name. */
function fieldsOf(item: string): Map<string, string> {
  const flat = objectMembers(item);
  const nested = flat.flatMap(([name, json]) => (name === METADATA ? objectMembers(json) : []));
  return new Map([...nested, ...flat].map(([name, json]) => [name, textOf(json)]));
}

/** A JSON value for comparison: a string's text, nothing for null, any other value as it is written. */
function textOf(json: string): string {
  if (json.startsWith('"')) return JSON.parse(json) as string;
  return json === 'null' ? '' : json;
}

/**
 * Gives each input the conditions on columns that it has. Of JSON, only the first items are known: a condition on a
 * field that no input is known to have is checked against all items.
 * @throws UsageError for a column that no input has
 */
export function selectIn(
  inputs: readonly OpenedInput[],
  asked: readonly Condition[] | undefined = [],
): OpenedInput[] {
  const known = new Set(inputs.flatMap(({ columns }) => columns));
  const where = asked.map(([column, is, value]): Condition => [columnIn([...known], column), is, value]);
  for (const [column] of where) {
    if (known.has(column) || inputs.some(isOpen)) continue;
    throw unknownColumn('where', column, [...known], inputs.map(({ path }) => path).join(', '));
  }
  return inputs.map((input) => {
    if (input.selection === null) return input;
    const has = ([column]: Condition): boolean => input.columns.includes(column);
    const own = where.filter((condition) => has(condition) || (isOpen(input) && !known.has(condition[0])));
    const absent = isOpen(input)
      ? where.flatMap((condition) => (own.includes(condition) ? [] : condition[0]))
      : [];
    const { limit } = input.selection;
    const all = own.length === 0 && absent.length === 0 && limit === null;
    return { ...input, selection: all ? null : { where: own, absent, limit } };
  });
}

/** Whether items may have fields that the first items lack. */
const isOpen = ({ format }: OpenedInput): boolean => format === 'json' || format === 'ndjson';
