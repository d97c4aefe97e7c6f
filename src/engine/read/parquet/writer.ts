/** Writes the items of rows whose cells are JSON texts: most are copied, others are read again as whole items. */
import type { ColumnCounter, RowWriter } from '../format.js';
import { cleaner, identifierCheck } from '../identifier.js';
import { COMPANY, headOf, METADATA_OPEN } from '../item-text.js';
import { FieldCounter, type FieldPart, JSON_TYPES, jsonTypeOf } from '../json/fields.js';
import { look } from '../json/look.js';
import { ItemList } from '../json/records.js';
import { jsonString, membersText } from '../json/text.js';
import { JsonWriter } from '../json/writer.js';
import { type Target, targeting } from '../mapping/targets.js';
import type { Rows } from '../rows.js';
import { copy, copyWithRoom, viewOf } from '../text/fours.js';
import { Output } from '../text/output.js';
import type { OpenedInput } from '../types.js';
import type { Refusal } from '../wording.js';

const QUOTE = 0x22;
const POINT = 0x2e;
const LETTER_E = 0x65;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** What follows what is copied, four bytes at a time. */
const ROOM = 3;
const fixed = (text: string): DataView => viewOf(Buffer.from(text + ' '.repeat(ROOM)));
const [COMPANY_KEY, METADATA_KEY] = [fixed(COMPANY), fixed(METADATA_OPEN)];

/** The rows as JSON objects, one cell each. */
function itemsOf(batch: Rows, { columns, maxDepth }: OpenedInput): Rows {
  const { bytes, starts, ends, width, lines } = batch;
  const view = viewOf(bytes);
  const items = new ItemList(maxDepth);
  const out = new Output(2 * bytes.length);
  const names = columns.map((column) => `${jsonString(column)}:`);
  for (let number = 0; number < lines.length; number++) {
    const start = out.length;
    for (let index = 0, cell = number * width; index < width; index++, cell++) {
      if (starts[cell] === ends[cell]) continue;
      out.write((out.length === start ? '{' : ',') + names[index]!, ends[cell]! - starts[cell]! + ROOM);
      out.length = copy(view, starts[cell]!, ends[cell]!, out.view, out.length);
    }
    out.write(out.length === start ? '{}' : '}');
    look(out.bytes, out.view, start, out.length, true);
    items.add(start, out.length);
  }
  return { ...batch, ...items.take(), bytes: out.take() };
}

/** The rows as JSON texts. */
export function itemTexts(batch: Rows, input: OpenedInput): string[] {
  const { bytes, starts, ends, lines } = itemsOf(batch, input);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from(lines, (_, number) => text.toString('utf8', starts[number], ends[number]));
}

export class ParquetWriter implements RowWriter {
  id = '';
  company = '';
  readonly quotes = 0;
  /** Writes rows that are not copied, as in JSON. */
  readonly items: JsonWriter;
  /** Whether the last row was copied. */
  isCopied = false;
  batch: Rows | null = null;
  #bytes = Buffer.alloc(0);
  #view = viewOf(this.#bytes);
  /** Whether `items` has the batch. */
  #isBegun = false;
  #odd: ReadonlySet<number> = new Set();
  readonly #input: OpenedInput;
  /** Whether the rules leave values as they are, and whether no cell of the batch must be looked at. */
  readonly #isPlain: boolean;
  #canCopy = false;
  readonly #ids: readonly [id: number, company: number];
  readonly #head: DataView;
  readonly #metadata: readonly { index: number; key: DataView }[];
  readonly #constants: string;
  readonly #check: ReturnType<typeof identifierCheck>;

  constructor(input: OpenedInput) {
    const { rules, columns, constants } = input;
    this.#input = input;
    this.items = new JsonWriter(input);
    const targets = columns.map(targeting(input));
    const metadata = targets.flatMap(({ role, key }, index) =>
      role === 'metadata' ? [{ index, key: key! }] : [],
    );
    const isAsItIs = ({ role, pinned }: Target) =>
      role !== 'spread' && (pinned === null || pinned === 'string');
    this.#isPlain =
      cleaner(rules) === null &&
      targets.every(isAsItIs) &&
      new Set(metadata.map(({ key }) => key)).size === metadata.length;
    this.#ids = [columns.indexOf(input.idColumn), columns.indexOf(input.companyIdColumn ?? input.idColumn)];
    this.#head = fixed(headOf(input.kind));
    this.#metadata = metadata.map(({ index, key }) => ({ index, key: fixed(`,${jsonString(key)}:`) }));
    this.#constants = membersText(constants);
    this.#check = identifierCheck(rules);
  }

  begin(batch: Rows): void {
    this.batch = batch;
    this.#bytes = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
    this.#view = viewOf(batch.bytes);
    this.#odd = new Set(batch.odd?.map(({ number }) => number));
    this.#isBegun = false;
    this.#canCopy = this.#isPlain && !batch.kinds.subarray(0, batch.width).some((kind) => kind !== 0);
  }

  original(number: number): { item: string } {
    return this.#asItems().original(number);
  }

  write(number: number, out: Output): Refusal | null {
    this.isCopied = this.#canCopy && this.#copy(number, out);
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
    const { starts, ends, width } = this.batch!;
    const base = number * width;
    if (this.#odd.has(number)) return false;
    const [id, company] = this.#ids;
    const sent = this.#identifier(base + id, this.#input.idColumn);
    const named = company === id ? '' : this.#identifier(base + company, this.#input.companyIdColumn!);
    if (!sent || named === null) return false;
    this.id = sent;
    this.company = named;
    this.#fixed(this.#head, out);
    this.#sent(base + id, sent, out);
    if (named !== '') {
      this.#fixed(COMPANY_KEY, out);
      this.#sent(base + company, named, out);
    }
    this.#fixed(METADATA_KEY, out);
    // The comma of the first member is where the brace will be.
    const open = --out.length;
    for (const { index, key } of this.#metadata) {
      const [start, end] = [starts[base + index]!, ends[base + index]!];
      if (start === end) continue;
      this.#fixed(key, out);
      this.#cell(start, end, out);
    }
    if (this.#constants !== '') out.write(this.#constants);
    out.reserve(2);
    if (out.length === open) out.length -= METADATA_OPEN.length - 1;
    else {
      out.bytes[open] = OPEN_BRACE;
      out.bytes[out.length++] = CLOSE_BRACE;
    }
    out.bytes[out.length++] = CLOSE_BRACE;
    return true;
  }

  #fixed(text: DataView, out: Output): void {
    out.reserve(text.byteLength);
    out.length = copyWithRoom(text, 0, text.byteLength - ROOM, out.view, out.length);
  }

  #cell(start: number, end: number, out: Output): void {
    out.reserve(end - start + ROOM);
    out.length = copy(this.#view, start, end, out.view, out.length);
  }

  /** Writes an identifier, which may be a number in the file. */
  #sent(cell: number, text: string, out: Output): void {
    const [start, end] = [this.batch!.starts[cell]!, this.batch!.ends[cell]!];
    if (this.#bytes[start] === QUOTE) this.#cell(start, end, out);
    else out.write(jsonString(text));
  }

  /** Empty for no value; null for one that is perhaps no identifier. */
  #identifier(cell: number, column: string): string | null {
    const [start, end] = [this.batch!.starts[cell]!, this.batch!.ends[cell]!];
    if (start === end) return '';
    const json = this.#bytes.toString('utf8', start, end);
    if (this.#bytes[start] !== QUOTE) return /^-?\d+$/.test(json) ? json : null;
    const text = json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
    return text === '' || this.#check(text, column) === null ? text : null;
  }
}

/** Counts the values of rows that were copied by their first bytes. Only the first of each type in a batch is parsed. */
export class ParquetCounter implements ColumnCounter {
  readonly #fields: FieldCounter;
  readonly #targets: readonly Target[];
  readonly #writer: ParquetWriter;
  /** By column and type. */
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

  count(number: number): void {
    if (!this.#writer.isCopied) return;
    const { bytes, starts, ends, lines, width } = this.#writer.batch!;
    for (let index = 0, cell = number * width; index < width; index++, cell++) {
      const [start, end] = [starts[cell]!, ends[cell]!];
      if (start === end) continue;
      const place = index * TYPES + typeOf(bytes, start, end);
      if (this.#counts[place]! > 0 || this.#seen.has(place)) this.#counts[place]!++;
      else {
        const value: unknown = JSON.parse(Buffer.from(bytes.subarray(start, end)).toString());
        this.#writer.items.see!(this.#targets[index]!, value, lines[number]!);
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

const TYPES = JSON_TYPES.length;
const numberOf = (value: unknown): number => JSON_TYPES.indexOf(jsonTypeOf(value));
/** The types of values that do not begin like numbers, by their first bytes. */
const BY_FIRST = new Int8Array(128).fill(-1);
for (const value of ['', true, false, null]) BY_FIRST[JSON.stringify(value).charCodeAt(0)] = numberOf(value);
const [INTEGER, DECIMAL] = [numberOf(1), numberOf(1.5)];

function typeOf(bytes: Uint8Array, start: number, end: number): number {
  const known = BY_FIRST[bytes[start]!]!;
  if (known >= 0) return known;
  let type = INTEGER;
  for (let at = start; at < end; at++) {
    if (bytes[at] === POINT) type = DECIMAL;
    else if (bytes[at] === LETTER_E)
      return numberOf(Number(Buffer.from(bytes.subarray(start, end)).toString()));
  }
  return type;
}
