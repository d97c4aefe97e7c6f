/** Makes JSON values of lists, maps, structures, and variants, which are stored as several columns. */
import type { SchemaElement, SchemaTree } from 'hyparquet';
import { isList } from './file.js';
import { BadValueError, converterOf, variantConverter } from './values.js';
import { variantOf } from './variant.js';

/** Null for a missing value. @throws BadValueError */
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
  const read = children.length === 0 ? leafOf(element, inVariant) : structureOf(node, inVariant);
  const one: Read = (raw) => (raw === null || raw === undefined ? null : read(raw));
  return element.repetition_type === 'REPEATED' ? (list) => ((list ?? []) as Values).map(one) : one;
}

function leafOf(element: SchemaElement, inVariant: boolean): Read {
  if (!inVariant) return converterOf(element);
  return element.name === 'typed_value' ? variantConverter(element) : (raw) => raw;
}

function structureOf({ element, children }: SchemaTree, inVariant: boolean): Read {
  const [entries] = children;
  const isMap =
    element.converted_type === 'MAP' &&
    children.length === 1 &&
    entries!.element.repetition_type === 'REPEATED' &&
    entries!.children.length === 2;
  if (isMap) {
    const [key, entry] = entries!.children.map((child) => readerOf(child));
    return (raw) => mapOf((raw as { 0: Pair[] })[0], key!, entry!);
  }
  const isVariant = element.logical_type?.type === 'VARIANT';
  const members = children.map(
    (child, at) => [child.element.name, String(at), readerOf(child, inVariant || isVariant)] as const,
  );
  // Not by assigning: a member may be called `__proto__`.
  const structure = (raw: unknown): object =>
    Object.fromEntries(members.map(([name, at, read]) => [name, read((raw as Record<string, unknown>)[at])]));
  return isVariant ? (raw) => variantOf(structure(raw)) : structure;
}

interface Pair {
  0: unknown;
  1: unknown;
}

function mapOf(pairs: readonly Pair[], readKey: Read, readEntry: Read): object {
  const keys = pairs.map((pair) => String(readKey(pair[0])));
  const made = Object.fromEntries(pairs.map((pair, at) => [keys[at]!, readEntry(pair[1])]));
  if (Object.keys(made).length === keys.length) return made;
  const twice = keys.find((key, at) => keys.indexOf(key) < at);
  throw new BadValueError(`a map has the key ${JSON.stringify(twice)} twice`);
}
