/** Writes the items of rows whose cells are in columns. Most cells are metadata as they are, and are copied. */
import type { RowWriter } from '../format.js';
import { type FieldStats, isSeen } from '../json/fields.js';
import { type Field, type JsonRecord, recordReader } from '../json/items.js';
import { BOOLEAN, skipSpace, TEXT } from '../json/look.js';
import { Members } from '../json/members.js';
import { jsonString } from '../json/text.js';
import { ItemValues } from '../json/values.js';
import { ABSENT, AS_JSON, type CellColumn, ESCAPED_TEXT, type Rows } from '../rows.js';
import { copy, type Output, QUOTE, viewOf, writeFixed } from '../text/bytes.js';
import type { OpenedInput } from '../types.js';
import { MOST_COLUMNS, type Refusal } from '../wording.js';

/** A column of a batch. */
interface Column extends Pick<CellColumn, 'starts' | 'kinds'> {
  bytes: Buffer;
  view: DataView;
  field: Field;
  /** Whether its texts, numbers, and booleans are sent as they are. */
  isPlain: boolean;
  /** What its values are counted in. */
  stats: FieldStats | null;
}

export class ParquetWriter implements RowWriter {
  readonly quotes = 0;
  readonly values: ItemValues;
  readonly #cell = new CellValue();
  // Of the current batch.
  #lines!: Rows['lines'];
  #refused!: ReadonlyMap<number, string | null>;
  #record!: (number: number) => JsonRecord;
  #identifiers: Column[] = [];
  #others: Column[] = [];

  constructor(private readonly input: OpenedInput) {
    this.values = new ItemValues(input);
  }

  get id(): string {
    return this.values.id;
  }

  get company(): string {
    return this.values.company;
  }

  begin(batch: Rows): void {
    const { lines, odd, cells = [] } = batch;
    const { columns } = this.input;
    const { values } = this;
    this.#lines = lines;
    this.#refused = new Map(odd?.map(({ number, reason }) => [number, reason]));
    const opened = cells.map(({ bytes, starts, kinds }, at): Column => {
      const field = values.fields.outer.named(columns[at]!);
      const isPlain = values.isPlain(field.target);
      const stats = values.sink?.statsOf(field.target) ?? null;
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return { bytes: buffer, view: viewOf(buffer), starts, kinds, field, isPlain, stats };
    });
    const isIdentifier = ({ field: { target } }: Column): boolean =>
      target.role === 'id' || target.role === 'company';
    this.#identifiers = opened.filter(isIdentifier);
    this.#others = opened.filter((column) => !isIdentifier(column));
    this.#record = recordReader(batch, this.input, (number) => objectOf(opened, number));
  }

  /** As JSON. */
  original(number: number): { item: string } {
    return { item: this.#record(number).text };
  }

  write(number: number, out: Output): Refusal | null {
    const refused = this.#refused.get(number);
    if (refused) return refused;
    const { values } = this;
    if (values.begin(this.#lines[number]!)) {
      for (const column of [...this.#identifiers, ...this.#others])
        column.field = values.fields.outer.named(column.field.name);
    }
    for (const column of this.#identifiers) {
      const kind = kindOf(column, number);
      if (kind !== ABSENT) this.#take(column, number, kind);
    }
    const start = values.open(out, 0);
    values.out = out;
    for (const column of this.#others) {
      const kind = kindOf(column, number);
      if (kind === ABSENT) continue;
      const isCopied = column.isPlain && kind <= BOOLEAN && values.keys < MOST_COLUMNS;
      if (isCopied && column.field.key.item !== values.item) this.#copy(column, number, kind, out);
      else this.#take(column, number, kind);
    }
    if (!values.end()) throw new Error('an object in a cell cannot be read');
    values.close(out, start);
    return values.refusal;
  }

  #take(column: Column, number: number, kind: number): void {
    this.#cell.show(column, number, kind);
    this.values.take(column.field, this.#cell, false);
  }

  /** Does what `take` does with most cells: texts, numbers, and booleans that are metadata as they are. */
  #copy(column: Column, number: number, kind: number, out: Output): void {
    const { starts, field, stats } = column;
    const { values } = this;
    values.keys++;
    field.item = field.key.item = values.item;
    if (stats !== null) {
      if (isSeen(stats, kind)) stats.counts[kind]!++;
      else {
        this.#cell.show(column, number, kind);
        this.#cell.parse();
        values.sink!.add(field.target, this.#cell, values.line);
      }
    }
    const { text } = field;
    const [start, end] = [starts[number]!, starts[number + 1]!];
    out.reserve(text.length + end - start + 2);
    let at = writeFixed(text, out.view, out.length);
    if (kind === TEXT) out.bytes[at++] = QUOTE;
    at = copy(column.view, start, end, out.view, at);
    if (kind === TEXT) out.bytes[at++] = QUOTE;
    out.length = at;
  }
}

const kindOf = ({ kinds }: Column, number: number): number => (kinds === null ? TEXT : kinds[number]!);

/** A cell, as if it was the value of a member. */
class CellValue extends Members {
  /** Whether it is a text without quotes around it. */
  #isBare = false;

  /** @param kind of the cell, which is not absent */
  show({ bytes, view, starts }: Column, number: number, kind: number): void {
    const [start, end] = [starts[number]!, starts[number + 1]!];
    this.bytes = bytes;
    this.view = view;
    this.#isBare = kind === TEXT || kind === ESCAPED_TEXT;
    if (kind === AS_JSON) this.setValue(skipSpace(bytes, start), end);
    else this.setScalar(start, end, this.#isBare ? TEXT : kind);
    if (kind === ESCAPED_TEXT) this.set(bytes.toString('utf8', start, end));
  }

  override get text(): string {
    return this.#isBare ? `"${super.text}"` : super.text;
  }

  protected override parsed(): unknown {
    return this.#isBare ? super.text : super.parsed();
  }

  override copyTo(to: DataView, at: number): number {
    if (!this.#isBare) return super.copyTo(to, at);
    to.setUint8(at, QUOTE);
    const end = copy(this.view, this.start, this.end, to, at + 1);
    to.setUint8(end, QUOTE);
    return end + 1;
  }
}

/** A row as the JSON text of an object. */
function objectOf(columns: readonly Column[], number: number): Buffer {
  const members = columns.flatMap((column) => {
    const kind = kindOf(column, number);
    if (kind === ABSENT) return [];
    const { bytes, starts, field } = column;
    const written = bytes.toString('utf8', starts[number], starts[number + 1]);
    const isBare = kind === TEXT || kind === ESCAPED_TEXT;
    return [`${jsonString(field.name)}:${isBare ? jsonString(written) : written}`];
  });
  return Buffer.from(`{${members.join(',')}}`);
}
