/**
 * The fast path: rows whose cells are copied into their items as they are in the file. Equal, byte for byte, to what
 * `itemText` makes of the cells; whatever is not plain is left to the layout, so only it knows reasons.
 */
import type { Converter } from '../conversion/converter.js';
import { type IdentifierCheck, identifierCheck, isSuspect } from '../identifier.js';
import type { RawItem } from '../item-writer.js';
import * as form from '../item-writer.js';
import { CLOSE_BRACE, copy, QUOTE } from '../json/bytes.js';
import type { OpenedInput, RecordBatch, Schema } from '../types.js';
import { Cells } from './cells.js';
import { isPlain } from './dialect.js';
import type { CsvLayout } from './layout.js';

const METADATA_OPEN = Buffer.from(form.METADATA_OPEN);
const COMPANY = Buffer.from(form.COMPANY);

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
  /** Of the members: their columns, `,"key":`, bytes around a cell that is not empty, and what becomes of it. */
  readonly #places: Int32Array;
  readonly #keys: readonly Buffer[];
  readonly #around: Int32Array;
  readonly #as: Uint8Array;
  readonly #converters: readonly (Converter | null)[];
  /** JSON texts of the cells that were converted, where items are made. */
  readonly #converted: string[];
  readonly #makes: boolean;
  readonly #head: Buffer;
  readonly #constants: Buffer;
  /** Of an empty cell; of no bytes where its key is left out. */
  readonly #empty: Buffer;
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
    const { metadata } = layout;
    this.#places = Int32Array.from(metadata, ({ index }) => index);
    this.#keys = metadata.map(({ key }) => Buffer.from(key));
    this.#converters = metadata.map(({ converter }) => converter);
    this.#converted = metadata.map(() => '');
    this.#as = Uint8Array.from(metadata, ({ index, converter }) => {
      if (converter !== null) return As.converted;
      return types === null || types[index] === 'string' ? As.text : As.raw;
    });
    this.#around = Int32Array.from(this.#keys, (key, at) => key.length + (this.#as[at] === As.text ? 2 : 0));
    this.#makes = types !== null;
    this.#head = Buffer.from(layout.head);
    this.#constants = Buffer.from(layout.constants);
    this.#empty = Buffer.from(layout.empty ?? '');
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
    const empty = this.#empty.length;
    let body = this.#constants.length;
    for (let at = 0; at < places.length; at++) {
      const index = places[at]!;
      const length = ends[index]! - starts[index]!;
      if (length === 0) {
        if (empty > 0) body += this.#keys[at]!.length + empty;
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
    this.size = this.#head.length + this.idEnd - this.id + '""}'.length;
    if (this.companyEnd > this.company) this.size += COMPANY.length + this.companyEnd - this.company + 2;
    // The first member has no comma.
    if (body > 0) this.size += METADATA_OPEN.length + body - 1 + form.METADATA_CLOSE.length;
    return true;
  }

  /** Writes the item of the row that was read last, `size` bytes. Only where items are made. */
  write(target: Buffer, start: number): void {
    const { bytes, starts, ends, markup } = this.cells;
    let at = copy(this.#head, 0, this.#head.length, target, start);
    target[at++] = QUOTE;
    at = copy(bytes, this.id, this.idEnd, target, at);
    target[at++] = QUOTE;
    if (this.companyEnd > this.company) {
      at = copy(COMPANY, 0, COMPANY.length, target, at);
      target[at++] = QUOTE;
      at = copy(bytes, this.company, this.companyEnd, target, at);
      target[at++] = QUOTE;
    }
    if (this.#body > 0) {
      const open = at;
      at += METADATA_OPEN.length - 1;
      for (let member = 0; member < this.#places.length; member++) {
        const index = this.#places[member]!;
        const key = this.#keys[member]!;
        const [from, to] = [starts[index]!, ends[index]!];
        if (from === to && this.#empty.length === 0) continue;
        at = copy(key, 0, key.length, target, at);
        if (from === to) at = copy(this.#empty, 0, this.#empty.length, target, at);
        else if (this.#as[member] === As.raw) at = copy(bytes, from, to, target, at);
        else if (this.#as[member] === As.converted) at += target.write(this.#converted[member]!, at);
        else {
          target[at++] = QUOTE;
          if (markup[index] === 0) at = copy(bytes, from, to, target, at);
          else at = this.cells.writeEscaped(index, target, at);
          target[at++] = QUOTE;
        }
      }
      at = copy(this.#constants, 0, this.#constants.length, target, at);
      // Over the comma of the first member.
      copy(METADATA_OPEN, 0, METADATA_OPEN.length, target, open);
      target[at++] = CLOSE_BRACE;
    }
    target[at] = CLOSE_BRACE;
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
