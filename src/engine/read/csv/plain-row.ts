/**
 * The fast path: rows whose cells are copied into their items as they are in the file. Equal, byte for byte, to what
 * `itemText` makes of the cells; whatever is not plain is left to the layout, so only it knows reasons.
 */
import type { Converter } from '../conversion/converter.js';
import { type IdentifierCheck, identifierCheck, isSuspect } from '../identifier.js';
import type { RawItem } from '../item-writer.js';
import * as form from '../item-writer.js';
import { CLOSE_BRACE, OPEN_BRACE } from '../json/bytes.js';
import { copy, type Memory, QUOTE, viewOf } from '../text/fours.js';
import type { OpenedInput, RecordBatch, Schema } from '../types.js';
import { Cells } from './cells.js';
import { isPlain } from './dialect.js';
import type { CsvLayout } from './layout.js';

/**
 * Null for an input whose cells are changed before they are sent, or looked at in other ways.
 * @param types under which items are made, which the cells fit; null where only their sizes count, with every inferred column as text
 */
export function plainRow(
  input: OpenedInput,
  layout: CsvLayout,
  types: Schema['types'] | null,
): PlainRow | null {
  const { dialect, targets, again, excelText } = input;
  const isChanged =
    again !== undefined ||
    excelText === true ||
    layout.clean !== null ||
    targets.some(({ role, pinned }) => role === 'spread' || (role !== 'metadata' && pinned === 'lower'));
  return isChanged || !isPlain(dialect!) ? null : new PlainRow(input, layout, types);
}

/** What is the same in each item, back to back in one memory. */
class Texts {
  readonly #view: DataView;
  readonly #starts: Int32Array;

  constructor(texts: readonly string[]) {
    let length = 0;
    this.#starts = Int32Array.from([0, ...texts.map((text) => (length += Buffer.byteLength(text)))]);
    // With room behind the last one, all are copied four bytes at once.
    this.#view = viewOf(Buffer.from(`${texts.join('')}   `));
  }

  length(index: number): number {
    return this.#starts[index + 1]! - this.#starts[index]!;
  }

  write(index: number, target: DataView, at: number): number {
    return copy(this.#view, this.#starts[index]!, this.#starts[index + 1]!, target, at);
  }
}

/** Their places; from `keys` on there is one for each member. */
enum Text {
  head,
  company,
  open,
  constants,
  /** Of an empty cell; of no bytes where its key is left out. */
  empty,
  keys,
}

/** How the cells of a column become members. */
enum As {
  text,
  /** As they are in the file. */
  raw,
  converted,
}

/** One row after another, in the same memory. */
export class PlainRow implements RawItem {
  size = 0;
  id = 0;
  idEnd = 0;
  company = 0;
  companyEnd = 0;
  readonly cells: Cells;
  readonly #layout: CsvLayout;
  readonly #width: number;
  readonly #texts: Texts;
  /** Of the members: their columns, bytes around a cell that is not empty, and what becomes of it. */
  readonly #places: Int32Array;
  readonly #around: Int32Array;
  readonly #as: Uint8Array;
  readonly #converters: readonly (Converter | null)[];
  /** JSON texts of the cells that were converted, where items are made. */
  readonly #converted: string[];
  readonly #makes: boolean;
  readonly #check: IdentifierCheck | null;
  readonly #columns: readonly [id: string, company: string];
  /** With one of these as identifier it may be the header again. */
  readonly #headers: readonly Buffer[];
  #broken: ReadonlySet<number> | null = null;
  /** Bytes of the members, each with a comma before it. */
  #body = 0;

  constructor(input: OpenedInput, layout: CsvLayout, types: Schema['types'] | null) {
    this.cells = new Cells(input.dialect!.delimiter);
    this.#layout = layout;
    this.#width = layout.targets.length;
    const { metadata, head, constants, empty } = layout;
    const fixed = [head, form.COMPANY, form.METADATA_OPEN, constants, empty ?? ''];
    this.#texts = new Texts([...fixed, ...metadata.map(({ key }) => key)]);
    this.#places = Int32Array.from(metadata, ({ index }) => index);
    this.#converters = metadata.map(({ converter }) => converter);
    this.#converted = metadata.map(() => '');
    this.#as = Uint8Array.from(metadata, ({ index, converter }) => {
      if (converter !== null) return As.converted;
      return types === null || types[index] === 'string' ? As.text : As.raw;
    });
    this.#around = Int32Array.from(
      metadata,
      (_, at) => this.#texts.length(Text.keys + at) + (this.#as[at] === As.text ? '""'.length : 0),
    );
    this.#makes = types !== null;
    this.#check = input.anyId ? null : identifierCheck(input.rules);
    this.#columns = [input.idColumn, input.companyIdColumn ?? ''];
    this.#headers = layout.idsOfHeader.map((name) => Buffer.from(name));
  }

  get bytes(): Buffer {
    return this.cells.bytes;
  }

  begin(batch: RecordBatch): void {
    this.cells.begin(batch);
    this.#broken = batch.broken ? new Set(batch.broken.map(({ number }) => number)) : null;
  }

  /** Reads a row of the batch. False when it is not plain: nothing is known of it then. */
  read(number: number): boolean {
    const { cells } = this;
    if (cells.read(number) !== this.#width || this.#broken?.has(number)) return false;
    const { starts, ends, markup } = cells;
    const { id, company } = this.#layout;
    this.id = starts[id]!;
    this.idEnd = ends[id]!;
    if (this.id === this.idEnd || !this.#isGood(id, this.#columns[0]) || this.#mayBeHeader()) return false;
    this.company = this.companyEnd = 0;
    if (company >= 0 && starts[company] !== ends[company]) {
      if (!this.#isGood(company, this.#columns[1])) return false;
      this.company = starts[company]!;
      this.companyEnd = ends[company]!;
    }
    const [places, around, as] = [this.#places, this.#around, this.#as];
    const texts = this.#texts;
    const empty = texts.length(Text.empty);
    let body = texts.length(Text.constants);
    for (let at = 0; at < places.length; at++) {
      const index = places[at]!;
      const length = ends[index]! - starts[index]!;
      if (length === 0) {
        if (empty > 0) body += texts.length(Text.keys + at) + empty;
      } else if (as[at] === As.text) {
        body += around[at]! + length + (markup[index]! >> 1);
      } else if (as[at] === As.raw) {
        body += around[at]! + length;
      } else {
        const size = this.#convert(at);
        if (size < 0) return false;
        body += around[at]! + size;
      }
    }
    this.#body = body;
    const named = this.companyEnd - this.company;
    this.size = texts.length(Text.head) + this.idEnd - this.id + '""}'.length;
    if (named > 0) this.size += texts.length(Text.company) + named + '""'.length;
    // The first member has no comma.
    if (body > 0) this.size += texts.length(Text.open) + body - 1 + form.METADATA_CLOSE.length;
    return true;
  }

  /** Writes the item of the row that was read last. Only where items are made. */
  write(target: Memory, start: number): void {
    const { view: from, starts, ends, markup } = this.cells;
    const { bytes, view } = target;
    const texts = this.#texts;
    const empty = texts.length(Text.empty);
    let at = texts.write(Text.head, view, start);
    bytes[at++] = QUOTE;
    at = copy(from, this.id, this.idEnd, view, at);
    bytes[at++] = QUOTE;
    if (this.companyEnd > this.company) {
      at = texts.write(Text.company, view, at);
      bytes[at++] = QUOTE;
      at = copy(from, this.company, this.companyEnd, view, at);
      bytes[at++] = QUOTE;
    }
    if (this.#body > 0) {
      // The comma of the first member comes where the brace is, which is put back.
      const brace = texts.write(Text.open, view, at) - 1;
      at = brace;
      for (let member = 0; member < this.#places.length; member++) {
        const index = this.#places[member]!;
        const [first, end] = [starts[index]!, ends[index]!];
        const isEmpty = first === end;
        if (isEmpty && empty === 0) continue;
        at = texts.write(Text.keys + member, view, at);
        if (isEmpty) at = texts.write(Text.empty, view, at);
        else if (this.#as[member] === As.raw) at = copy(from, first, end, view, at);
        else if (this.#as[member] === As.converted) at += bytes.write(this.#converted[member]!, at);
        else {
          bytes[at++] = QUOTE;
          if (markup[index] === 0) at = copy(from, first, end, view, at);
          else at = this.cells.writeEscaped(index, target, at);
          bytes[at++] = QUOTE;
        }
      }
      at = texts.write(Text.constants, view, at);
      bytes[brace] = OPEN_BRACE;
      bytes[at++] = CLOSE_BRACE;
    }
    bytes[at] = CLOSE_BRACE;
  }

  /** Whether a cell can be an identifier, written as it is. */
  #isGood(index: number, column: string): boolean {
    const { bytes, starts, ends, markup } = this.cells;
    const start = starts[index]!;
    if (markup[index] !== 0) return false;
    if (this.#check === null || !isSuspect(bytes[start]!, ends[index]! - start)) return true;
    return this.#check(this.cells.text(index), column) === null;
  }

  #mayBeHeader(): boolean {
    for (const name of this.#headers) {
      if (name.length !== this.idEnd - this.id) continue;
      let at = 0;
      while (at < name.length && name[at] === this.bytes[this.id + at]) at++;
      if (at === name.length) return true;
    }
    return false;
  }

  /** Bytes that the cell of a member has once it is converted; -1 for one that does not fit. */
  #convert(member: number): number {
    const text = this.cells.text(this.#places[member]!);
    const converter = this.#converters[member]!;
    if (!this.#makes) return converter.size(text);
    const json = converter.json(text);
    if (json === null) return -1;
    this.#converted[member] = json;
    return Buffer.byteLength(json);
  }
}
