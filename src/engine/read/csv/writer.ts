/** Writes the items of rows as JSON text. Keys are encoded once, and cells are copied. */
import type { CellType } from '../../model.js';
import { BLANK, type RowWriter } from '../format.js';
import { COMPANY, headOf, METADATA_OPEN } from '../item-text.js';
import { jsonString } from '../json/text.js';
import { DOUBLED, ESCAPED, type Rows } from '../rows.js';
import { copy, copyWithRoom, QUOTE, viewOf } from '../text/fours.js';
import type { Output } from '../text/output.js';
import type { OpenedInput } from '../types.js';
import type { Refusal } from '../wording.js';
import { type CsvLayout, csvLayout, REPEATED_HEADER } from './layout.js';
import { CsvRow } from './row.js';

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** How the cells of a column are written. */
enum As {
  text,
  /** Unchanged, as in the file. */
  raw,
  converted,
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

export class CsvWriter implements RowWriter {
  /** The row that was written or refused last, and whether its cells count for the types of their columns. */
  readonly row: CsvRow;
  isCounted = false;
  quotes = 0;
  readonly #layout: CsvLayout;
  readonly #as: Uint8Array;
  readonly #columns: Int32Array;
  readonly #head: string;
  readonly #fixed: FixedTexts;
  /** Bytes of everything in an item but its cells. */
  readonly #around: number;

  /** @param types of the columns, which the cells fit; null: as if each was text */
  constructor(input: OpenedInput, types: readonly CellType[] | null) {
    this.row = new CsvRow(input);
    this.#layout = csvLayout(input);
    this.#head = headOf(input.kind);
    const { metadata, constants, empty } = this.#layout;
    this.#as = Uint8Array.from(metadata, ({ index, converter }) =>
      converter ? As.converted : types === null || types[index] === 'string' ? As.text : As.raw,
    );
    this.#columns = Int32Array.from(metadata, ({ index }) => index);
    const keys = metadata.map(({ key }) => key);
    this.#fixed = new FixedTexts([constants, empty ?? '', ...keys]);
    this.#around = this.#fixed.bytes + metadata.length * ((empty ?? '').length + 2) + 16;
  }

  get id(): string {
    return this.#layout.id;
  }

  get company(): string {
    return this.#layout.company;
  }

  begin(batch: Rows): void {
    this.row.begin(batch);
  }

  original(number: number): { cells: string[] } {
    return { cells: this.row.original(number) };
  }

  write(number: number, out: Output): Refusal | null {
    const { row } = this;
    const unreadable = row.read(number);
    const reason = unreadable ?? this.#layout.refusal(row);
    // A row that is not sent still counts for the types of its columns: it may come back fixed.
    const isRow = unreadable === null && row.count === this.#layout.targets.length;
    this.isCounted = isRow && reason !== BLANK && reason !== REPEATED_HEADER;
    if (reason === null) this.#item(out);
    return reason;
  }

  /** Appends the item of the row, which has just been checked. */
  #item(out: Output): void {
    const { row } = this;
    const { id, company, converted, spread, empty } = this.#layout;
    const { view, starts, ends, kinds, base } = row;
    const [columns, as, fixed] = [this.#columns, this.#as, this.#fixed];
    const last = ends[base + row.count - 1]!;
    const named = company === '' ? '' : COMPANY + jsonString(company);
    out.write(this.#head + jsonString(id) + named + METADATA_OPEN, this.#around + last - starts[base]!);
    // The comma of the first member is where the brace will be.
    const open = --out.length;
    let at = open;
    this.quotes = 0;
    for (let member = 0; member < columns.length; member++) {
      const cell = base + columns[member]!;
      const start = starts[cell]!;
      const end = ends[cell]!;
      if (start === end && empty === null) continue;
      at = fixed.write(Fixed.keys + member, out.view, at);
      if (start === end) at = fixed.write(Fixed.empty, out.view, at);
      else if (as[member] === As.raw) {
        at = copy(view, start, end, out.view, at);
        this.quotes += 2;
      } else if (as[member] === As.converted) at = this.#text(converted[member]!, out, at, last - start);
      else {
        const kind = kinds[cell]!;
        out.bytes[at++] = QUOTE;
        if ((kind & (ESCAPED | DOUBLED)) === 0) at = copy(view, start, end, out.view, at);
        else {
          out.length = at;
          out.reserve(LONGEST_ESCAPE * (end - start) + this.#around + last - start);
          at = copyEscaped(row.bytes, start, end, out.bytes, at, kind & DOUBLED ? 1 : 0);
        }
        out.bytes[at++] = QUOTE;
      }
    }
    if (spread !== '') at = this.#text(spread, out, at, 0);
    at = fixed.write(Fixed.constants, out.view, at);
    if (at > open) {
      out.bytes[open] = OPEN_BRACE;
      out.bytes[at++] = CLOSE_BRACE;
    } else at = open - METADATA_OPEN.length + 1;
    out.bytes[at++] = CLOSE_BRACE;
    out.length = at;
  }

  /** Writes a text at an offset. @param rest bytes of the cells that follow @returns the offset after it */
  #text(text: string, out: Output, at: number, rest: number): number {
    out.length = at;
    out.write(text, this.#around + rest);
    return out.length;
  }
}

/** The version of the rules by which a record becomes an item. Runs begun under other rules are not continued. */
export const ITEM_FORMAT_VERSION = 1;
