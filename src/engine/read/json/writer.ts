/** Writes JSON items, flat or in the service's shape, as the service expects them (spec: Company, User). */
import type { CellType } from '../../model.js';
import { isObject } from '../../util/json-object.js';
import { type Converter, converterOf, misfit, sentAs } from '../conversion/types.js';
import type { RowWriter } from '../format.js';
import { cleaner, identifierCheck } from '../identifier.js';
import { COMPANY, EMPTY, headOf, METADATA_CLOSE, METADATA_OPEN } from '../item-text.js';
import { tooDeep } from '../limits.js';
import { METADATA, type Target } from '../mapping/targets.js';
import { otherRun } from '../rejects-rows.js';
import type { Rows } from '../rows.js';
import type { Output } from '../text/output.js';
import type { OpenedInput } from '../types.js';
import { quoted, type Refusal, shown } from '../wording.js';
import {
  type Field,
  Fields,
  type JsonType,
  jsonTypeOf,
  type SeeField,
  type TargetOf,
  targetsIn,
} from './fields.js';
import { COMPACT, SPELLED, SUSPECT } from './look.js';
import { type JsonRecord, recordReader } from './records.js';
import { jsonString, lossIn, memberOf, membersText, objectMembers } from './text.js';

type Fieldset = Record<string, unknown>;

const NOTHING: JsonRecord = { text: '', value: null, kind: 0, excess: null };

export class JsonWriter implements RowWriter {
  id = '';
  company = '';
  readonly quotes = 0;
  see: SeeField | null = null;
  readonly #input: OpenedInput;
  readonly #flat: TargetOf;
  readonly #outer: Fields;
  readonly #inner: Fields;
  readonly #head: string;
  readonly #constants: string;
  readonly #constantKeys: ReadonlySet<string>;
  readonly #empty: string | null;
  readonly #converters = new Map<CellType, Converter>();
  readonly #check: ReturnType<typeof identifierCheck>;
  readonly #clean: ((text: string) => string) | null;
  #read: (number: number) => JsonRecord = () => NOTHING;
  #lines: Rows['lines'] = new Uint32Array(0);
  // Of the current item. The first reason is reported, but all fields are visited, so that the plan knows them.
  #record = NOTHING;
  #line = 0;
  #reason: Refusal | null = null;
  #body = '';
  #spread: Fieldset | null = null;
  /** The keys so far. */
  readonly #keys = new Set<string>();

  constructor(input: OpenedInput) {
    const { rules, kind, constants } = input;
    const { flat, inner } = targetsIn(input);
    this.#input = input;
    this.#flat = flat;
    this.#outer = new Fields(flat);
    this.#inner = new Fields(inner);
    this.#head = headOf(kind);
    this.#constants = membersText(constants);
    this.#constantKeys = new Set(rules.set.map(([key]) => key));
    this.#empty = EMPTY[rules.empty];
    this.#check = identifierCheck(rules);
    this.#clean = cleaner(rules);
  }

  begin(batch: Rows): void {
    this.#lines = batch.lines;
    this.#read = recordReader(batch, this.#input);
  }

  original(number: number): { item: string } {
    return { item: this.#read(number).text };
  }

  write(number: number, out: Output): Refusal | null {
    this.#line = this.#lines[number]!;
    this.#record = this.#read(number);
    const { value, excess } = this.#record;
    if (excess !== null) return excess;
    if (!isObject(value)) return `is ${article(value)}, not an object`;
    const { again } = this.#input;
    this.#reason = again ? otherRun(value._profiles_run, again.runs) : null;
    if (this.#reason === null) this.#layOut(value);
    if (this.#reason !== null) return this.#reason;
    const members = this.#body + this.#constants;
    let item = this.#head + jsonString(this.id);
    if (this.company !== '') item += COMPANY + jsonString(this.company);
    if (members !== '') item += METADATA_OPEN + members.slice(1) + METADATA_CLOSE;
    out.write(`${item}}`);
    return null;
  }

  /** Finds identifiers and members of an item, or why it cannot be sent. */
  #layOut(value: Fieldset): void {
    const { text, kind } = this.#record;
    const { idColumn } = this.#input;
    this.#reason = kind & SUSPECT ? this.#lossOf(value, text) : null;
    this.#body = this.id = this.company = '';
    this.#spread = null;
    this.#keys.clear();
    const fields = this.#outer.of(value);
    // Writing all members at once takes half the time of writing one by one.
    const isPlain = (kind & SUSPECT) === 0 && this.#clean === null && this.#constants === '';
    const others = isPlain ? this.#outer.others : null;
    this.#visit(fields, value, others === null, null);
    if (this.id === '') {
      this.#reason ??= `${idColumn} is ${Object.hasOwn(value, idColumn) ? 'empty' : 'missing'}`;
    }
    if (this.#spread !== null) this.#visit(this.#inner.of(this.#spread), this.#spread, true, value);
    if (others === null || this.#reason !== null) return;
    this.#body = (kind & COMPACT ? afterId(text, fields[0]!, others) : null) ?? membersWithout(value, others);
  }

  /** Takes the fields of one level. @param places whether to write them @param outer of `metadata`: the item it is in */
  #visit(fields: readonly Field[], object: Fieldset, places: boolean, outer: Fieldset | null): void {
    const values = Object.values(object);
    for (let at = 0; at < fields.length; at++) {
      const { name, target, text } = fields[at]!;
      const value = values[at];
      const member = this.#clean !== null && typeof value === 'string' ? this.#clean(value) : value;
      // A value that cleaning emptied is treated like an empty cell.
      const emptied = member === '' && value !== '';
      const { role } = target;
      if (role === 'spread') {
        if (isObject(member)) this.#spread = member;
        else if (member !== null) this.#reason ??= `${name} is ${article(member)}, not an object`;
        continue;
      }
      const isAlsoFlat = outer !== null && Object.hasOwn(outer, name);
      const isCounted = isAlsoFlat && this.#flat(name).column === target.column;
      if (!emptied && !isCounted) this.see?.(target, member, this.#line);
      if (role === 'metadata') {
        if (!places || this.#constantKeys.has(target.key!)) continue;
        if (isAlsoFlat && target.key === name && this.#keys.has(name)) {
          this.#reason ??= `${quoted(name)} appears both beside metadata and inside it`;
        }
        this.#place(target, text, member, emptied);
      } else if (role === 'id' || (role === 'company' && member !== null))
        this.#identify(name, target, member);
    }
  }

  /** Takes the identifier of the item, or that of a user's company. */
  #identify(name: string, target: Target, member: unknown): void {
    const { text, kind } = this.#record;
    const isSpelled = (kind & (SUSPECT | SPELLED)) !== 0;
    const number = typeof member !== 'number' ? null : isSpelled ? memberOf(text, name)! : String(member);
    const identifier = number !== null && WHOLE.test(number) ? number : member;
    if (typeof identifier !== 'string') {
      this.#reason ??= notText(name, member, number);
      return;
    }
    if (identifier !== '') this.#reason ??= this.#check(identifier, name);
    const sent = target.pinned === 'lower' ? identifier.toLowerCase() : identifier;
    if (target.role === 'id') this.id = sent;
    else this.company = sent;
  }

  /** Adds a member. */
  #place({ column, key, pinned }: Target, keyText: string, member: unknown, emptied: boolean): void {
    if (this.#keys.has(key!)) this.#reason ??= `two fields both map to the key ${quoted(key!)}`;
    const isConverted = pinned !== null && isText(member, pinned);
    const deep = tooDeep(member, this.#input.maxDepth);
    let json: string | null = null;
    if (emptied || (isConverted && member === '')) json = this.#empty;
    else if (isConverted) json = this.#converted(column, String(member), pinned);
    else if (pinned !== null && !isOfType(jsonTypeOf(member), pinned)) {
      const reason = `${column}: ${shown(member)} is not of type ${pinned}`;
      this.#reason ??= { reason, cause: { column, code: 'type', type: pinned } };
    } else if (deep !== null) this.#reason ??= `${column} ${deep}`;
    else json = typeof member === 'string' ? jsonString(member) : JSON.stringify(member);
    if (json === null) return;
    this.#keys.add(key!);
    this.#body += keyText + json;
  }

  /** The JSON of a text of a pinned type. */
  #converted(column: string, text: string, type: CellType): string | null {
    const converter = this.#converters.get(type) ?? converterOf(type)!;
    this.#converters.set(type, converter);
    const json = converter.json(text);
    if (json === null) this.#reason ??= misfit(column, text, type, converter);
    return json;
  }

  /** What would be lost of an item. Numeric identifiers are sent as text, so they may have any length. */
  #lossOf(value: Fieldset, text: string): string | null {
    const { idColumn, companyIdColumn, roundNumbers } = this.#input;
    const names = new Set<string>();
    for (const [name, json] of objectMembers(text)) {
      if (names.has(name)) return `the key ${quoted(name)} appears twice`;
      names.add(name);
      const half = lossIn(JSON.stringify(name));
      if (half !== null) return half;
      const isId = name === idColumn || name === companyIdColumn;
      const loss = isId && WHOLE.test(json) ? null : lossIn(json, roundNumbers);
      if (loss === null) continue;
      const inside = name === METADATA && isObject(value[name]) ? objectMembers(json) : [];
      const inner = inside.find(([, member]) => lossIn(member, roundNumbers) === loss);
      return `${inner ? `${METADATA}.${inner[0]}` : name}: ${loss}`;
    }
    return null;
  }
}

/**
 * The members of an item that is written as we write it, each with a comma before it, if only its first one is left out:
 * as they are. Writing them again takes a fifth of an import (bench/README.md). Null for other items.
 */
function afterId(text: string, { name, target }: Field, others: readonly string[]): string | null {
  if (others.length !== 1 || target.role !== 'id') return null;
  const start = `{${jsonString(name)}:"`;
  return text.startsWith(start) ? text.slice(text.indexOf('"', start.length) + 1, -1) : null;
}

/** The members of an object, each with a comma before it. The others are removed from the object. */
function membersWithout(object: Fieldset, others: readonly string[]): string {
  for (const name of others) object[name] = undefined;
  const json = JSON.stringify(object);
  return json === '{}' ? '' : `,${json.slice(1, -1)}`;
}

/** Whether a value is converted like the text of a cell. */
const isText = (member: unknown, type: CellType): member is string | number =>
  (typeof member === 'string' && type !== 'string') ||
  (typeof member === 'number' && type === 'datetime:epoch');

const WHOLE = /^-?\d+$/;

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
  if (number === null || WHOLE.test(number)) return `${field} is ${article(value)}, not a text`;
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
