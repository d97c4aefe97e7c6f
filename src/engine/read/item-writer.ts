/** Writes an item from the cells of a row, as JSON text. Keys are encoded once, and cells are copied. */
import type { Kind } from '../model.js';
import { COMPANY, headOf, METADATA_OPEN } from './item-text.js';
import { jsonString } from './json/text.js';
import { DOUBLED, ESCAPED, type Rows } from './rows.js';
import { copy, copyWithRoom, QUOTE, viewOf } from './text/fours.js';
import type { Output } from './text/output.js';

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

/** What is known about a row that is sent, besides its cells. */
export interface Sent {
  id: string;
  /** Empty if it names none. */
  company: string;
  /** By member, the JSON text of its cell, if it is converted. */
  converted: readonly string[];
  /** More members, each with a comma before it. */
  spread: string;
}

/** The escape in JSON for each byte that needs one, as `JSON.stringify` writes it. */
const ESCAPES: (Buffer | undefined)[] = Array.from({ length: 0x80 }, (_, code) => {
  const json = JSON.stringify(String.fromCharCode(code)).slice(1, -1);
  return json.length > 1 ? Buffer.from(json) : undefined;
});
const LONGEST_ESCAPE = 6;

/** Copies bytes as the content of a JSON string. @returns the offset after them */
function copyEscaped(
  from: Buffer,
  start: number,
  end: number,
  to: Buffer,
  at: number,
  doubled: number,
): number {
  let target = at;
  for (let next = start; next < end; next++) {
    const byte = from[next]!;
    const escaped = byte < 0x80 ? ESCAPES[byte] : undefined;
    if (escaped === undefined) to[target++] = byte;
    else {
      for (let one = 0; one < escaped.length; one++) to[target++] = escaped[one]!;
      if (byte === QUOTE) next += doubled;
    }
  }
  return target;
}

/** Texts that are the same in each item, back to back. */
class FixedTexts {
  readonly #view: DataView;
  readonly #starts: Int32Array;
  /** Of all of them. */
  readonly bytes: number;

  constructor(texts: readonly string[]) {
    let length = 0;
    this.#starts = Int32Array.from([0, ...texts.map((text) => (length += Buffer.byteLength(text)))]);
    this.bytes = length;
    // With room after the last one, all can be copied four bytes at a time.
    this.#view = viewOf(Buffer.from(`${texts.join('')}   `));
  }

  /** Writes a text, and overwrites up to three bytes after it. @returns the offset after it */
  write(index: number, target: DataView, at: number): number {
    return copyWithRoom(this.#view, this.#starts[index]!, this.#starts[index + 1]!, target, at);
  }
}

/** Indexes of the fixed texts; the keys follow. */
enum Fixed {
  constants,
  empty,
  keys,
}

export class ItemWriter {
  /** How many bytes more the last item would take if each value was text. */
  quotes = 0;
  readonly #head: string;
  readonly #columns: Int32Array;
  readonly #as: Uint8Array;
  readonly #fixed: FixedTexts;
  readonly #hasEmpty: boolean;
  /** Bytes of everything in an item but its cells. */
  readonly #around: number;

  /**
   * @param constants members of every item, each with a comma before it
   * @param empty JSON text of an empty cell; null if its key is left out
   */
  constructor(kind: Kind, members: readonly ItemMember[], constants: string, empty: string | null) {
    this.#head = headOf(kind);
    this.#columns = Int32Array.from(members, ({ index }) => index);
    this.#as = Uint8Array.from(members, ({ as }) => as);
    const keys = members.map(({ key }) => `,${jsonString(key)}:`);
    this.#fixed = new FixedTexts([constants, empty ?? '', ...keys]);
    this.#hasEmpty = empty !== null;
    this.#around = this.#fixed.bytes + members.length * ((empty ?? '').length + 2) + 16;
  }

  /** Appends an item. @param size of all cells of the row, in bytes */
  write(out: Output, row: RowCells, size: number, { id, company, converted, spread }: Sent): void {
    const { view, starts, ends, kinds, base } = row;
    const [columns, as, fixed] = [this.#columns, this.#as, this.#fixed];
    const room = this.#around + size;
    const named = company === '' ? '' : COMPANY + jsonString(company);
    out.write(this.#head + jsonString(id) + named + METADATA_OPEN, room);
    // The comma of the first member is where the brace will be.
    const open = --out.length;
    let at = open;
    this.quotes = 0;
    for (let member = 0; member < columns.length; member++) {
      const cell = base + columns[member]!;
      const start = starts[cell]!;
      const end = ends[cell]!;
      if (start === end && !this.#hasEmpty) continue;
      at = fixed.write(Fixed.keys + member, out.view, at);
      if (start === end) at = fixed.write(Fixed.empty, out.view, at);
      else if (as[member] === As.raw) {
        at = copy(view, start, end, out.view, at);
        this.quotes += 2;
      } else if (as[member] === As.converted) at = writeText(converted[member]!, out, at, room);
      else {
        const kind = kinds[cell]!;
        out.bytes[at++] = QUOTE;
        if ((kind & (ESCAPED | DOUBLED)) === 0) at = copy(view, start, end, out.view, at);
        else {
          out.length = at;
          out.reserve(LONGEST_ESCAPE * (end - start) + room);
          at = copyEscaped(row.bytes, start, end, out.bytes, at, kind & DOUBLED ? 1 : 0);
        }
        out.bytes[at++] = QUOTE;
      }
    }
    if (spread !== '') at = writeText(spread, out, at, room);
    at = fixed.write(Fixed.constants, out.view, at);
    if (at > open) {
      out.bytes[open] = OPEN_BRACE;
      out.bytes[at++] = CLOSE_BRACE;
    } else at = open - METADATA_OPEN.length + 1;
    out.bytes[at++] = CLOSE_BRACE;
    out.length = at;
  }
}

/** Writes a text at an offset. @returns the offset after it */
function writeText(text: string, out: Output, at: number, room: number): number {
  out.length = at;
  out.write(text, room);
  return out.length;
}

/** The version of the rules by which a record becomes an item. Runs begun under other rules are not continued. */
export const ITEM_FORMAT_VERSION = 1;
