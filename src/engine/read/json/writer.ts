/** Writes JSON items, flat or in the service's shape, as the service expects them (spec: Company, User). */
import type { CellType } from '../../model.js';
import { isObject } from '../../util/json-object.js';
import { misfit, sentAs } from '../conversion/types.js';
import type { RowWriter } from '../format.js';
import { cleaner, type IdentifierCheck } from '../identifier.js';
import { beginItem, EMPTY, headOf, METADATA_CLOSE, METADATA_OPEN } from '../item-text.js';
import { METADATA } from '../mapping/targets.js';
import { inputIdCheck, otherRun, RUN } from '../rejects-rows.js';
import type { Rows } from '../rows.js';
import { copy, OPEN_BRACE, Output, writeFixed } from '../text/bytes.js';
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
import type { SeeField } from './fields.js';
import { type Field, type Fields, ItemFields, type JsonRecord, recordReader } from './items.js';
import { NESTED, NULL } from './look.js';
import { Members, RowMembers } from './members.js';
import { isWhole, JSON_TYPES, type JsonType, jsonTypeOf, membersText } from './text.js';

export class JsonWriter implements RowWriter {
  id = '';
  company = '';
  readonly quotes = 0;
  see: SeeField | null = null;
  readonly #input: OpenedInput;
  readonly #fields: ItemFields;
  /** The members of an item, or the cells of its row; and the members of its metadata. */
  readonly #outer = new Members();
  readonly #row = new RowMembers();
  readonly #inner = new Members();
  readonly #head: string;
  readonly #constants: string;
  readonly #constantKeys: ReadonlySet<string>;
  readonly #empty: string | null;
  readonly #check: IdentifierCheck;
  readonly #clean: ((text: string) => string) | null;
  // Of the current batch.
  #rows!: Rows;
  #refused!: ReadonlyMap<number, string | null>;
  #record!: (number: number) => JsonRecord;
  // Of the current item. The first reason is reported, but all fields are visited, so that the plan knows them.
  #item = 0;
  #line = 0;
  #keys = 0;
  #reason: Refusal | null = null;
  /** The first thing that would be lost, which is reported instead. */
  #loss: string | null = null;
  /** The members of its metadata, each with a comma before it. */
  readonly #body = new Output(4096);

  constructor(input: OpenedInput) {
    const { rules, kind, constants } = input;
    this.#input = input;
    this.#fields = new ItemFields(input);
    this.#head = headOf(kind);
    this.#constants = membersText(constants);
    this.#constantKeys = new Set(rules.set.map(([key]) => key));
    this.#empty = EMPTY[rules.empty];
    this.#check = inputIdCheck(input);
    this.#clean = cleaner(rules);
  }

  begin(batch: Rows): void {
    const { bytes, odd } = batch;
    this.#rows = batch;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (const members of [this.#outer, this.#row, this.#inner]) members.open(text);
    this.#refused = new Map(odd?.map(({ number, reason }) => [number, reason]));
    this.#record = recordReader(batch, this.#input);
  }

  /** Parsed, too: the text of a record that is not JSON must not be compared or shown as an item. */
  original(number: number): { item: string } {
    return { item: this.#record(number).text };
  }

  write(number: number, out: Output): Refusal | null {
    const refused = this.#refused.get(number);
    if (refused) return refused;
    const { again } = this.#input;
    if (again) {
      const { value } = this.#record(number);
      const other = isObject(value) ? otherRun(value[RUN], again.runs) : null;
      if (other !== null) return other;
    }
    try {
      if (!this.#layOut(number)) return this.#unread(number);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return this.#unread(number);
    }
    const reason = this.#loss ?? this.#reason;
    if (reason === null) this.#send(out);
    return reason;
  }

  /** @returns why an item without members is rejected @throws InputError that says what is wrong with the text */
  #unread(number: number): Refusal {
    const { value, excess } = this.#record(number);
    if (excess !== null) return excess;
    if (!isObject(value)) return `is ${article(value)}, not an object`;
    throw new Error(`the item on line ${this.#rows.lines[number]} is valid JSON, but cannot be read`);
  }

  #send(out: Output): void {
    beginItem(out, this.#head, this.id, this.company);
    const body = this.#body;
    body.write(this.#constants);
    const { length } = body;
    if (length > 0) {
      out.write(METADATA_OPEN, length);
      // A comma comes before the first member, too.
      out.length = copy(body.view, 1, length, out.view, out.length);
      out.write(METADATA_CLOSE);
    }
    out.write('}');
  }

  /** Finds identifiers and members of an item, or why it cannot be sent. False if it is not an object. @throws SyntaxError */
  #layOut(number: number): boolean {
    this.#item++;
    this.#line = this.#rows.lines[number]!;
    this.#reason = this.#loss = null;
    this.id = this.company = '';
    this.#keys = this.#body.length = 0;
    this.#fields.begin();
    const isRow = this.#input.format === 'parquet';
    const outer = isRow ? this.#row : this.#outer;
    if (isRow) this.#row.beginRow(this.#rows, number);
    else if (!outer.begin(this.#rows.starts[number]!, this.#rows.ends[number]!)) return false;
    const spread = this.#visit(this.#fields.outer, outer, false);
    if (outer.after !== outer.until) return false;
    const { idColumn } = this.#input;
    if (this.id === '') {
      const isThere = this.#fields.outer.had(idColumn, this.#item) !== null;
      this.#reason ??= `${idColumn} is ${isThere ? 'empty' : 'missing'}`;
    }
    if (spread === null) return true;
    const inner = this.#inner;
    if (!inner.begin(...spread)) return false;
    this.#visit(this.#fields.inner, inner, true);
    return inner.after === inner.until;
  }

  /** Takes the fields of one level. @returns where the object is whose members are metadata; null if there is none */
  #visit(fields: Fields, value: Members, isInner: boolean): [start: number, end: number] | null {
    let spread: [start: number, end: number] | null = null;
    while (value.next() && value.end >= 0) {
      const { kind } = value;
      // The members of metadata are among those of the item.
      if (!isInner) this.#keys += kind === NESTED ? 1 + value.names : 1;
      if (this.#keys > MOST_COLUMNS) {
        this.#loss = TOO_MANY_KEYS;
        continue;
      }
      const field = fields.of(value);
      const { name, target } = field;
      const { role } = target;
      const isRepeated = field.item === this.#item;
      if (isRepeated || field.half !== null) {
        const loss = isRepeated ? `the key ${quoted(name)} appears twice` : field.half;
        this.#loss ??= isInner ? `${METADATA}: ${loss}` : loss;
      }
      field.item = this.#item;
      if (role === 'spread' && value.bytes[value.start] === OPEN_BRACE) {
        spread = [value.start, value.end];
        continue;
      }
      if (kind === NESTED && value.levels > MOST_LEVELS) {
        if (role !== 'ignored') this.#reason ??= `${target.column} ${TOO_MANY_LEVELS}`;
        continue;
      }
      value.parse();
      const loss = value.loss(role === 'id' || role === 'company', this.#input.roundNumbers);
      if (loss !== null) this.#loss ??= `${isInner ? `${METADATA}.` : ''}${name}: ${loss}`;
      if (isRepeated) continue;
      if (role === 'spread') {
        if (kind !== NULL && target.key !== null)
          this.#reason ??= `${name} is ${article(value.read())}, not an object`;
        continue;
      }
      // A value that cleaning emptied is treated like an empty cell.
      const isText = JSON_TYPES[value.type] === 'string';
      const emptied = this.#clean !== null && isText && cleaned(value, this.#clean);
      const flat = isInner ? this.#fields.outer.had(name, this.#item) : null;
      if (!emptied && flat?.target.column !== target.column) this.see?.(target, value, this.#line);
      if (role === 'metadata') {
        if (this.#constantKeys.has(target.key!)) continue;
        if (flat !== null && target.key === name && field.key.item === this.#item) {
          this.#reason ??= `${quoted(name)} appears both beside metadata and inside it`;
        }
        this.#place(field, value, emptied);
      } else if (role === 'id' || (role === 'company' && kind !== NULL)) this.#identify(field, value);
    }
    return spread;
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
    if (sent.item === this.#item) this.#reason ??= `two fields both map to the key ${quoted(key!)}`;
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
    sent.item = this.#item;
    const out = this.#body;
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

function article(value: unknown): string {
  const type = jsonTypeOf(value);
  if (type === 'null') return 'null';
  if (Array.isArray(value)) return 'an array';
  return type === 'integer' || type === 'object' ? `an ${type}` : `a ${type === 'string' ? 'text' : type}`;
}
