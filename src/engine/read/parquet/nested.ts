/** Makes JSON values of lists, maps, structures, and variants, which are stored as several columns. */
import type { SchemaTree } from 'hyparquet';
import { isList } from './file.js';
import {
  BadValueError,
  converterOf,
  dateText,
  exactNumber,
  finite,
  float32,
  type JsonValue,
  textOf,
  timestampText,
  timeText,
  uuidText,
  variantConverter,
} from './values.js';

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
  const read = children.length === 0 ? leafOf(node, inVariant) : structureOf(node, inVariant);
  const one: Read = (raw) => (raw === null || raw === undefined ? null : read(raw));
  return element.repetition_type === 'REPEATED' ? (list) => ((list ?? []) as Values).map(one) : one;
}

function leafOf({ element }: SchemaTree, inVariant: boolean): Read {
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

/** A structure with the columns of a variant, or of a part of one. */
interface Parts {
  metadata?: unknown;
  value?: unknown;
  typed_value?: unknown;
}

/** The value of a variant; null for none. @throws Error where its bytes make no sense */
export function variantOf(parts: Parts): unknown {
  if (!(parts.metadata instanceof Uint8Array)) return null;
  return wholeOf(parts, namesOf(parts.metadata)) ?? null;
}

/** Undefined where there is no value. */
function wholeOf({ value, typed_value: typed }: Parts, names: readonly string[]): unknown {
  const rest = value instanceof Uint8Array ? new VariantReader(value, names).read() : undefined;
  if (typed === null || typed === undefined) return rest;
  if (Array.isArray(typed)) return typed.map((part: Parts) => wholeOf(part, names) ?? null);
  if (typeof typed !== 'object') return typed;
  const members = Object.entries(typed as Record<string, Parts | null>)
    .map(([key, part]) => [key, part ? wholeOf(part, names) : undefined] as const)
    .filter(([, member]) => member !== undefined);
  return Object.fromEntries([...members, ...Object.entries(rest ?? {})]);
}

/** The dictionary with the names of all members. */
function namesOf(bytes: Uint8Array): string[] {
  const width = (bytes[0]! >> 6) + 1;
  if ((bytes[0]! & 0x0f) !== 1) throw new Error('its variants are of an unknown version');
  const at = (index: number): number => uint(bytes, 1 + index * width, width);
  const count = at(0);
  const base = 1 + (count + 2) * width;
  if (base > bytes.length) throw new Error('the names in a variant are cut off');
  return Array.from({ length: count }, (_, n) =>
    textOf(slice(bytes, base + at(n + 1), at(n + 2) - at(n + 1)), true),
  );
}

function uint(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let byte = width - 1; byte >= 0; byte--) value = value * 256 + (bytes[at + byte] ?? Number.NaN);
  if (Number.isNaN(value)) throw new Error('a variant is cut off');
  return value;
}

function slice(bytes: Uint8Array, at: number, length: number): Uint8Array {
  if (length < 0 || at + length > bytes.length) throw new Error('a variant is cut off');
  return bytes.subarray(at, at + length);
}

class VariantReader {
  readonly #view: DataView;
  /** Values that may still come. Each takes a byte, but several members could refer to the same one, many levels deep. */
  #left: number;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly names: readonly string[],
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#left = bytes.length;
  }

  read(at = 0): unknown {
    if (--this.#left < 0) throw new Error('a variant refers to the same value many times');
    const head = uint(this.bytes, at, 1);
    const form = head >> 2;
    switch (head & 3) {
      case 0: {
        const primitive = PRIMITIVES[form];
        if (!primitive) throw new Error(`a variant has the unknown type ${form}`);
        return primitive(this.#view, at + 1, this.bytes);
      }
      case 1:
        return textOf(slice(this.bytes, at + 1, form), true);
      case 2: {
        const values = this.#values(at + 1, form & 16 ? 4 : 1, (form & 3) + 1, ((form >> 2) & 3) + 1);
        return Object.fromEntries(values.map(({ id, value }) => [this.#nameOf(id), value]));
      }
      default:
        return this.#values(at + 1, form & 4 ? 4 : 1, (form & 3) + 1, 0).map(({ value }) => value);
    }
  }

  #nameOf(id: number): string {
    const name = this.names[id];
    if (name === undefined) throw new Error('a member of a variant has no name');
    return name;
  }

  /** The values in a list or an object. The widths are those of their number, their offsets, and the ids of their names. */
  #values(at: number, countWidth: number, width: number, idWidth: number): { id: number; value: unknown }[] {
    const count = uint(this.bytes, at, countWidth);
    // A number that is too large must not take memory.
    if (count * (width + idWidth) > this.bytes.length) throw new Error('a variant is cut off');
    const offsets = at + countWidth + count * idWidth;
    const values = offsets + (count + 1) * width;
    return Array.from({ length: count }, (_, n) => ({
      id: uint(this.bytes, at + countWidth + n * idWidth, idWidth),
      value: this.read(values + uint(this.bytes, offsets + n * width, width)),
    }));
  }
}

type Primitive = (view: DataView, at: number, bytes: Uint8Array) => JsonValue;

const int64 = (view: DataView, at: number): bigint => view.getBigInt64(at, true);
const decimal =
  (unscaled: (view: DataView, at: number) => bigint): Primitive =>
  (view, at) =>
    exactNumber(unscaled(view, at + 1), view.getUint8(at));
const timestamp =
  (unit: bigint, zone: string): Primitive =>
  (view, at) =>
    timestampText(int64(view, at) * unit, zone);
const bytesOf =
  (isText: boolean): Primitive =>
  (view, at, bytes) =>
    textOf(slice(bytes, at + 4, view.getUint32(at, true)), isText);

/** By their numbers in the specification of variants. */
const PRIMITIVES: readonly Primitive[] = [
  () => null,
  () => true,
  () => false,
  (view, at) => view.getInt8(at),
  (view, at) => view.getInt16(at, true),
  (view, at) => view.getInt32(at, true),
  (view, at) => exactNumber(int64(view, at), 0),
  (view, at) => finite(view.getFloat64(at, true)),
  decimal((view, at) => BigInt(view.getInt32(at, true))),
  decimal(int64),
  decimal((view, at) => (int64(view, at + 8) << 64n) | view.getBigUint64(at, true)),
  (view, at) => dateText(view.getInt32(at, true)),
  timestamp(1000n, 'Z'),
  timestamp(1000n, ''),
  (view, at) => float32(view.getFloat32(at, true)),
  bytesOf(false),
  bytesOf(true),
  (view, at) => timeText(int64(view, at) * 1000n),
  timestamp(1n, 'Z'),
  timestamp(1n, ''),
  (_, at, bytes) => uuidText(slice(bytes, at, 16)),
];
