/**
 * Short keyed hashes of the cells of items (contract §3 "Review before sending"). They tell which keys differ from
 * what was sent last, and are used for nothing else. In one of 65,536 cases, two different cells have the same hash.
 */

import type { CellColumns } from '../fingerprints/cells.js';
import { wordsOf } from '../fingerprints/tables.js';
import { ID_FIELD, type Kind } from '../model.js';
import { Hashes } from './hashes.js';
import { parseItem } from './item-text.js';
import { METADATA } from './mapping/targets.js';

/** Keys beyond these are left out. */
export const MOST_KEYS = 4_096;

/** Hashes the cells of items. Keys are numbered in the order in which they appear first. */
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
