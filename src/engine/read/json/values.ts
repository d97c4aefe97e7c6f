/** Takes the values of items: where they go, and why an item cannot be sent (spec: Company, User). */
import type { CellType } from '../../model.js';
import { misfit, sentAs } from '../conversion/types.js';
import { cleaner, type IdentifierCheck } from '../identifier.js';
import { beginItem, EMPTY, endItem, headOf } from '../item-text.js';
import { METADATA, type Target } from '../mapping/targets.js';
import { inputIdCheck } from '../rejects-rows.js';
import { OPEN_BRACE, Output, writeFixed } from '../text/bytes.js';
import type { OpenedInput } from '../types.js';
import {
  MOST_COLUMNS,
  MOST_LEVELS,
  quoted,
  type Refusal,
  shown,
  TOO_MANY_KEYS,
  TOO_MANY_LEVELS,
} from '../wording.js';
import type { FieldSink } from './fields.js';
import { type Field, type Fields, ItemFields } from './items.js';
import { NESTED, NULL } from './look.js';
import { Members } from './members.js';
import { isWhole, JSON_TYPES, type JsonType, jsonTypeOf, membersText } from './text.js';

/** Takes one value after another. The first reason is reported, but all are visited, so that the plan knows them. */
export class ItemValues {
  id = '';
  company = '';
  sink: FieldSink | null = null;
  readonly fields: ItemFields;
  /** The number of the item, and its line. */
  item = 0;
  line = 0;
  /** How many keys it has so far, at all levels. */
  keys = 0;
  readonly #input: OpenedInput;
  readonly #head: string;
  readonly #constants: string;
  readonly #constantKeys: ReadonlySet<string>;
  readonly #empty: string | null;
  readonly #check: IdentifierCheck;
  readonly #clean: ((text: string) => string) | null;
  #reason: Refusal | null = null;
  /** The first thing that would be lost, which is reported instead. */
  #loss: string | null = null;
  /** The members of its metadata. */
  readonly #inner = new Members();
  /** Where the object with these is; null if there is none. */
  #spread: [start: number, end: number] | null = null;

  constructor(
    input: OpenedInput,
    /** Where members of the metadata are written, each with a comma before it. */
    public out = new Output(0),
  ) {
    const { rules, kind, constants } = input;
    this.#input = input;
    this.fields = new ItemFields(input);
    this.#head = headOf(kind);
    this.#constants = membersText(constants);
    this.#constantKeys = new Set(rules.set.map(([key]) => key));
    this.#empty = EMPTY[rules.empty];
    this.#check = inputIdCheck(input);
    this.#clean = cleaner(rules);
  }

  /** Begins an item. @param line for messages @returns whether all fields were forgotten */
  begin(line: number): boolean {
    this.item++;
    this.line = line;
    this.#reason = this.#loss = this.#spread = null;
    this.id = this.company = '';
    this.keys = 0;
    return this.fields.begin();
  }

  /** Writes the beginning of the item, up to the members of its metadata. @returns where they begin */
  open(out: Output, room: number): number {
    return beginItem(out, this.#head, this.id, this.company, room);
  }

  /** Writes its end. @param start as `open` gave it */
  close(out: Output, start: number): void {
    out.write(this.#constants);
    endItem(out, start);
  }

  /** Whether texts, numbers, and booleans of a column are sent as they are. */
  isPlain({ role, pinned }: Target): boolean {
    return role === 'metadata' && pinned === null && this.#clean === null;
  }

  /**
   * Takes what is left after the values of the item: the members of an object whose members are metadata.
   * @returns false if that object cannot be read
   */
  end(): boolean {
    if (this.id === '') {
      const { idColumn } = this.#input;
      const isThere = this.fields.outer.had(idColumn, this.item) !== null;
      this.#reason ??= `${idColumn} is ${isThere ? 'empty' : 'missing'}`;
    }
    if (this.#spread === null) return true;
    const inner = this.#inner;
    if (!inner.begin(...this.#spread)) return false;
    this.takeAll(this.fields.inner, inner, true);
    return inner.after === inner.until;
  }

  /** Why the item cannot be sent; null if it can. */
  get refusal(): Refusal | null {
    return this.#loss ?? this.#reason;
  }

  /** Takes the members of an object. @param isInner whether it is `metadata` */
  takeAll(fields: Fields, members: Members, isInner: boolean): void {
    while (members.next() && members.end >= 0) this.take(fields.of(members), members, isInner);
  }

  /** Takes the value of a field. */
  take(field: Field, value: Members, isInner: boolean): void {
    const { kind } = value;
    // The members of metadata are among those of the item.
    if (!isInner) this.keys += kind === NESTED ? 1 + value.names : 1;
    if (this.keys > MOST_COLUMNS) {
      this.#loss = TOO_MANY_KEYS;
      return;
    }
    const { name, target } = field;
    const { role } = target;
    const isRepeated = field.item === this.item;
    if (isRepeated || field.half !== null) {
      const loss = isRepeated ? `the key ${quoted(name)} appears twice` : field.half;
      this.#loss ??= isInner ? `${METADATA}: ${loss}` : loss;
    }
    field.item = this.item;
    if (role === 'spread' && value.bytes[value.start] === OPEN_BRACE) {
      this.#spread = [value.start, value.end];
      if (this.#inner.bytes !== value.bytes) this.#inner.open(value.bytes);
      return;
    }
    if (kind === NESTED && value.levels > MOST_LEVELS) {
      if (role !== 'ignored') this.#reason ??= `${target.column} ${TOO_MANY_LEVELS}`;
      return;
    }
    value.parse();
    const loss = value.loss(role === 'id' || role === 'company', this.#input.roundNumbers);
    if (loss !== null) this.#loss ??= `${isInner ? `${METADATA}.` : ''}${name}: ${loss}`;
    if (isRepeated) return;
    if (role === 'spread') {
      if (kind !== NULL && target.key !== null)
        this.#reason ??= `${name} is ${article(value.read())}, not an object`;
      return;
    }
    // A value that cleaning emptied is treated like an empty cell.
    const isText = JSON_TYPES[value.type] === 'string';
    const emptied = this.#clean !== null && isText && cleaned(value, this.#clean);
    const flat = isInner ? this.fields.outer.had(name, this.item) : null;
    if (!emptied && flat?.target.column !== target.column) this.sink?.add(target, value, this.line);
    if (role === 'metadata') {
      if (this.#constantKeys.has(target.key!)) return;
      if (flat !== null && target.key === name && field.key.item === this.item) {
        this.#reason ??= `${quoted(name)} appears both beside metadata and inside it`;
      }
      this.#place(field, value, emptied);
    } else if (role === 'id' || (role === 'company' && kind !== NULL)) this.#identify(field, value);
  }

  /** Takes the identifier of the item, or that of a user's company. */
  #identify({ name, target }: Field, value: Members): void {
    const number = isNumber(JSON_TYPES[value.type]!) ? value.text : null;
    const identifier = number !== null && isWhole(number) ? number : value.read();
    if (typeof identifier !== 'string') {
      this.#reason ??= notText(name, identifier, number);
      return;
    }
    if (identifier !== '') this.#reason ??= this.#check(identifier, name);
    const sent = target.pinned === 'lower' ? identifier.toLowerCase() : identifier;
    if (target.role === 'id') this.id = sent;
    else this.company = sent;
  }

  /** Adds a member. */
  #place(
    { target: { column, key, pinned }, text, key: sent, converter }: Field,
    value: Members,
    emptied: boolean,
  ): void {
    const type = JSON_TYPES[value.type]!;
    if (sent.item === this.item) this.#reason ??= `two fields both map to the key ${quoted(key!)}`;
    const isConverted = pinned !== null && isConvertible(type, pinned);
    let json: string | null = null;
    if (emptied || (isConverted && value.read() === '')) {
      json = this.#empty;
      if (json === null) return;
    } else if (isConverted) {
      const cell = String(value.read());
      json = converter!.json(cell);
      if (json === null) {
        this.#reason ??= misfit(column, cell, pinned, converter!);
        return;
      }
    } else if (pinned !== null && !isOfType(type, pinned)) {
      const reason = `${column}: ${shown(value.read())} is not of type ${pinned}`;
      this.#reason ??= { reason, cause: { column, code: 'type', type: pinned } };
      return;
    } else json = value.sent();
    sent.item = this.item;
    const { out } = this;
    out.reserve(text.length + value.end - value.start + 2);
    out.length = writeFixed(text, out.view, out.length);
    if (json !== null) out.write(json);
    else out.length = value.copyTo(out.view, out.length);
  }
}

/** Cleans a text. @returns whether that emptied it */
function cleaned(value: Members, clean: (text: string) => string): boolean {
  const text = value.read() as string;
  const cleaned = clean(text);
  if (cleaned !== text) value.set(cleaned);
  return cleaned === '' && text !== '';
}

/** Whether a value is converted like the text of a cell. */
const isConvertible = (actual: JsonType, type: CellType): boolean =>
  actual === 'string' ? type !== 'string' : isNumber(actual) && type === 'datetime:epoch';

const isNumber = (type: JsonType): boolean => type === 'integer' || type === 'number';

/** JSON values keep their types; a pinned type only checks those that are not text. `null` fits: it removes the key. */
function isOfType(actual: JsonType, type: CellType): boolean {
  const sent = sentAs(type);
  if (actual === 'null') return true;
  // Text that must be converted does not have the type yet.
  if (actual === 'string') return type === 'string';
  if (type === 'datetime:epoch') return false;
  return actual === sent || (sent === 'number' && actual === 'integer');
}

/** @param number the digits as written, if the value is a number: in quotes, they would be sent as they are */
function notText(field: string, value: unknown, number: string | null): string {
  if (number === null || isWhole(number)) return `${field} is ${article(value)}, not a text`;
  return /e/i.test(number)
    ? `${field} is the number ${number}, which has an exponent; write all its digits in quotes`
    : `${field} is the number ${number}, which has decimals; write it in quotes: "${number}"`;
}

/** What a value is, in a sentence. */
export function article(value: unknown): string {
  const type = jsonTypeOf(value);
  if (type === 'null') return 'null';
  if (Array.isArray(value)) return 'an array';
  return type === 'integer' || type === 'object' ? `an ${type}` : `a ${type === 'string' ? 'text' : type}`;
}
