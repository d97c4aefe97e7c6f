/** The columns of a row group, read side by side: each writes the member of the row at hand as JSON. */
import type { SchemaElement, SchemaTree } from 'hyparquet';
import { assembleLists, assembleNested } from 'hyparquet/src/assemble.js';
import { DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import { Is, written } from '../json/bytes.js';
import { jsonString } from '../json/text.js';
import { Output } from '../text/output.js';
import { type ColumnChunkPlace, type Dictionary, type Page, Pages } from './pages.js';
import {
  BadValueError,
  converterOf,
  isJson,
  isPlainNumber,
  isText,
  type JsonValue,
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
}

/** A column at the row after those that were written. */
export interface Column {
  /** Has rows at hand, and tells how many; 0 after the last. */
  ready(): number | Promise<number>;
  /** Writes `,"key":value` of the next row, or nothing. @returns the `written` value */
  write(out: Output): number;
}

const keyOf = ({ name }: Member): Buffer => Buffer.from(`,${jsonString(name)}:`);

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
  readonly #key: Buffer;
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
  /** Of a page of texts: its bytes, and where the next one begins. */
  #bytes: Uint8Array = new Uint8Array(0);
  #offset = 0;
  #dictionary: Dictionary | null = null;
  /** The members that its values make, one after another; where each begins, and what its value is. */
  readonly #entries = new Output(256);
  #starts = new Uint32Array(1);
  #kinds = new Uint8Array(0);
  /** Of values that are none: what is thrown in the row that has one. */
  #bad = new Map<number, unknown>();

  constructor(place: ColumnChunkPlace, member: Member) {
    this.#pages = new Pages(place);
    this.#member = member;
    this.#key = keyOf(member);
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
    this.#row = this.#value = 0;
    if (page?.values.from === 'texts') {
      const { view, offset } = page.values;
      this.#bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
      this.#offset = offset;
    }
    if (page?.values.from === 'dictionary' && this.#dictionary !== this.#pages.dictionary) {
      this.#dictionary = this.#pages.dictionary;
      this.#writeEntries(this.#dictionary);
    }
    return page?.count ?? 0;
  }

  write(out: Output): number {
    const { definition, values } = this.#page!;
    if (definition && definition[this.#row++] === 0) return this.#missing(out);
    if (!definition) this.#row++;
    if (values.from === 'texts') return this.#writeText(out, values.view);
    if (values.from === 'list') return this.#writeValue(out, values.list[this.#value++]);
    return this.#writeEntry(out, values.indices[this.#value++]!);
  }

  #missing(out: Output): number {
    const { missing } = this.#member;
    if (missing === null) return 0;
    out.copy(this.#key);
    out.write(missing);
    return written(missing.length, Is.other);
  }

  #writeText(out: Output, view: DataView): number {
    const start = this.#offset + 4;
    const end = start + view.getUint32(this.#offset, true);
    if (end > view.byteLength) throw new Error('a text is cut off');
    this.#offset = end;
    const bytes = this.#bytes;
    if (this.#copies) {
      const before = out.length;
      out.copy(this.#key);
      if (out.copyText(bytes, start, end)) return written(end - start + 2, Is.text);
      out.length = before;
    }
    return this.#writeValue(out, bytes.subarray(start, end));
  }

  /** Most values of a dictionary are met, and many of them often: each is written once. */
  #writeEntries({ view, count }: Dictionary): void {
    const entries = this.#entries;
    const starts = new Uint32Array(count + 1);
    const kinds = new Uint8Array(count);
    const list = this.#copies ? null : this.#pages.dictionaryList;
    this.#bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    this.#offset = 0;
    this.#bad = new Map();
    entries.length = 0;
    for (let index = 0; index < count; index++) {
      try {
        kinds[index] =
          (list === null ? this.#writeText(entries, view) : this.#writeValue(entries, list[index])) & 7;
      } catch (error) {
        if (!(error instanceof BadValueError)) throw error;
        entries.length = starts[index]!;
        this.#bad.set(index, error);
      }
      starts[index + 1] = entries.length;
    }
    this.#starts = starts;
    this.#kinds = kinds;
  }

  #writeEntry(out: Output, index: number): number {
    const starts = this.#starts;
    if (index >= starts.length - 1) throw new Error('a value is not in its dictionary');
    if (this.#bad.size > 0 && this.#bad.has(index)) throw this.#bad.get(index);
    const [start, end] = [starts[index]!, starts[index + 1]!];
    if (start === end) return 0;
    out.copy(this.#entries.bytes, start, end);
    return written(end - start - this.#key.length, this.#kinds[index]!);
  }

  #writeValue(out: Output, raw: unknown): number {
    if (this.#number && typeof raw === 'number') {
      const before = out.length;
      out.copy(this.#key);
      const start = out.length;
      if (out.writeNumber(raw)) {
        return written(out.length - start, Number.isInteger(raw) ? Is.integer : Is.decimal);
      }
      out.length = before;
    }
    const json = this.#json(raw);
    if (json === null) return this.#missing(out);
    out.copy(this.#key);
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

/** Rows of a nested column that are made at once. */
const STEP_ROWS = 1000;

/** A list, a map or a structure: several columns in the file. */
export class NestedColumn implements Column {
  readonly #tree: SchemaTree;
  readonly #leaves: NestedLeaf[];
  readonly #member: Member;
  readonly #key: Buffer;
  #rows: ArrayLike<unknown> = [];
  #at = 0;

  constructor(tree: SchemaTree, places: readonly ColumnChunkPlace[], member: Member) {
    this.#tree = tree;
    this.#leaves = places.map((place) => new NestedLeaf(place));
    this.#member = member;
    this.#key = keyOf(member);
  }

  async ready(): Promise<number> {
    if (this.#at < this.#rows.length) return this.#rows.length - this.#at;
    const counts = await Promise.all(this.#leaves.map((leaf) => leaf.fill(STEP_ROWS)));
    const count = Math.min(...counts, STEP_ROWS);
    this.#at = 0;
    this.#rows = [];
    if (count === 0) return 0;
    const parts = new Map(this.#leaves.map((leaf) => [leaf.path, leaf.take(count)]));
    assembleNested(parts as never, this.#tree, DEFAULT_PARSERS);
    this.#rows = parts.get(this.#tree.path.join('.'))!;
    return this.#rows.length;
  }

  write(out: Output): number {
    const value = this.#rows[this.#at++];
    const json =
      value === null || value === undefined ? this.#member.missing : JSON.stringify(value, withBigInts);
    if (json === null) return 0;
    out.copy(this.#key);
    const start = out.length;
    out.write(json);
    return written(out.length - start, Is.other);
  }
}

/** What hyparquet takes out of variants. */
function withBigInts(_: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value === undefined ? null : value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}

/** One column of a nested one: its values, put back into the lists of their rows. */
class NestedLeaf {
  readonly path: string;
  readonly #pages: Pages;
  readonly #schemaPath: SchemaTree[];
  readonly #convert: (raw: unknown) => unknown;
  /** While pages are left, the last row may continue in the next one. */
  #rows: unknown[] = [];

  constructor(place: ColumnChunkPlace) {
    const { element } = place.schemaPath.at(-1)!;
    this.path = place.meta.path_in_schema.join('.');
    this.#pages = new Pages(place);
    this.#schemaPath = place.schemaPath;
    const variant = place.schemaPath.some((node) => node.element.logical_type?.type === 'VARIANT');
    const binary = element.type === 'BYTE_ARRAY' && element.converted_type !== 'UTF8';
    // A variant is encoded in bytes, which hyparquet decodes once they are together.
    this.#convert = variant && binary ? (raw) => raw : converterOf(element, false);
  }

  /** Has so many whole rows, or all that are left. @returns how many */
  async fill(rows: number): Promise<number> {
    while (this.#whole() < rows) {
      const page = await this.#pages.next();
      if (page === null) break;
      this.#add(page);
    }
    return this.#whole();
  }

  #whole(): number {
    return Math.max(this.#pages.left > 0 ? this.#rows.length - 1 : this.#rows.length, 0);
  }

  take(count: number): unknown[] {
    return this.#rows.splice(0, count);
  }

  #add({ definition, repetition, values, count }: Page): void {
    const found = valuesOf(values, this.#pages, count).map((raw) => this.#convert(raw));
    const levels = definition ? Array.from(definition) : undefined;
    const lists = repetition ? Array.from(repetition) : [];
    const rows = assembleLists(this.#rows, levels, lists, found, this.#schemaPath) as unknown[];
    if (rows === this.#rows) return;
    for (const row of rows) this.#rows.push(row);
  }
}

/** The values of a page, decoded. */
function valuesOf(values: Page['values'], pages: Pages, most: number): unknown[] {
  if (values.from === 'list') return Array.from(values.list);
  if (values.from === 'dictionary') {
    const { dictionaryList } = pages;
    return Array.from(values.indices, (index) => dictionaryList[index]);
  }
  const { view } = values;
  const found: unknown[] = [];
  for (let at = values.offset; at + 4 <= view.byteLength && found.length < most; ) {
    const length = view.getUint32(at, true);
    at += 4;
    if (at + length > view.byteLength) throw new Error('a text is cut off');
    found.push(new Uint8Array(view.buffer, view.byteOffset + at, length));
    at += length;
  }
  return found;
}
