/** Assembles lists, maps, and structures from their columns as hyparquet does, but without losing a member. */
import type { SchemaTree } from 'hyparquet';
import { isListLike, isMapLike } from 'hyparquet/src/schema.js';
import { attempt, BadValueError, Unsendable } from './values.js';
import { addMember, variantOf } from './variant.js';

type Values = unknown[];

/**
 * The values of a node: lists in lists, `depth` levels deep.
 * @param columns the values of its leaves; they are modified
 * @throws Error if they do not fit together
 */
export function assemble(node: SchemaTree, columns: ReadonlyMap<SchemaTree, Values>, depth = 0): Values {
  const { element, children } = node;
  if (children.length === 0) {
    const values = columns.get(node);
    if (!values) throw new Error(`the column ${node.path.join('.')} is missing or there twice`);
    if (element.repetition_type === 'REPEATED') fillEmpty(values, depth);
    return values;
  }
  const inner = element.repetition_type === 'OPTIONAL' ? depth + 1 : depth;
  let values: Values;
  if (isListLike(node)) {
    const list = children[0]!;
    values =
      list.children.length === 1
        ? assemble(list.children[0]!, columns, inner + 1)
        : assemble(list, columns, inner);
  } else if (isMapLike(node)) {
    const [keys, entries] = children[0]!.children.map((child) => assemble(child, columns, inner + 1));
    values = zip(
      [keys!, entries!],
      inner,
      ([keys, entries]) => keys && mapOf(keys as Values, entries as Values),
    );
  } else {
    const stored = children.filter(hasColumns);
    const names = stored.map((child) => child.element.name);
    const below = element.repetition_type === 'REQUIRED' ? depth : depth + 1;
    const parts = stored.map((child) => assemble(child, columns, below));
    const isVariant = element.logical_type?.type === 'VARIANT';
    values = zip(parts, below, (parts) => {
      const made = structureOf(names, parts);
      return isVariant ? attempt(() => variantOf(made)) : made;
    });
  }
  if (inner > depth) unwrap(values, depth);
  return values;
}

/** Whether a node has any column: of a structure without members, the file holds nothing. */
export const hasColumns = ({ element, children }: SchemaTree): boolean =>
  children.length > 0 ? children.some(hasColumns) : element.type !== undefined;

/** Makes empty lists of what hyparquet leaves null in a repeated column, which cannot have nulls. */
function fillEmpty(values: Values, depth: number): void {
  for (let at = 0; at < values.length; at++) {
    if (depth > 0) fillEmpty(values[at] as Values, depth - 1);
    else values[at] ??= [];
  }
}

/** Combines the values at the same places of several lists, `depth` levels deep. */
function zip(lists: readonly Values[], depth: number, make: (parts: Values) => unknown): Values {
  const length = lists[0]?.length ?? 0;
  const made: Values = [];
  for (let at = 0; at < length; at++) {
    const parts = lists.map((list) => {
      if (list.length !== length) throw new Error('its columns are not of the same length');
      return list[at];
    });
    made.push(depth > 0 ? zip(parts as Values[], depth - 1, make) : make(parts));
  }
  return made;
}

/** Replaces optional values, which are lists of one or none, by the values themselves. */
function unwrap(values: Values, depth: number): void {
  for (let at = 0; at < values.length; at++) {
    if (depth > 0) unwrap(values[at] as Values, depth - 1);
    else values[at] = (values[at] as Values)[0];
  }
}

function structureOf(names: readonly string[], parts: Values): object {
  const made: Record<string, unknown> = {};
  for (let at = 0; at < names.length; at++) addMember(made, names[at]!, parts[at]);
  return made;
}

function mapOf(keys: Values, entries: Values): unknown {
  const made: Record<string, unknown> = {};
  for (let at = 0; at < keys.length; at++) {
    if (keys[at] instanceof Unsendable) return keys[at];
    const key = String(keys[at]);
    if (Object.hasOwn(made, key)) {
      return new Unsendable(new BadValueError(`a map has the key ${JSON.stringify(key)} twice`));
    }
    addMember(made, key, entries[at]);
  }
  return made;
}
