/** The columns of a row group, read side by side: each writes the member of the row at hand as JSON. */
import { isUtf8 } from 'node:buffer';
import type { SchemaElement } from 'hyparquet';
import { Is, written } from '../json/bytes.js';
import { jsonString } from '../json/text.js';
import { viewOf } from '../text/fours.js';
import type { Output } from '../text/output.js';
import type { PageMemory } from './memory.js';
import { type ColumnChunkPlace, type Dictionary, type Page, Pages, type Values } from './pages.js';
import {
  BadValueError,
  converterOf,
  isJson,
  isPlainNumber,
  isText,
  type JsonValue,
  type List,
  textOf,
} from './values.js';

/** How a column goes into items. */
export interface Member {
  name: string;
  /** JSON text of a missing value; null when the key is left out. */
  missing: string | null;
  /** Which values that are not text become text: whole numbers of identifiers, all where the user wants text. */
  asText: 'none' | 'integers' | 'all';
  /** Text that holds a JSON object is that object. */
  spread: boolean;
  /** 64-bit integers that a double cannot hold are among the values. */
  wide: boolean;
  /** For all row groups. */
  memory: PageMemory;
  entries: Output;
}

/** A column at the row after those that were written. */
export interface Column {
  /** Has rows at hand, and tells how many; 0 after the last. */
  ready(): number | Promise<number>;
  /** Writes `,"key":value` of the next row, or nothing. @returns the `written` value */
  write(out: Output): number;
}

/** `,"key":` */
export class Key {
  readonly bytes: number;
  readonly #view: DataView;

  constructor({ name }: Member) {
    const text = `,${jsonString(name)}:`;
    this.bytes = Buffer.byteLength(text);
    this.#view = viewOf(Buffer.from(`${text}   `)); // four bytes are copied at once
  }

  write(out: Output): void {
    out.copy(this.#view, 0, this.bytes);
  }
}

/** JSON text of a value; null for one that is missing. */
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

/** A column without lists and structures: one value a row. */
export class FlatColumn implements Column {
  readonly #pages: Pages;
  readonly #member: Member;
  readonly #key: Key;
  readonly #element: SchemaElement;
  readonly #convert: ReturnType<typeof converterOf>;
  /** Its values are copied, are ASCII whatever they are, or are numbers that are what they are. */
  readonly #copies: boolean;
  readonly #ascii: boolean;
  readonly #number: boolean;
  #page: Page | null = null;
  #row = 0;
  /** Of the page: values so far. */
  #value = 0;
  /** Which of its rows have a value; null where all have one. */
  #definition: Uint8Array | null = null;
  /** Its values: texts and where the next one begins, places in a dictionary, numbers, or others. */
  #from: Values['from'] = 'list';
  #texts = viewOf(new Uint8Array(0));
  #offset = 0;
  /** They and their lengths, all together, are UTF-8. */
  #valid = false;
  #indices: Int32Array = new Int32Array(0);
  #numbers: Float64Array = new Float64Array(0);
  #list: List = [];
  #dictionary: Dictionary | null = null;
  /** The members that its values make, one after another; where each begins, and what its value is. */
  readonly #entries: Output;
  #starts = new Uint32Array(1);
  #kinds = new Uint8Array(0);
  /** Of values that are none: what is thrown in the row that has one. */
  #bad = new Map<number, unknown>();

  constructor(place: ColumnChunkPlace, member: Member) {
    this.#pages = new Pages(place);
    this.#member = member;
    this.#entries = member.entries;
    this.#key = new Key(member);
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

  write(out: Output): number {
    const row = this.#row++;
    if (this.#definition !== null && this.#definition[row] === 0) return this.#missing(out);
    if (this.#from === 'texts') return this.#writeText(out);
    if (this.#from === 'dictionary') return this.#writeEntry(out, this.#indices[this.#value++]!);
    if (this.#from === 'list') return this.#writeValue(out, this.#list[this.#value++]);
    return this.#writeAny(out, this.#numbers[this.#value++]!);
  }

  #missing(out: Output): number {
    const { missing } = this.#member;
    if (missing === null) return 0;
    this.#key.write(out);
    out.write(missing);
    return written(missing.length, Is.other);
  }

  #writeText(out: Output): number {
    const view = this.#texts;
    const start = this.#offset + 4;
    const end = start + view.getUint32(this.#offset, true);
    if (end > view.byteLength) throw new Error('a text is cut off');
    this.#offset = end;
    if (this.#copies) {
      const before = out.length;
      this.#key.write(out);
      if (out.copyText(view, start, end, this.#isValid(end))) return written(end - start + 2, Is.text);
      out.length = before;
    }
    return this.#writeValue(out, new Uint8Array(view.buffer, view.byteOffset + start, end - start));
  }

  /** Looking through all texts of a page at once takes a fraction of the time. Each begins after a length, whose last byte is a character. */
  #isValid(end: number): boolean {
    if (!this.#valid) return false;
    const view = this.#texts;
    // The next length could complete a character that is cut off.
    return end === view.byteLength || (view.getUint8(end) & 0xc0) !== 0x80;
  }

  /** Most values of a dictionary are met, and many of them often: each is written once. */
  #writeEntries({ view, count }: Dictionary): void {
    const entries = this.#entries;
    const starts = new Uint32Array(count + 1);
    const kinds = new Uint8Array(count);
    const list = this.#copies ? null : this.#pages.dictionaryList;
    this.#setTexts(view, 0);
    this.#bad = new Map();
    entries.length = 0;
    // Quotes in place of lengths: it is enough for texts without escapes.
    if (list === null) entries.reserve(view.byteLength + count * this.#key.bytes);
    for (let index = 0; index < count; index++) {
      try {
        kinds[index] = (list === null ? this.#writeText(entries) : this.#writeAny(entries, list[index])) & 7;
      } catch (error) {
        if (!(error instanceof BadValueError)) throw error;
        entries.length = starts[index]!;
        this.#bad.set(index, error);
      }
      starts[index + 1] = entries.length;
    }
    entries.reserve(3); // four bytes are copied at once
    this.#starts = starts;
    this.#kinds = kinds;
    this.#pages.forgetDictionary();
  }

  #writeEntry(out: Output, index: number): number {
    const starts = this.#starts;
    if (index >= starts.length - 1) throw new Error('a value is not in its dictionary');
    if (this.#bad.size > 0 && this.#bad.has(index)) throw this.#bad.get(index);
    const [start, end] = [starts[index]!, starts[index + 1]!];
    if (start === end) return 0;
    out.copy(this.#entries.view, start, end);
    return written(end - start - this.#key.bytes, this.#kinds[index]!);
  }

  #writeAny(out: Output, raw: unknown): number {
    return (typeof raw === 'number' && this.#writeNumber(out, raw)) || this.#writeValue(out, raw);
  }

  /** 0 for one that is not written yet: it is not what it is in the file, or takes longer to spell. */
  #writeNumber(out: Output, number: number): number {
    if (!this.#number) return 0;
    const before = out.length;
    this.#key.write(out);
    const start = out.length;
    if (out.writeNumber(number)) {
      return written(out.length - start, Number.isInteger(number) ? Is.integer : Is.decimal);
    }
    out.length = before;
    return 0;
  }

  #writeValue(out: Output, raw: unknown): number {
    const json = this.#json(raw);
    if (json === null) return this.#missing(out);
    this.#key.write(out);
    const start = out.length;
    if (this.#ascii) out.writeAscii(json);
    else out.write(json);
    return written(out.length - start, Is.other);
  }

  /** JSON stays as it is in the file: read and written again, a number could lose digits. */
  #json(raw: unknown): string | null {
    const { spread } = this.#member;
    if (spread || isJson(this.#element)) {
      const text = textOf(raw as Uint8Array, true);
      try {
        const value: unknown = JSON.parse(text);
        if (!spread || (typeof value === 'object' && value !== null)) return text;
      } catch {} // as text it is shown to the user, or refused with the reason that all formats have
      return jsonString(text);
    }
    return jsonOf(this.#convert(raw), this.#member);
  }
}
