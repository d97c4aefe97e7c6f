/**
 * The fast path: builds items without parsing them, by copying values as they are in the file. The result is the same,
 * byte for byte, as the layout's. Anything unusual is left to the layout, which alone knows reasons for rejecting.
 */

import { cleaner } from '../identifier.js';
import { RawItem } from '../item-text.js';
import { copy, type Memory, viewOf } from '../text/fours.js';
import type { OpenedInput } from '../types.js';
import { COMMA, Is, skipSpace } from './bytes.js';
import { type Field, Fields, Keys } from './fields.js';
import { isOfType, targetsOfItems } from './layout.js';
import { Members } from './members.js';
import { membersText } from './text.js';
import { type JsonType, jsonTypeOf, numberOf } from './totals.js';

/** The JSON type of each `Is`, in its order. */
const TYPES: readonly JsonType[] = ['string', 'string', 'integer', 'number', 'boolean', 'null', 'object'];
const NUMBERS = Uint8Array.from(TYPES, numberOf);

/** The JSON type of a member. */
export function typeOf(members: Members, index: number): JsonType {
  const kind = members.kinds[index]!;
  return kind === Is.other ? jsonTypeOf(members.respelled[index]!.value) : TYPES[kind]!;
}

/** The type number of a member. */
export function typeNumberOf(members: Members, index: number): number {
  const kind = members.kinds[index]!;
  return kind === Is.other ? numberOf(typeOf(members, index)) : NUMBERS[kind]!;
}

/** Reads one item after another into the same memory. */
export class PlainItem extends RawItem {
  readonly flat: Members;
  readonly nested: Members;
  readonly #fields: readonly Fields[];
  /** No item is plain: text is cleaned, or the items of a rejects file are checked one by one. */
  readonly #changes: boolean;
  /** The fields of all columns, for batches whose reader gives `values`. */
  readonly #columns: readonly Field[] | null;
  #values: Uint32Array | null = null;
  #item = 0;
  /** Bytes of the members placed so far, each with a comma before it. */
  #body = 0;

  constructor(input: OpenedInput) {
    const { constants } = input;
    super(input, membersText(constants));
    const keys = new Keys(new Set(constants.map(([key]) => key)));
    const targets = targetsOfItems(input);
    const [flat, nested] = [new Fields(targets.flat, keys), new Fields(targets.nested, keys)];
    this.#fields = [flat, nested];
    this.#columns = flat.ofColumns(input.columns);
    this.flat = new Members(flat);
    this.nested = new Members(nested);
    this.#changes = cleaner(input.rules) !== null || input.again !== undefined;
  }

  /** @param values given if the reader wrote the records itself */
  begin(batch: Uint8Array, values?: Uint32Array): void {
    this.#values = (this.#columns && values) ?? null;
    this.bytes = Buffer.from(batch.buffer, batch.byteOffset, batch.byteLength);
    this.view = viewOf(batch);
    for (const fields of this.#fields) fields.forgetParts();
    for (const members of [this.flat, this.nested]) members.respelled.length = 0;
  }

  /**
   * Reads the item from `start` to `end`. False if it is not plain; the results are then undefined.
   * @param number index of the record in its batch
   */
  read(start: number, end: number, number = 0): boolean {
    if (this.#changes) return false;
    const { bytes, flat, nested } = this;
    this.#item++;
    nested.count = 0;
    if (this.#values !== null) {
      const columns = this.#columns!;
      const from = number * columns.length;
      if (!flat.take(bytes, this.view, start, this.#item, columns, this.#values, from)) return false;
    } else {
      const at = flat.read(bytes, this.view, skipSpace(bytes, start), end, this.#item, nested);
      if (at === -1 || at > end || skipSpace(bytes, at) < end) return false;
    }
    this.id = this.idEnd = this.company = this.companyEnd = 0;
    this.#body = 0;
    for (let index = 0; index < flat.count; index++) if (!this.#takeFlat(index)) return false;
    if (this.idEnd === this.id) return false;
    for (let index = 0; index < nested.count; index++) if (!this.#takeNested(index)) return false;
    this.measure(this.#body);
    return true;
  }

  protected writeMembers(target: Memory, at: number): number {
    return this.#write(this.nested, target, this.#write(this.flat, target, at));
  }

  #takeFlat(index: number): boolean {
    const { flat } = this;
    const { target } = flat.fields[index]!;
    flat.placed[index] = 0;
    switch (target.role) {
      case 'metadata':
        return this.#place(flat, index);
      case 'id':
        if (!this.#isText(index) || target.pinned === 'lower') return false;
        this.id = flat.starts[index]! + this.#quote(index);
        this.idEnd = flat.ends[index]! - this.#quote(index);
        return this.isIdentifier(this.id, this.idEnd, target.column);
      case 'company':
        if (flat.kinds[index] === Is.null) return true;
        if (!this.#isText(index) || target.pinned === 'lower') return false;
        this.company = flat.starts[index]! + this.#quote(index);
        this.companyEnd = flat.ends[index]! - this.#quote(index);
        return this.isIdentifier(this.company, this.companyEnd, target.column);
      case 'spread':
        return flat.kinds[index] === Is.null || flat.kinds[index] === Is.spread;
      case 'ignored':
        return true;
    }
  }

  /** Whether it is text, or a whole number, which is sent as text. */
  #isText(index: number): boolean {
    const kind = this.flat.kinds[index];
    return kind === Is.text || kind === Is.integer;
  }

  #quote(index: number): number {
    return this.flat.kinds[index] === Is.text ? 1 : 0;
  }

  /** Leaves out a member that is replaced by a value set for every item. */
  #takeNested(index: number): boolean {
    const { nested } = this;
    const { key } = nested.fields[index]!;
    nested.placed[index] = 0;
    if (key === null || key.constant) return true;
    return this.#place(nested, index);
  }

  #place(members: Members, index: number): boolean {
    const { target, key } = members.fields[index]!;
    if (key!.item === this.#item) return false;
    key!.item = this.#item;
    if (target.pinned !== null && !isOfType(typeOf(members, index), target.pinned)) return false;
    members.placed[index] = 1;
    this.#body +=
      key!.text.length +
      (members.kinds[index] === Is.other
        ? Buffer.byteLength(members.respelled[index]!.json)
        : members.ends[index]! - members.starts[index]!);
    return true;
  }

  #write(members: Members, { bytes: target, view }: Memory, start: number): number {
    const bytes = this.view;
    let at = start;
    /** The stretch of text to copy next, as it is. */
    let from = 0;
    let to = NOWHERE;
    for (let index = 0; index < members.count; index++) {
      if (members.placed[index] === 0) continue;
      if (members.isVerbatim(index)) {
        // With nothing but a comma between them, two members are one stretch.
        if (members.names[index] !== to + 1) {
          at = copy(bytes, from, to, view, at);
          target[at++] = COMMA;
          from = members.names[index]!;
        }
        to = members.ends[index]!;
        continue;
      }
      at = copy(bytes, from, to, view, at);
      from = 0;
      to = NOWHERE;
      const { text } = members.fields[index]!.key!;
      target.set(text, at);
      at += text.length;
      if (members.kinds[index] === Is.other) at += target.write(members.respelled[index]!.json, at);
      else at = copy(bytes, members.starts[index]!, members.ends[index]!, view, at);
    }
    return copy(bytes, from, to, view, at);
  }
}

/** An end before any beginning, and not next to any name. */
const NOWHERE = -2;
