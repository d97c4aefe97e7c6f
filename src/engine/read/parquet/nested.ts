/** Makes JSON values of lists, maps, structures, and variants, which are stored as several columns. */
import type { SchemaTree } from 'hyparquet';
import { hasColumns, isList } from './file.js';
import { attempt, BadValueError, type Convert, converterOf, Unsendable, variantConverter } from './values.js';
import { addMember, variantOf } from './variant.js';

/** Null for a missing value. */
type Read = (raw: unknown) => unknown;
type Values = readonly unknown[];

/** Returns the function that makes a JSON value of what the library puts together for a row. */
export function readerOf(node: SchemaTree, inVariant = false): Read {
  const { element, children } = node;
  if (isList(node)) {
    const [list] = children;
    if (list!.children.length === 0) {
      const read = readerOf(list!, inVariant);
      return (values) => (values === undefined ? null : read(values)); // null: the list is empty
    }
    const one = readerOf(list!.children[0]!, inVariant);
    return (values) => (values as Values | null | undefined)?.map(one) ?? null;
  }
  const read = children.length === 0 ? leafOf(node, inVariant) : structureOf(node, inVariant);
  const one: Read = (raw) => (raw === null || raw === undefined ? null : read(raw));
  return element.repetition_type === 'REPEATED' ? (list) => ((list ?? []) as Values).map(one) : one;
}

function leafOf({ element }: SchemaTree, inVariant: boolean): Read {
  if (inVariant && element.name !== 'typed_value') return (raw) => raw;
  const convert: Convert = inVariant ? variantConverter(element) : converterOf(element);
  return (raw) => attempt(() => convert(raw));
}

function structureOf({ element, children }: SchemaTree, inVariant: boolean): Read {
  const isVariant = element.logical_type?.type === 'VARIANT';
  const members = children
    .filter(hasColumns)
    .map((child, at) => [child.element.name, String(at), readerOf(child, inVariant || isVariant)] as const);
  const isMap =
    element.converted_type === 'MAP' &&
    members.length === 1 &&
    children[0]!.element.repetition_type === 'REPEATED' &&
    children[0]!.children.length === 2;
  if (isMap) {
    const [key, entry] = children[0]!.children.map((child) => readerOf(child));
    return (raw) => mapOf((raw as { 0: { 0: unknown; 1: unknown }[] })[0], key!, entry!);
  }
  return (raw) => {
    const made: Record<string, unknown> = {};
    for (const [name, stored, read] of members) addMember(made, name, read((raw as typeof made)[stored]));
    return isVariant ? attempt(() => variantOf(made)) : made;
  };
}

function mapOf(pairs: readonly { 0: unknown; 1: unknown }[], readKey: Read, readEntry: Read): unknown {
  const made: Record<string, unknown> = {};
  for (const pair of pairs) {
    const found = readKey(pair[0]);
    if (found instanceof Unsendable) return found;
    const key = String(found);
    if (Object.hasOwn(made, key)) {
      return new Unsendable(new BadValueError(`a map has the key ${JSON.stringify(key)} twice`));
    }
    addMember(made, key, readEntry(pair[1]));
  }
  return made;
}
