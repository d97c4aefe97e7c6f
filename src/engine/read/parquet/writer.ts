/** Writes the items of rows whose cells are JSON texts: most are copied, others are read again as whole items. */
import type { ColumnCounter, RowWriter } from '../format.js';
import { cleaner, identifierCheck } from '../identifier.js';
import { As, Converted, ItemWriter } from '../item-writer.js';
import { FieldCounter, type FieldPart, JSON_TYPES } from '../json/fields.js';
import { jsonString, membersText } from '../json/text.js';
import { JsonWriter } from '../json/writer.js';
import { type Target, targeting } from '../mapping/targets.js';
import { CellLists, type Rows } from '../rows.js';
import { copy, viewOf } from '../text/fours.js';
import { Output } from '../text/output.js';
import type { OpenedInput } from '../types.js';
import type { Refusal } from '../wording.js';

/** The kind of cells whose JSON must be looked at. */
const OBJECT = JSON_TYPES.indexOf('object');

const bufferOf = ({ bytes }: Pick<Rows, 'bytes'>): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The rows as JSON objects, one cell each. */
function itemsOf(batch: Rows, { columns }: OpenedInput): Rows {
  const { bytes, starts, ends, width, lines } = batch;
  const view = viewOf(bytes);
  const items = new CellLists(lines.length);
  const out = new Output(2 * bytes.length);
  const names = columns.map((column) => `${jsonString(column)}:`);
  for (let number = 0; number < lines.length; number++) {
    const start = out.length;
    for (let index = 0, cell = number * width; index < width; index++, cell++) {
      if (starts[cell] === ends[cell]) continue;
      out.write((out.length === start ? '{' : ',') + names[index]!, ends[cell]! - starts[cell]!);
      out.length = copy(view, starts[cell]!, ends[cell]!, out.view, out.length);
    }
    out.write(out.length === start ? '{}' : '}');
    items.push(start, out.length, 0);
  }
  return { ...batch, ...items.take(), width: 1, bytes: out.take() };
}

export class ParquetWriter implements RowWriter {
  id = '';
  company = '';
  readonly quotes = 0;
  readonly converted = new Converted(0);
  readonly spread = '';
  /** Writes rows that are not copied, as in JSON. */
  readonly items: JsonWriter;
  /** Whether the last row was copied. */
  isCopied = false;
  batch: Rows | null = null;
  bytes: Buffer = Buffer.alloc(0);
  #view = viewOf(this.bytes);
  /** Whether `items` has the batch. */
  #isBegun = false;
  readonly #input: OpenedInput;
  /** Null if the rules change values. */
  readonly #copier: ItemWriter | null;
  readonly #ids: readonly [id: number, company: number];
  readonly #check: ReturnType<typeof identifierCheck>;

  constructor(input: OpenedInput) {
    const { rules, columns, constants, kind, idColumn, companyIdColumn } = input;
    this.#input = input;
    this.items = new JsonWriter(input);
    const targets = columns.map(targeting(input));
    const members = targets.flatMap(({ role, key }, index) =>
      role === 'metadata' ? [{ index, key: key!, as: As.raw }] : [],
    );
    const isAsItIs = ({ role, pinned }: Target) =>
      role !== 'spread' && (pinned === null || pinned === 'string');
    const isPlain =
      cleaner(rules) === null &&
      targets.every(isAsItIs) &&
      new Set(members.map(({ key }) => key)).size === members.length;
    this.#copier = isPlain ? new ItemWriter(kind, members, membersText(constants), null) : null;
    this.#ids = [columns.indexOf(idColumn), columns.indexOf(companyIdColumn ?? idColumn)];
    this.#check = identifierCheck(rules);
  }

  begin(batch: Rows): void {
    this.batch = batch;
    this.bytes = bufferOf(batch);
    this.#view = viewOf(batch.bytes);
    this.#isBegun = false;
  }

  original(number: number): { item: string } {
    return this.#asItems().original(number);
  }

  write(number: number, out: Output): Refusal | null {
    this.isCopied = this.#copy(number, out);
    if (this.isCopied) return null;
    const reason = this.#asItems().write(number, out);
    this.id = this.items.id;
    this.company = this.items.company;
    return reason;
  }

  #asItems(): JsonWriter {
    if (!this.#isBegun) this.items.begin(itemsOf(this.batch!, this.#input));
    this.#isBegun = true;
    return this.items;
  }

  /** False, and nothing is written, for a row that needs a closer look. */
  #copy(number: number, out: Output): boolean {
    if (this.#copier === null) return false;
    const { starts, ends, kinds, width } = this.batch!;
    const base = number * width;
    let size = 0;
    for (let cell = base; cell < base + width; cell++) {
      if (kinds[cell] === OBJECT) return false;
      size += ends[cell]! - starts[cell]!;
    }
    const [id, company] = this.#ids;
    const sent = this.#identifier(base + id, this.#input.idColumn);
    const named = company === id ? '' : this.#identifier(base + company, this.#input.companyIdColumn!);
    if (!sent || named === null) return false;
    this.id = sent;
    this.company = named;
    this.#copier.write(out, { bytes: this.bytes, view: this.#view, starts, ends, kinds, base }, size, this);
    return true;
  }

  /** Empty for no value; null for one that is perhaps no identifier. */
  #identifier(cell: number, column: string): string | null {
    const json = this.json(cell);
    if (json === '') return '';
    if (!json.startsWith('"')) return /^-?\d+$/.test(json) ? json : null;
    const text = json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
    return text === '' || this.#check(text, column) === null ? text : null;
  }

  /** The text of a cell of the batch. */
  json(cell: number): string {
    const { starts, ends } = this.batch!;
    return this.bytes.toString('utf8', starts[cell], ends[cell]);
  }
}

const TYPES = JSON_TYPES.length;

/** Counts the values of rows that were copied by their kinds. Only the first of each type in a batch is parsed. */
export class ParquetCounter implements ColumnCounter {
  readonly #fields: FieldCounter;
  readonly #targets: readonly Target[];
  readonly #writer: ParquetWriter;
  /** By column and type, beyond the first. */
  #counts: Uint32Array = new Uint32Array(0);
  #seen = new Set<number>();

  constructor(input: OpenedInput, writer: ParquetWriter) {
    this.#writer = writer;
    this.#fields = new FieldCounter(writer.items);
    this.#targets = input.columns.map(targeting(input));
  }

  begin(): void {
    this.#fields.begin();
    this.#counts = new Uint32Array(this.#targets.length * TYPES);
    this.#seen = new Set();
  }

  count(number: number, isAccepted: boolean): void {
    this.#fields.count(number, isAccepted);
    const { isCopied, items, batch } = this.#writer;
    if (!isCopied) return;
    const { starts, ends, kinds, lines, width } = batch!;
    for (let index = 0, cell = number * width; index < width; index++, cell++) {
      if (starts[cell] === ends[cell]) continue;
      const place = index * TYPES + kinds[cell]!;
      if (this.#counts[place]! > 0 || this.#seen.has(place)) this.#counts[place]!++;
      else {
        const json = this.#writer.json(cell);
        const value = { type: kinds[cell]!, read: (): unknown => JSON.parse(json) };
        items.see!(this.#targets[index]!, value, lines[number]!);
        this.#seen.add(place);
      }
    }
  }

  take(): readonly FieldPart[] {
    const parts = this.#fields.take();
    const columns = this.#targets.map(({ column }) => column);
    for (const { column, stats } of parts) {
      const place = columns.indexOf(column) * TYPES;
      if (place >= 0) stats.counts = stats.counts.map((count, type) => count + this.#counts[place + type]!);
    }
    return parts;
  }
}
