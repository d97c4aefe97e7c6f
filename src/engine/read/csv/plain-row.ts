/**
 * The fast path: copies cells into items as they are in the file. The result is the same, byte for byte, as that of
 * `itemText`. Anything unusual is left to the layout, which alone knows reasons for rejecting.
 */
import type { Converter } from '../conversion/converter.js';
import { FixedTexts, RawItem } from '../item-text.js';
import { copy, type Memory, QUOTE } from '../text/fours.js';
import type { OpenedInput, RecordBatch, Schema } from '../types.js';
import { Cells } from './cells.js';
import { isPlain } from './dialect.js';
import type { CsvLayout } from './layout.js';

/**
 * Null for an input whose cells must be changed or checked in other ways before they are sent.
 * @param types the types of the items to build, which the cells fit; null to compute only sizes, with every inferred
 * column as text
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

/** How the cells of a column are written as members. */
enum As {
  text,
  /** Unchanged, as in the file. */
  raw,
  converted,
}

/** Reads one row after another into the same memory. */
export class PlainRow extends RawItem {
  readonly cells: Cells;
  readonly #layout: CsvLayout;
  readonly #width: number;
  /** The keys of the members, `,"key":`, and after those an empty cell; without bytes if its key is left out. */
  readonly #keys: FixedTexts;
  /** For each member: its column, the bytes around a cell that is not empty, and how the cell is written. */
  readonly #places: Int32Array;
  readonly #around: Int32Array;
  readonly #as: Uint8Array;
  readonly #converters: readonly (Converter | null)[];
  /** JSON texts of the converted cells, if items are built. */
  readonly #converted: string[];
  readonly #makes: boolean;
  readonly #columns: readonly [id: string, company: string];
  /** With one of these as identifier, a row may repeat the header. */
  readonly #headers: readonly Buffer[];
  #broken: ReadonlySet<number> | null = null;

  constructor(input: OpenedInput, layout: CsvLayout, types: Schema['types'] | null) {
    super(input, layout.constants);
    this.cells = new Cells(input.dialect!.delimiter, input.maxColumns);
    this.#layout = layout;
    this.#width = layout.targets.length;
    const { metadata, empty } = layout;
    this.#keys = new FixedTexts([...metadata.map(({ key }) => key), empty ?? '']);
    this.#places = Int32Array.from(metadata, ({ index }) => index);
    this.#converters = metadata.map(({ converter }) => converter);
    this.#converted = metadata.map(() => '');
    this.#as = Uint8Array.from(metadata, ({ index, converter }) => {
      if (converter !== null) return As.converted;
      return types === null || types[index] === 'string' ? As.text : As.raw;
    });
    this.#around = Int32Array.from(
      metadata,
      (_, at) => this.#keys.length(at) + (this.#as[at] === As.text ? '""'.length : 0),
    );
    this.#makes = types !== null;
    this.#columns = [input.idColumn, input.companyIdColumn ?? ''];
    this.#headers = layout.idsOfHeader.map((name) => Buffer.from(name));
  }

  begin(batch: RecordBatch): void {
    this.cells.begin(batch);
    this.bytes = this.cells.bytes;
    this.view = this.cells.view;
    this.#broken = batch.broken ? new Set(batch.broken.map(({ number }) => number)) : null;
  }

  /** Reads a row of the batch. False if it is not plain; the results are then undefined. */
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
    const keys = this.#keys;
    const empty = keys.length(places.length);
    let body = 0;
    for (let at = 0; at < places.length; at++) {
      const index = places[at]!;
      const length = ends[index]! - starts[index]!;
      if (length === 0) {
        if (empty > 0) body += keys.length(at) + empty;
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
    this.measure(body);
    return true;
  }

  /** Used only if items are built. */
  protected writeMembers(target: Memory, start: number): number {
    const { starts, ends, markup } = this.cells;
    const { bytes, view } = target;
    const [keys, members] = [this.#keys, this.#places.length];
    const empty = keys.length(members);
    let at = start;
    for (let member = 0; member < members; member++) {
      const index = this.#places[member]!;
      const [first, end] = [starts[index]!, ends[index]!];
      const isEmpty = first === end;
      if (isEmpty && empty === 0) continue;
      at = keys.write(member, view, at);
      if (isEmpty) at = keys.write(members, view, at);
      else if (this.#as[member] === As.raw) at = copy(this.view, first, end, view, at);
      else if (this.#as[member] === As.converted) at += bytes.write(this.#converted[member]!, at);
      else {
        bytes[at++] = QUOTE;
        if (markup[index] === 0) at = copy(this.view, first, end, view, at);
        else at = this.cells.writeEscaped(index, target, at);
        bytes[at++] = QUOTE;
      }
    }
    return at;
  }

  /** Whether a cell can be an identifier, written as it is. */
  #isGood(index: number, column: string): boolean {
    const { starts, ends, markup } = this.cells;
    return markup[index] === 0 && this.isIdentifier(starts[index]!, ends[index]!, column);
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

  /** Size of a member's cell after conversion, in bytes; -1 if it does not fit. */
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
