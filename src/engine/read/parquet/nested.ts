/** Makes JSON values of lists, maps, structures, and variants, which are stored as several columns. */
import type { SchemaTree } from 'hyparquet';
import { hasColumns, isList } from './file.js';
import {
  attempt,
  BadValueError,
  type Convert,
  converterOf,
  dateText,
  exactNumber,
  finite,
  float32,
  type JsonValue,
  textOf,
  timestampText,
  timeText,
  Unsendable,
  uuidText,
  variantConverter,
} from './values.js';

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

/** A structure with the columns of a variant, or of a part of one. */
interface Parts {
  metadata?: unknown;
  value?: unknown;
  typed_value?: unknown;
}

/** Sets a member, whatever its name. */
function addMember(made: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') made[key] = value;
  else Object.defineProperty(made, key, { value, enumerable: true, configurable: true, writable: true });
}

/** The value of a variant; null for none. @throws Error where its bytes make no sense */
export function variantOf(parts: Parts | null | undefined): unknown {
  if (!(parts?.metadata instanceof Uint8Array)) return null;
  const names = namesOf(parts.metadata);
  return wholeOf(parts, names) ?? null;
}

/** Undefined where there is no value. */
function wholeOf({ value, typed_value: typed }: Parts, names: readonly string[]): unknown {
  const rest = value instanceof Uint8Array ? new Reader(value, names).read() : undefined;
  if (typed === null || typed === undefined) return rest;
  if (Array.isArray(typed)) return typed.map((part: Parts) => wholeOf(part, names) ?? null);
  if (typeof typed !== 'object' || typed instanceof Unsendable) return typed;
  const made: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(typed as Record<string, Parts | null>)) {
    const member = part ? wholeOf(part, names) : undefined;
    if (member !== undefined) addMember(made, key, member);
  }
  for (const [key, member] of Object.entries(rest ?? {})) addMember(made, key, member);
  return made;
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

class Reader {
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
      case 0:
        return this.#primitive(form, at + 1);
      case 1:
        return textOf(slice(this.bytes, at + 1, form), true);
      case 2:
        return this.#object(form, at + 1);
      default:
        return this.#list(form, at + 1);
    }
  }

  #object(form: number, at: number): object {
    const [offsetWidth, idWidth, countWidth] = [(form & 3) + 1, ((form >> 2) & 3) + 1, form & 16 ? 4 : 1];
    const count = this.#countOf(at, countWidth, idWidth + offsetWidth);
    const ids = at + countWidth;
    const offsets = ids + count * idWidth;
    const values = offsets + (count + 1) * offsetWidth;
    const made: Record<string, unknown> = {};
    for (let n = 0; n < count; n++) {
      const name = this.names[uint(this.bytes, ids + n * idWidth, idWidth)];
      if (name === undefined) throw new Error('a member of a variant has no name');
      addMember(made, name, this.read(values + uint(this.bytes, offsets + n * offsetWidth, offsetWidth)));
    }
    return made;
  }

  #list(form: number, at: number): unknown[] {
    const [width, countWidth] = [(form & 3) + 1, form & 4 ? 4 : 1];
    const count = this.#countOf(at, countWidth, width);
    const offsets = at + countWidth;
    const values = offsets + (count + 1) * width;
    return Array.from({ length: count }, (_, n) =>
      this.read(values + uint(this.bytes, offsets + n * width, width)),
    );
  }

  /** @param each bytes that each one takes at least: a count that is too large must not take memory */
  #countOf(at: number, width: number, each: number): number {
    const count = uint(this.bytes, at, width);
    if (count * each > this.bytes.length) throw new Error('a variant is cut off');
    return count;
  }

  #primitive(type: number, at: number): JsonValue {
    const read = PRIMITIVES[type];
    if (!read) throw new Error(`a variant has the unknown type ${type}`);
    return read(this.#view, at, this.bytes);
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
