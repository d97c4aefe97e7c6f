/** Reads a list, a map, or a structure of a row group, which is stored as several columns. */
import type { SchemaTree } from 'hyparquet';
import { assembleLists } from 'hyparquet/src/assemble.js';
import type { Output } from '../text/output.js';
import { assemble } from './assembly.js';
import { type Column, Key, type Member } from './columns.js';
import { converterOf, variantConverter } from './converters.js';
import { type ColumnChunkPlace, type Page, Pages } from './pages.js';
import { attempt } from './values.js';

/** How many rows of a nested column to assemble at a time. */
const STEP_ROWS = 1000;

export class NestedColumn implements Column {
  readonly #tree: SchemaTree;
  readonly #leaves: NestedLeaf[];
  readonly #member: Member;
  readonly key: Key;
  #rows: ArrayLike<unknown> = [];
  #at = 0;

  constructor(tree: SchemaTree, places: readonly ColumnChunkPlace[], member: Member) {
    this.#tree = tree;
    this.#leaves = places.map((place) => new NestedLeaf(place));
    this.#member = member;
    this.key = new Key(member);
  }

  async ready(): Promise<number> {
    if (this.#at < this.#rows.length) return this.#rows.length - this.#at;
    const counts = await Promise.all(this.#leaves.map((leaf) => leaf.fill(STEP_ROWS)));
    const count = Math.min(...counts, STEP_ROWS);
    this.#at = 0;
    this.#rows = [];
    if (count === 0) return 0;
    const columns = new Map(this.#leaves.map((leaf) => [leaf.node, leaf.take(count)]));
    this.#rows = columns.size === 0 ? new Array(count) : assemble(this.#tree, columns);
    return this.#rows.length;
  }

  write(out: Output): void {
    const value = this.#rows[this.#at++];
    const json = value === null || value === undefined ? this.#member.missing : JSON.stringify(value, orNull);
    if (json === null) return;
    this.key.write(out);
    out.write(json);
  }
}

/** A member without a value is null: the other rows have it. */
const orNull = (_: string, value: unknown): unknown => (value === undefined ? null : value);

/** One leaf column of a nested column: its values, in the lists of their rows. */
class NestedLeaf {
  readonly node: SchemaTree;
  readonly #pages: Pages;
  readonly #schemaPath: SchemaTree[];
  readonly #convert: (raw: unknown) => unknown;
  /** While pages are left, the last row may continue in the next page. */
  #rows: unknown[] = [];

  constructor(place: ColumnChunkPlace) {
    this.node = place.schemaPath.at(-1)!;
    const { element } = this.node;
    this.#pages = new Pages(place);
    this.#schemaPath = place.schemaPath;
    const isVariant = place.schemaPath.some((node) => node.element.logical_type?.type === 'VARIANT');
    if (!isVariant) this.#convert = converterOf(element, false);
    else if (element.name === 'typed_value') this.#convert = variantConverter(element);
    // The bytes of a variant are read once it is assembled; by then, the next page may be in the page's memory.
    else this.#convert = (raw) => Uint8Array.from(raw as Uint8Array);
  }

  /** Reads until `rows` whole rows are there, or all that are left. @returns how many there are */
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
    const found = valuesOf(values, this.#pages, count).map((raw) => attempt(() => this.#convert(raw)));
    const levels = definition ? Array.from(definition) : undefined;
    const lists = repetition ? Array.from(repetition) : [];
    const rows = assembleLists(this.#rows, levels, lists, found, this.#schemaPath) as unknown[];
    if (rows === this.#rows) return;
    for (const row of rows) this.#rows.push(row);
  }
}

/** The values of a page, decoded. */
function valuesOf(values: Page['values'], pages: Pages, most: number): unknown[] {
  if (values.from === 'list') return Array.from<unknown>(values.list);
  if (values.from === 'numbers') return Array.from(values.numbers);
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
