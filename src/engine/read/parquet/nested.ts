/** Makes JSON values of lists, maps, and structures, which are stored as several columns. */
import type { SchemaTree } from 'hyparquet';
import { isList } from './file.js';
import { BadValueError, converterOf } from './values.js';

/** Null for a missing value. @throws BadValueError */
type Read = (raw: unknown) => unknown;
type Values = readonly unknown[];

/** Returns the function that makes a JSON value of what the library puts together for a row. */
export function readerOf(node: SchemaTree): Read {
  const { element, children } = node;
  if (isList(node)) {
    const [list] = children;
    if (list!.children.length === 0) {
      const read = readerOf(list!);
      return (values) => (values === undefined ? null : read(values)); // null: the list is empty
    }
    const one = readerOf(list!.children[0]!);
    return (values) => (values as Values | null | undefined)?.map(one) ?? null;
  }
  const read = children.length === 0 ? converterOf(element) : structureOf(node);
  const one: Read = (raw) => (raw === null || raw === undefined ? null : read(raw));
  return element.repetition_type === 'REPEATED' ? (list) => ((list ?? []) as Values).map(one) : one;
}

function structureOf({ element, children }: SchemaTree): Read {
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
  const members = children.map((child, at) => [child.element.name, String(at), readerOf(child)] as const);
  // Not by assigning: a member may be called `__proto__`.
  return (raw) =>
    Object.fromEntries(members.map(([name, at, read]) => [name, read((raw as Record<string, unknown>)[at])]));
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

/** Whether a column holds variants, which no other format has. */
export const isVariant = ({ element, children }: SchemaTree): boolean =>
  element.logical_type?.type === 'VARIANT' || children.some(isVariant);
