/** Writes an item from the cells of a row, as JSON text. Keys are encoded once, and cells are copied. */
import type { Kind } from '../model.js';
import { scratch } from './conversion/type.js';
import { COMPANY, headOf, METADATA_OPEN } from './item-text.js';
import { jsonString } from './json/text.js';
import { DOUBLED, ESCAPED, type Rows } from './rows.js';
import { copy, type Fixed, fixed, QUOTE, writeFixed } from './text/fours.js';
import { Output } from './text/output.js';

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Where the cells of a row are: from `base` on. */
export interface RowCells extends Pick<Rows, 'starts' | 'ends' | 'kinds'> {
  bytes: Buffer;
  view: DataView;
  base: number;
}

/** How the cells of a column are written. */
export enum As {
  text,
  /** Unchanged, as JSON. */
  raw,
  converted,
}

/** A column whose cells become metadata. */
export interface ItemMember {
  index: number;
  key: string;
  as: As;
}

/** JSON of the cells of a row that are converted. */
export class Converted {
  readonly out = new Output(1024);
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;

  constructor(members: number) {
    this.#starts = new Int32Array(members);
    this.#ends = new Int32Array(members);
  }

  /** @param json empty for what is in the scratch memory */
  set(member: number, json: string): void {
    const { out } = this;
    this.#starts[member] = out.length;
    if (json === '') {
      const { bytes, start, end } = scratch;
      out.reserve(end - start);
      for (let at = start; at < end; at++) out.bytes[out.length++] = bytes[at]!;
    } else out.write(json);
    this.#ends[member] = out.length;
  }

  /** Writes the JSON of a member. @returns the offset after it */
  write(member: number, target: DataView, at: number): number {
    return copy(this.out.view, this.#starts[member]!, this.#ends[member]!, target, at);
  }
}

/** What is known about a row that is sent, besides its cells. */
export interface Sent {
  id: string;
  /** Empty if it names none. */
  company: string;
  /** By member, the JSON of its cell, if it is converted. */
  converted: Converted;
  /** More members, each with a comma before it. */
  spread: string;
}

export class ItemWriter {
  /** How many bytes more the last item would take if each value was text. */
  quotes = 0;
  readonly #head: string;
  readonly #members: readonly { index: number; as: As; key: Fixed }[];
  readonly #constants: Fixed;
  readonly #empty: Fixed | null;
  /** Bytes of everything in an item but its cells. */
  readonly #around: number;

  /**
   * @param constants members of every item, each with a comma before it
   * @param empty JSON text of an empty cell; null if its key is left out
   */
  constructor(kind: Kind, members: readonly ItemMember[], constants: string, empty: string | null) {
    this.#head = headOf(kind);
    this.#members = members.map(({ key, ...member }) => ({ ...member, key: fixed(`,${jsonString(key)}:`) }));
    this.#constants = fixed(constants);
    this.#empty = empty === null ? null : fixed(empty);
    const keys = this.#members.reduce((sum, { key }) => sum + key.length, 0);
    this.#around = keys + constants.length * 3 + members.length * 8 + 16;
  }

  /** Appends an item. @param size of all cells of the row, in bytes */
  write(out: Output, row: RowCells, size: number, { id, company, converted, spread }: Sent): void {
    const { bytes, view, starts, ends, kinds, base } = row;
    const [members, empty] = [this.#members, this.#empty];
    const room = this.#around + size + converted.out.length;
    beginItem(out, this.#head, id, company);
    out.write(METADATA_OPEN, room);
    // The comma of the first member is where the brace will be.
    const open = --out.length;
    let at = open;
    this.quotes = 0;
    for (let member = 0; member < members.length; member++) {
      const { index, as, key } = members[member]!;
      const start = starts[base + index]!;
      const end = ends[base + index]!;
      if (start === end && empty === null) continue;
      at = writeFixed(key, out.view, at);
      const kind = kinds[base + index]!;
      if (start === end) at = writeFixed(empty!, out.view, at);
      else if (as === As.raw) {
        at = copy(view, start, end, out.view, at);
        this.quotes += 2;
      } else if (as === As.converted) at = converted.write(member, out.view, at);
      else if ((kind & (ESCAPED | DOUBLED)) !== 0) {
        const text = bytes.toString('utf8', start, end);
        at = writeText(jsonString(kind & DOUBLED ? text.replaceAll('""', '"') : text), out, at, room);
      } else {
        out.bytes[at++] = QUOTE;
        at = copy(view, start, end, out.view, at);
        out.bytes[at++] = QUOTE;
      }
    }
    if (spread !== '') at = writeText(spread, out, at, room);
    at = writeFixed(this.#constants, out.view, at);
    if (at > open) {
      out.bytes[open] = OPEN_BRACE;
      out.bytes[at++] = CLOSE_BRACE;
    } else at = open - METADATA_OPEN.length + 1;
    out.bytes[at++] = CLOSE_BRACE;
    out.length = at;
  }
}

/** Writes the beginning of an item. @param company empty if it names none */
export function beginItem(out: Output, head: string, id: string, company: string): void {
  out.write(head);
  out.writeJson(id);
  if (company === '') return;
  out.write(COMPANY);
  out.writeJson(company);
}

/** Writes a text at an offset. @returns the offset after it */
function writeText(text: string, out: Output, at: number, room: number): number {
  out.length = at;
  out.write(text, room);
  return out.length;
}

/** The version of the rules by which a record becomes an item. Runs begun under other rules are not continued. */
export const ITEM_FORMAT_VERSION = 1;
