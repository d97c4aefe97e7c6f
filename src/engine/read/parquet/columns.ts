/** The columns of a row group, read in parallel: each writes its member of the current row as JSON. */
import { isUtf8 } from 'node:buffer';
import type { SchemaElement } from 'hyparquet';
import { jsonString } from '../json/text.js';
import { viewOf } from '../text/fours.js';
import type { Output } from '../text/output.js';
import { converterOf, isJson, isPlainNumber, isText, type List } from './converters.js';
import type { PageMemory } from './memory.js';
import { type ColumnChunkPlace, type Dictionary, type Page, Pages, type Values } from './pages.js';
import { BadValueError, type JsonValue, textOf } from './values.js';

/** How a column goes into items. */
export interface Member {
  name: string;
  /** Whether a value that cannot be sent rejects its row: not in a column that is left out, or sent as text. */
  rejects: boolean;
  /** JSON text of a missing value; null to leave the key out. */
  missing: string | null;
  /** Which values become text: whole numbers in identifiers, or all if the user pinned the column to text. */
  asText: 'none' | 'integers' | 'all';
  /** Text that holds a JSON object is written as that object. */
  spread: boolean;
  /** The values include 64-bit integers that a double cannot hold. */
  wide: boolean;
  /** Shared by all row groups, as are the `entries`. */
  memory: PageMemory;
  entries: Output;
}

/** A column, positioned at the next row to write. */
export interface Column {
  readonly key: Key;
  /** Loads rows if none are left. @returns how many can be written; 0 after the last */
  ready(): number | Promise<number>;
  /** Writes `,"key":value` of the next row, or nothing. */
  write(out: Output): void;
}

/** The text `,"key":`. */
export class Key {
  readonly bytes: number;
  readonly #view: DataView;

  constructor(readonly member: Member) {
    const text = `,${jsonString(member.name)}:`;
    this.bytes = Buffer.byteLength(text);
    this.#view = viewOf(Buffer.from(`${text}   `)); // four bytes are copied at once
  }

  write(out: Output): void {
    out.copy(this.#view, 0, this.bytes);
  }

  /** Writes a text as the value. */
  writeText(out: Output, text: string): void {
    this.write(out);
    out.write(jsonString(text));
  }
}

/** JSON text of a value; null for a missing one. */
function jsonOf(value: JsonValue | undefined, { asText }: Member): string | null {
  switch (typeof value) {
    case 'string':
      return jsonString(value);
    case 'number':
      return asText === 'all' || (asText === 'integers' && Number.isSafeInteger(value))
        ? `"${value}"`
        : String(value);
    case 'boolean':
      return asText === 'all' ? `"${value}"` : String(value);
    default:
      return value === null || value === undefined ? null : JSON.stringify(value);
  }
}

/** A column without lists and structures: one value per row. */
export class FlatColumn implements Column {
  readonly #pages: Pages;
  readonly #member: Member;
  readonly key: Key;
  readonly #element: SchemaElement;
  readonly #convert: ReturnType<typeof converterOf>;
  /** Its values are copied as text; their JSON is always ASCII; they are numbers that are sent as they are. */
  readonly #copies: boolean;
  readonly #ascii: boolean;
  readonly #number: boolean;
  #page: Page | null = null;
  #row = 0;
  /** How many values of the page were written. */
  #value = 0;
  /** Which rows of the page have a value; null if all do. */
  #definition: Uint8Array | null = null;
  /** Values of the page: texts and the offset of the next one, indices into a dictionary, numbers, or others. */
  #from: Values['from'] = 'list';
  #texts = viewOf(new Uint8Array(0));
  #offset = 0;
  /** Whether all texts, together with their lengths, are UTF-8. */
  #valid = false;
  #indices: Int32Array = new Int32Array(0);
  #numbers: Float64Array = new Float64Array(0);
  #list: List = [];
  #dictionary: Dictionary | null = null;
  /** The dictionary's values as members, and where each begins. */
  readonly #entries: Output;
  #starts = new Uint32Array(1);
  /** For bad values: the error to throw in the row that has one. */
  #bad = new Map<number, unknown>();

  constructor(place: ColumnChunkPlace, member: Member) {
    this.#pages = new Pages(place);
    this.#member = member;
    this.#entries = member.entries;
    this.key = new Key(member);
    this.#element = place.schemaPath.at(-1)!.element;
    this.#convert = converterOf(this.#element, member.wide);
    this.#copies = isText(this.#element) && !member.spread;
    this.#ascii = this.#element.type !== 'BYTE_ARRAY';
    this.#number = isPlainNumber(this.#element) && member.asText === 'none' && !member.wide;
  }

  ready(): number | Promise<number> {
    const page = this.#page;
    return page && this.#row < page.count ? page.count - this.#row : this.#turn();
  }

  async #turn(): Promise<number> {
    do this.#page = await this.#pages.next();
    while (this.#page && this.#page.count === 0);
    const page = this.#page;
    if (page === null) return 0;
    const { values } = page;
    this.#row = this.#value = 0;
    this.#definition = page.definition;
    this.#from = values.from;
    if (values.from === 'texts') {
      this.#setTexts(values.view, values.offset);
    } else if (values.from === 'numbers') this.#numbers = values.numbers;
    else if (values.from === 'list') this.#list = values.list;
    else {
      this.#indices = values.indices;
      if (this.#dictionary !== this.#pages.dictionary) {
        this.#dictionary = this.#pages.dictionary;
        this.#writeEntries(this.#dictionary);
      }
    }
    return page.count;
  }

  #setTexts(view: DataView, offset: number): void {
    this.#texts = view;
    this.#offset = offset;
    this.#valid =
      this.#copies && isUtf8(new Uint8Array(view.buffer, view.byteOffset + offset, view.byteLength - offset));
  }

  write(out: Output): void {
    const row = this.#row++;
    if (this.#definition !== null && this.#definition[row] === 0) this.#missing(out);
    else if (this.#from === 'texts') this.#writeText(out);
    else if (this.#from === 'dictionary') this.#writeEntry(out, this.#indices[this.#value++]!);
    else if (this.#from === 'list') this.#writeValue(out, this.#list[this.#value++]);
    else this.#writeAny(out, this.#numbers[this.#value++]!);
  }

  #missing(out: Output): void {
    const { missing } = this.#member;
    if (missing === null) return;
    this.key.write(out);
    out.write(missing);
  }

  #writeText(out: Output): void {
    const view = this.#texts;
    const start = this.#offset + 4;
    const end = start + view.getUint32(this.#offset, true);
    if (end > view.byteLength) throw new Error('a text is cut off');
    this.#offset = end;
    if (this.#copies) {
      const before = out.length;
      this.key.write(out);
      if (out.copyText(view, start, end, this.#isValid(end))) return;
      out.length = before;
    }
    this.#writeValue(out, new Uint8Array(view.buffer, view.byteOffset + start, end - start));
  }

  /**
   * Whether the text that ends here is UTF-8. Checking all texts of a page at once takes a fraction of the time; each
   * begins after a length, whose last byte is a character of its own.
   */
  #isValid(end: number): boolean {
    if (!this.#valid) return false;
    const view = this.#texts;
    // The next length could complete a truncated character.
    return end === view.byteLength || (view.getUint8(end) & 0xc0) !== 0x80;
  }

  /** Writes each value of a dictionary once: most of them occur, and many occur often. */
  #writeEntries({ view, count }: Dictionary): void {
    const entries = this.#entries;
    const starts = new Uint32Array(count + 1);
    const list = this.#copies ? null : this.#pages.dictionaryList;
    this.#setTexts(view, 0);
    this.#bad = new Map();
    entries.length = 0;
    // Quotes take no more room than lengths did: this is enough for texts without escapes.
    if (list === null) entries.reserve(view.byteLength + count * this.key.bytes);
    for (let index = 0; index < count; index++) {
      try {
        if (list === null) this.#writeText(entries);
        else this.#writeAny(entries, list[index]);
      } catch (error) {
        if (!(error instanceof BadValueError)) throw error;
        entries.length = starts[index]!;
        this.#bad.set(index, error);
      }
      starts[index + 1] = entries.length;
    }
    entries.reserve(3); // four bytes are copied at once
    this.#starts = starts;
    this.#pages.forgetDictionary();
  }

  #writeEntry(out: Output, index: number): void {
    const starts = this.#starts;
    if (index >= starts.length - 1) throw new Error('a value is not in its dictionary');
    if (this.#bad.size > 0 && this.#bad.has(index)) throw this.#bad.get(index);
    const [start, end] = [starts[index]!, starts[index + 1]!];
    if (start < end) out.copy(this.#entries.view, start, end);
  }

  #writeAny(out: Output, raw: unknown): void {
    if (typeof raw !== 'number' || !this.#writeNumber(out, raw)) this.#writeValue(out, raw);
  }

  /** False, and nothing is written, if the number must be converted or is not a simple one. */
  #writeNumber(out: Output, number: number): boolean {
    if (!this.#number) return false;
    const before = out.length;
    this.key.write(out);
    if (out.writeNumber(number)) return true;
    out.length = before;
    return false;
  }

  #writeValue(out: Output, raw: unknown): void {
    const json = this.#json(raw);
    if (json === null) {
      this.#missing(out);
      return;
    }
    this.key.write(out);
    if (this.#ascii) out.writeAscii(json);
    else out.write(json);
  }

  /** JSON stays as it is in the file: parsed and written again, a number could lose digits. */
  #json(raw: unknown): string | null {
    const { spread } = this.#member;
    if (spread || isJson(this.#element)) {
      const text = textOf(raw as Uint8Array, true);
      try {
        const value: unknown = JSON.parse(text);
        if (!spread || (typeof value === 'object' && value !== null)) return text;
      } catch {} // sent as text, or rejected with the same reason as in other formats
      return jsonString(text);
    }
    return jsonOf(this.#convert(raw), this.#member);
  }
}
