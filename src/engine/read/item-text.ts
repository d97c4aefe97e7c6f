/** Items as JSON text: what is around their values (spec: Company, User), their identifiers, how two become one, and the hashes of their cells. */
import type { CellColumns } from '../fingerprints/cells.js';
import { wordsOf } from '../fingerprints/tables.js';
import { ID_FIELD, type Kind, type RejectedRow } from '../model.js';
import { Hashes } from './hashes.js';
import { cleaner } from './identifier.js';
import { decoded, memberOf, objectMembers } from './json/members.js';
import { METADATA } from './mapping/targets.js';
import type { OpenedInput } from './types.js';

/** Before the identifier. */
export const headOf = (kind: Kind): string => `{"${ID_FIELD[kind]}":`;
/** Between identifier and company, and around the members of the metadata. */
export const COMPANY = ',"company_id":';
export const METADATA_OPEN = ',"metadata":{';
export const METADATA_CLOSE = '}';
/** JSON text of an empty value; null if its key is left out. */
export const EMPTY = { omit: null, null: 'null', string: '""' } as const;

/** An item as it is sent (spec: Company, User). */
export type Item = Record<string, unknown> & { metadata?: Record<string, unknown> };

export const parseItem = (bytes: Uint8Array): Item =>
  JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as Item;

/** The result of two consecutive upserts: keys of the later win, others stay. */
export function mergeUpserts(earlier: Item, later: Item): Item {
  const { metadata: under, ...fields } = earlier;
  const { metadata: over, ...laterFields } = later;
  const merged: Item = { ...fields, ...laterFields };
  if (under || over) merged.metadata = { ...under, ...over };
  return merged;
}

/** Keyed hashes of merged items. Equal items have equal hashes, regardless of the order of their keys. */
export class MergedHashes {
  readonly #hashes: Hashes;
  readonly #field: string;

  constructor(kind: Kind, hashKey: Uint8Array) {
    this.#hashes = new Hashes(hashKey, 'merged');
    this.#field = ID_FIELD[kind];
  }

  of({ metadata = {}, ...fields }: Item): bigint {
    const { [this.#field]: _, ...others } = fields;
    const sorted = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
    return this.#hashes.of(JSON.stringify([others, sorted]));
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The identifier of an item as it is sent, which is its first member. @param start where the item begins */
export function idOfItem(items: Buffer, start: number, kind: Kind): string {
  const open = start + headOf(kind).length;
  let end = items.indexOf(QUOTE, open + 1);
  if (!items.subarray(open, end).includes(BACKSLASH)) return items.toString('utf8', open + 1, end);
  // A quote after an odd number of backslashes belongs to the text.
  for (; ; end = items.indexOf(QUOTE, end + 1)) {
    let before = end - 1;
    while (items[before] === BACKSLASH) before--;
    if ((end - before) % 2 === 1) return JSON.parse(items.toString('utf8', open, end + 1)) as string;
  }
}

/**
 * Reads rows as they are in the file: gives the text in a column or field, undefined if there is none. Of JSON, null is
 * empty, and any other value is as it is written.
 * @param others whether to take JSON values that are not texts
 */
export function valuesIn(columns: readonly string[], others = true) {
  const places = new Map(columns.map((column, place) => [column, place]));
  return (original: RejectedRow['original']): ((column: string) => string | undefined) => {
    if ('cells' in original) return (column) => original.cells[places.get(column) ?? -1];
    const flat = objectMembers(String(original.item));
    const nested = flat.flatMap(([name, json]) => (name === METADATA ? objectMembers(json) : []));
    const fields = new Map([...nested, ...flat]);
    return (column) => {
      const json = fields.get(column);
      if (json?.startsWith('"')) return decoded(json.slice(1, -1));
      return json === 'null' ? '' : others ? json : undefined;
    };
  };
}

/** Reads the texts of some columns or fields; null for one that is empty. */
export function textsIn(columns: readonly string[], wanted: readonly string[], others = false) {
  const values = valuesIn(columns, others);
  return (original: RejectedRow['original']): (string | null)[] => {
    const valueIn = values(original);
    return wanted.map((column) => valueIn(column) || null);
  };
}

/** The identifier of a row as it is in the file; empty if it has none. */
export function idOfOriginal(original: RejectedRow['original'], input: OpenedInput): string {
  const { columns, idColumn, rules } = input;
  const text =
    'cells' in original
      ? (original.cells[columns.indexOf(idColumn)] ?? '')
      : (textIn(String(original.item), idColumn) ??
        textIn(String(original.item), ID_FIELD[input.kind]) ??
        '');
  return cleaner(rules)?.(text) ?? text;
}

/** A string or number in a JSON object. Numbers keep their digits as written. */
function textIn(json: string, name: string): string | null {
  try {
    const text = memberOf(json, name);
    if (text?.startsWith('"')) return JSON.parse(text) as string;
    return text !== null && /^-?\d/.test(text) ? text : null;
  } catch {
    return null;
  }
}

/** Keys beyond these are left out. */
export const MOST_KEYS = 4_096;

/**
 * Hashes the cells of items (contract §3 "Review before sending"). The hashes are short: they tell which keys differ from
 * what was sent last, and are used for nothing else. In one of 65,536 cases, two different cells have the same hash.
 * Keys are numbered in the order in which they appear first.
 */
export class CellHasher {
  readonly keys: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #hashes: Hashes;
  readonly #idField: string;
  /** For the current item: numbers of keys. */
  #found: number[] = [];

  constructor(kind: Kind, hashKey: Uint8Array) {
    this.#idField = ID_FIELD[kind];
    this.#hashes = new Hashes(hashKey, 'cell');
  }

  /** The number of a key; -1 for one that is left out. */
  numberOf(key: string): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.keys.length >= MOST_KEYS) return -1;
    this.#numbers.set(key, this.keys.length);
    return this.keys.push(key) - 1;
  }

  /**
   * @param items JSON text of an item from `start` to `end`, as it is sent
   * @returns for each cell the number of its key, times 65,536, and its hash, which is not 0
   */
  of(items: Buffer, start: number, end: number): Uint32Array {
    const { metadata = {}, ...fields } = parseItem(items.subarray(start, end));
    delete fields[this.#idField];
    for (const [name, value] of Object.entries(fields)) this.#add(name, value);
    for (const [name, value] of Object.entries(metadata)) this.#add(this.#nestedName(name), value);
    const hashes = wordsOf(this.#hashes.take());
    const found = Uint32Array.from(this.#found);
    this.#found = [];
    return found.map((key, at) => key * 0x1_0000 + (hashes[2 * at]! & 0xffff || 1));
  }

  /** The key of a member of `metadata`, which is never that of a field beside it: a user has two `company_id`. */
  #nestedName(name: string): string {
    const isTaken = name === 'company_id' && this.#idField !== name;
    return isTaken || name.startsWith(`${METADATA}.`) ? `${METADATA}.${name}` : name;
  }

  #add(key: string, value: unknown): void {
    const number = this.numberOf(key);
    if (number < 0) return;
    this.#found.push(number);
    this.#hashes.add(JSON.stringify(value));
  }
}

/** The hashes of several items one after another, as they are stored. @param ends of each item */
export function hashCells(
  hasher: CellHasher,
  items: Buffer,
  rows: Iterable<readonly [start: number, end: number]>,
): CellColumns {
  const found: Uint32Array[] = [];
  let cells = 0;
  for (const [start, end] of rows) {
    const row = hasher.of(items, start, end);
    found.push(row);
    cells += row.length;
  }
  const keys = [...hasher.keys];
  const marks = Math.ceil(keys.length / 8);
  const bytes = Buffer.alloc(found.length * marks + 2 * cells);
  let at = 0;
  for (const row of found) {
    // Mostly they are in order already. Of a key that appears twice, the last value counts.
    const ordered = row.every((cell, index) => index === 0 || cell >>> 16 > row[index - 1]! >>> 16)
      ? row
      : [...new Map(Array.from(row, (cell) => [cell >>> 16, cell])).values()].sort((a, b) => a - b);
    const first = at;
    at += marks;
    for (const cell of ordered) {
      const key = cell >>> 16;
      bytes[first + (key >>> 3)]! |= 1 << (key & 7);
      at = bytes.writeUInt16LE(cell & 0xffff, at);
    }
  }
  return { keys, bytes: bytes.subarray(0, at) };
}
