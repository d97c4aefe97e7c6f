/**
 * Selects rows of an input (contract §3 "Inputs"). The others are dropped here, before anything types, checks, or
 * counts them. Imports of all rows skip this step.
 */
import { InputError } from '../errors.js';
import type { Condition } from '../options/mapping-rules.js';
import { formatOf, originalsIn } from './formats.js';
import { valuesIn } from './item-text.js';
import { hasFields } from './mapping/check-rules.js';
import { columnIn, unknownColumn } from './mapping/targets.js';
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
export async function* selectRecords(
  input: OpenedInput,
  batches: AsyncIterable<Rows>,
  selected: Selected,
): AsyncGenerator<Rows> {
  if (input.selection === null) return yield* batches;
  for await (const { batch, numbers } of choose(input, input.selection, batches, selected)) {
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
  const { columns, path } = input;
  const originalsOf = (formatOf(input).stored ?? originalsIn)(input);
  const values = valuesIn(columns);
  const looks = where.length > 0 || absent.length > 0;
  /** Columns in conditions that no item has had so far. None if there is a header. */
  const unseen = new Set(where.flatMap(([column]) => (columns.includes(column) ? [] : [column])));
  let left = limit ?? Number.POSITIVE_INFINITY;
  let read = 0;
  for await (const batch of batches) {
    if (left === 0 && !selected.toEnd) return;
    const numbers: number[] = [];
    const originals = looks && (left > 0 || unseen.size > 0) ? originalsOf(batch) : null;
    for (let number = 0; number < batch.lines.length && (left > 0 || originals); number++) {
      const valueIn = originals && values(originals[number]!);
      for (const column of valueIn ? unseen : []) if (valueIn!(column) !== undefined) unseen.delete(column);
      const late = valueIn && absent.find((column) => valueIn(column) !== undefined);
      if (late) throw lateField(late, path, batch.lines[number]!);
      const holds = ([column, is, value]: Condition): boolean =>
        ((valueIn!(column) ?? '') === value) === (is === '=');
      if (left === 0 || (valueIn && !where.every(holds))) continue;
      numbers.push(number);
      left--;
    }
    read += batch.lines.length;
    selected.filtered = (selected.filtered ?? 0) + batch.lines.length - numbers.length;
    yield { batch, numbers };
  }
  const [column] = unseen;
  if (column !== undefined && read > 0) throw unknownColumn('where', column, columns, path);
}

const lateField = (field: string, file: string, line: number): InputError =>
  new InputError(`has "${field}", which the first items lack, and rows are selected by it`, {
    file,
    line,
    hint: 'import this file by itself',
  });

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
    if (known.has(column) || inputs.some(hasFields)) continue;
    throw unknownColumn('where', column, [...known], inputs.map(({ path }) => path).join(', '));
  }
  return inputs.map((input) => {
    if (input.selection === null) return input;
    const { limit } = input.selection;
    const own = where.filter(
      ([column]) => input.columns.includes(column) || (hasFields(input) && !known.has(column)),
    );
    const others = where.filter((condition) => !own.includes(condition));
    const absent = hasFields(input) ? others.map(([column]) => column) : [];
    const all = own.length === 0 && absent.length === 0 && limit === null;
    return { ...input, selection: all ? null : { where: own, absent, limit } };
  });
}
