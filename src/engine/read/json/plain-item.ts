/**
 * The fast path: items laid out without being parsed, whose values are copied as they are in the file. Equal, byte for
 * byte, to what the layout makes of the parsed item; whatever is not plain is left to it, so only it knows reasons.
 */

import { cleaner, type IdentifierCheck, identifierCheck, isSuspect } from '../identifier.js';
import type { RawItem } from '../item-writer.js';
import * as form from '../item-writer.js';
import { copy, type Memory, QUOTE, viewOf } from '../text/fours.js';
import type { OpenedInput } from '../types.js';
import { CLOSE_BRACE, COMMA, Is, skipSpace } from './bytes.js';
import { type Field, Fields, Keys } from './fields.js';
import { isOfType, targetsOfItems } from './layout.js';
import { Members } from './members.js';
import { membersText } from './text.js';
import { type JsonType, jsonTypeOf, numberOf } from './totals.js';

const METADATA_OPEN = Buffer.from(form.METADATA_OPEN);
const COMPANY = Buffer.from(form.COMPANY);

/** In the order of `Is`, as far as bytes tell. */
const TYPES: readonly JsonType[] = ['string', 'string', 'integer', 'number', 'boolean', 'null', 'object'];
const NUMBERS = Uint8Array.from(TYPES, numberOf);

/** The JSON type of a member. */
export function typeOf(members: Members, index: number): JsonType {
  const kind = members.kinds[index]!;
  return kind === Is.other ? jsonTypeOf(members.respelled[index]!.value) : TYPES[kind]!;
}

/** The number of that type. */
export function typeNumberOf(members: Members, index: number): number {
  const kind = members.kinds[index]!;
  return kind === Is.other ? numberOf(typeOf(members, index)) : NUMBERS[kind]!;
}

/** One item after another, in the same memory. */
export class PlainItem implements RawItem {
  /** Of the item that was read last: its bytes as it would be sent. */
  size = 0;
  /** Where the identifier is, without quotes, and a user's company; both 0 where there is none. */
  id = 0;
  idEnd = 0;
  company = 0;
  companyEnd = 0;
  /** The text that the members are in. */
  bytes: Buffer = Buffer.alloc(0);
  #view = viewOf(this.bytes);
  readonly flat: Members;
  readonly nested: Members;
  readonly #fields: readonly Fields[];
  readonly #head: Buffer;
  readonly #constants: Buffer;
  readonly #check: IdentifierCheck | null;
  /** Texts are changed, so none is copied; and items of a rejects file are looked at one by one. */
  readonly #changes: boolean;
  /** Of records whose values are known before they are read. */
  readonly #columns: readonly Field[] | null;
  #values: Uint32Array | null = null;
  #item = 0;
  /** Bytes of the members that are placed, each with a comma before it, and of the constants. */
  #body = 0;

  constructor(input: OpenedInput) {
    const { constants } = input;
    const keys = new Keys(new Set(constants.map(([key]) => key)));
    const targets = targetsOfItems(input);
    const [flat, nested] = [new Fields(targets.flat, keys), new Fields(targets.nested, keys)];
    this.#fields = [flat, nested];
    this.#columns = flat.ofColumns(input.columns);
    this.flat = new Members(flat);
    this.nested = new Members(nested);
    this.#head = Buffer.from(form.headOf(input.kind));
    this.#constants = Buffer.from(membersText(constants));
    this.#check = input.anyId ? null : identifierCheck(input.rules);
    this.#changes = cleaner(input.rules) !== null || input.again !== undefined;
  }

  /** @param values of a batch whose reader wrote it */
  begin(batch: Uint8Array, values?: Uint32Array): void {
    this.#values = (this.#columns && values) ?? null;
    this.bytes = Buffer.from(batch.buffer, batch.byteOffset, batch.byteLength);
    this.#view = viewOf(batch);
    for (const fields of this.#fields) fields.forgetParts();
    for (const members of [this.flat, this.nested]) members.respelled.length = 0;
  }

  /**
   * Reads the item from `start` to `end`. False when it is not plain: nothing is known of it then.
   * @param number of the record in its batch
   */
  read(start: number, end: number, number = 0): boolean {
    if (this.#changes) return false;
    const { bytes, flat, nested } = this;
    this.#item++;
    nested.count = 0;
    if (this.#values !== null) {
      const columns = this.#columns!;
      const from = number * columns.length;
      if (!flat.take(bytes, this.#view, start, this.#item, columns, this.#values, from)) return false;
    } else {
      const at = flat.read(bytes, this.#view, skipSpace(bytes, start), end, this.#item, nested);
      if (at === -1 || at > end || skipSpace(bytes, at) < end) return false;
    }
    this.id = this.idEnd = this.company = this.companyEnd = 0;
    this.#body = this.#constants.length;
    for (let index = 0; index < flat.count; index++) if (!this.#takeFlat(index)) return false;
    if (this.idEnd === this.id) return false;
    for (let index = 0; index < nested.count; index++) if (!this.#takeNested(index)) return false;
    this.size = this.#head.length + this.idEnd - this.id + '""}'.length;
    if (this.companyEnd > this.company) this.size += COMPANY.length + this.companyEnd - this.company + 2;
    // The first member has no comma.
    if (this.#body > 0) this.size += METADATA_OPEN.length + this.#body - 1 + form.METADATA_CLOSE.length;
    return true;
  }

  /** Writes the item that was read last, `size` bytes. */
  write({ bytes: target, view: to }: Memory, start: number): void {
    const from = this.#view;
    target.set(this.#head, start);
    let at = start + this.#head.length;
    target[at++] = QUOTE;
    at = copy(from, this.id, this.idEnd, to, at);
    target[at++] = QUOTE;
    if (this.companyEnd > this.company) {
      target.set(COMPANY, at);
      at += COMPANY.length;
      target[at++] = QUOTE;
      at = copy(from, this.company, this.companyEnd, to, at);
      target[at++] = QUOTE;
    }
    if (this.#body > 0) {
      const open = at;
      at += METADATA_OPEN.length - 1;
      at = this.#writeMembers(this.flat, target, to, at);
      at = this.#writeMembers(this.nested, target, to, at);
      target.set(this.#constants, at);
      at += this.#constants.length;
      // Over the comma of the first member.
      target.set(METADATA_OPEN, open);
      target[at++] = CLOSE_BRACE;
    }
    target[at] = CLOSE_BRACE;
  }

  #takeFlat(index: number): boolean {
    const { flat } = this;
    const { target } = flat.fields[index]!;
    flat.placed[index] = 0;
    switch (target.role) {
      case 'metadata':
        return this.#place(flat, index);
      case 'id':
        if (!this.#isIdentifier(index) || target.pinned === 'lower') return false;
        this.id = flat.starts[index]! + this.#quote(index);
        this.idEnd = flat.ends[index]! - this.#quote(index);
        return this.#isGood(this.id, this.idEnd, target.column);
      case 'company':
        if (flat.kinds[index] === Is.null) return true;
        if (!this.#isIdentifier(index) || target.pinned === 'lower') return false;
        this.company = flat.starts[index]! + this.#quote(index);
        this.companyEnd = flat.ends[index]! - this.#quote(index);
        return this.#isGood(this.company, this.companyEnd, target.column);
      case 'spread':
        return flat.kinds[index] === Is.null || flat.kinds[index] === Is.spread;
      case 'ignored':
        return true;
    }
  }

  /** A text, or a whole number, which is sent as one. */
  #isIdentifier(index: number): boolean {
    const kind = this.flat.kinds[index];
    return kind === Is.text || (kind === Is.integer && this.#check !== null);
  }

  #quote(index: number): number {
    return this.flat.kinds[index] === Is.text ? 1 : 0;
  }

  #isGood(start: number, end: number, column: string): boolean {
    const { bytes } = this;
    if (this.#check === null || end === start || !isSuspect(bytes[start]!, end - start)) return true;
    return this.#check(bytes.toString('utf8', start, end), column) === null;
  }

  /** What a value set for every item replaces is left out. */
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

  #writeMembers(members: Members, target: Buffer, view: DataView, start: number): number {
    const bytes = this.#view;
    let at = start;
    /** A stretch of the text that is copied as it is. */
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

/** Ends before it begins, and before the place next to any name. */
const NOWHERE = -2;
