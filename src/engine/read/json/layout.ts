/** Converts a JSON item, flat or in the service's shape, to what the service expects (spec: Company, User). */

import type { CellType } from '../../model.js';
import { isObject } from '../../util/json-object.js';
import type { Converter } from '../conversion/type.js';
import { converterOf, misfit, sentAs } from '../conversion/types.js';
import { cleaner, identifierCheck } from '../identifier.js';
import { COMPANY, EMPTY, headOf, METADATA_CLOSE, METADATA_OPEN } from '../item-text.js';
import { tooDeep } from '../limits.js';
import { METADATA, type Target, targeting } from '../mapping/targets.js';
import { otherRun } from '../rejects-rows.js';
import type { OpenedInput } from '../types.js';
import { quoted, type Refusal, shown } from '../wording.js';
import { type Field, Fields } from './fields.js';
import type { JsonRecord } from './parse.js';
import { jsonString, lossIn, memberSpan, membersText, objectMembers, writtenAgain } from './text.js';
import { type JsonType, jsonTypeOf, MAX_FIELDS } from './totals.js';

/** Receives each value of an item, accepted or not, with its target. */
export type SeeField = (target: Target, value: unknown) => void;

export interface LaidOut {
  item: string;
  id: string;
  company: string;
}

/** Lays out one item. Returns the reason if it cannot be sent. */
export type Layout = (record: Omit<JsonRecord, 'excess'>, see?: SeeField) => LaidOut | Refusal;

export const isLaidOut = (laid: LaidOut | Refusal): laid is LaidOut =>
  typeof laid === 'object' && 'item' in laid;

/** Fields inside `metadata` are never identifiers; as columns they share the names of flat fields. */
function memberTargeting(input: OpenedInput, flat: (field: string) => Target): (field: string) => Target {
  const nested = targeting({ ...input, idColumn: '', companyIdColumn: null });
  return cached((field) => {
    const taken = flat(field).role;
    if (taken === 'metadata' || taken === 'ignored') return nested(field);
    // `metadata.company_id` is not the identifier, and `metadata.metadata` is not spread again.
    return { column: `${METADATA}.${field}`, role: 'metadata', key: field, pinned: null, because: null };
  });
}

function cached(targetOf: (field: string) => Target): (field: string) => Target {
  const known = new Map<string, Target>();
  return (field) => {
    let target = known.get(field);
    if (!target) {
      target = targetOf(field);
      // Items may have any number of different fields; a cache of all of them would grow with the file.
      if (known.size < MAX_FIELDS) known.set(field, target);
    }
    return target;
  };
}

export function jsonLayout(input: OpenedInput): Layout {
  const flat = cached(targeting(input));
  const [outer, inner] = [new Fields(flat), new Fields(memberTargeting(input, flat))];
  const constants = membersText(input.constants);
  const constantKeys = new Set(input.rules.set.map(([key]) => key));
  const idKey = headOf(input.kind);
  const empty = EMPTY[input.rules.empty];
  const converters = new Map<CellType, Converter | null>();
  const check = identifierCheck(input.rules);
  const clean = cleaner(input.rules);
  const cleaned = (member: unknown): unknown =>
    clean !== null && typeof member === 'string' ? clean(member) : member;
  const ids = [input.idColumn, ...(input.companyIdColumn === null ? [] : [input.companyIdColumn])];
  /** The item with 0 for its numeric identifiers: they are sent as text, so they may have any length. */
  const withoutIds = (value: Record<string, unknown>, text: string): string => {
    let rest = text;
    for (const field of ids) {
      if (typeof value[field] !== 'number') continue;
      const [start, end] = memberSpan(rest, field)!;
      if (WHOLE.test(rest.slice(start, end)))
        rest = rest.slice(0, start) + '0'.padEnd(end - start) + rest.slice(end);
    }
    return rest;
  };
  const lossOf = (value: Record<string, unknown>, text: string): string | null => {
    const numbers = withoutIds(value, text);
    const loss = lossIn(numbers, value, input.roundNumbers);
    return loss && `${fieldAtFault(numbers, loss, input.roundNumbers)}${loss}`;
  };

  // Of the current item. The first reason is reported, but all fields are visited, so that the plan knows them.
  let reason: Refusal | null = null;
  let body = '';
  /** The keys so far; null if none can appear twice. */
  let keys: Set<string> | null = null;

  /** Adds a member. A null text is left out. */
  const put = ({ target, key }: Field, json: string | null): void => {
    if (json === null) return;
    keys?.add(target.key!);
    body += key + json;
  };

  const place = (field: Field, member: unknown, emptied: boolean): void => {
    const { column, key, pinned } = field.target;
    if (keys?.has(key!)) reason ??= `two fields both map to the key ${quoted(key!)}`;
    if (emptied || (pinned !== null && isText(member, pinned))) {
      put(field, emptied ? empty : converted(column, member as string | number, pinned!));
      return;
    }
    if (pinned !== null && !isOfType(jsonTypeOf(member), pinned)) {
      reason ??= {
        reason: `${column}: ${shown(member)} is not of type ${pinned}`,
        cause: { column, code: 'type', type: pinned },
      };
    }
    const json = textOf(member, input.maxDepth);
    if (json === null) reason ??= `${column} ${tooDeep(member, input.maxDepth)}`;
    put(field, json);
  };

  const converted = (column: string, member: string | number, type: CellType): string | null => {
    if (member === '') return empty;
    let converter = converters.get(type);
    if (converter === undefined) {
      converter = converterOf(type);
      converters.set(type, converter);
    }
    const text = String(member);
    const json = converter!.json(text);
    if (json === null) reason ??= misfit(column, text, type, converter!);
    return json;
  };

  return ({ value, text, isSuspect, isSpelled, isCompact }, see) => {
    if (!isObject(value)) return `is ${article(jsonTypeOf(value), value)}, not an object`;
    const other = input.again ? otherRun(value._profiles_run, input.again.runs) : null;
    if (other !== null) return other;
    reason = isSuspect ? lossOf(value, text) : null;
    body = '';
    let id = '';
    let company = '';
    let spread: Record<string, unknown> | null = null;
    const fields = outer.of(value);
    keys = outer.areTwins || isObject(value[METADATA]) ? new Set() : null;
    // Writing all members at once takes half the time of writing one by one.
    const others = isSuspect || clean !== null || constants !== '' ? null : outer.others;
    const values = Object.values(value);
    for (let at = 0; at < fields.length; at++) {
      const field = fields[at]!;
      const { name, target } = field;
      const written = values[at];
      const member = cleaned(written);
      if (target.role === 'spread') {
        if (isObject(member)) spread = member;
        else if (member !== null)
          reason ??= `${name} is ${article(jsonTypeOf(member), member)}, not an object`;
        continue;
      }
      // A value that cleaning emptied is treated like an empty cell.
      const emptied = member === '' && written !== '';
      if (!emptied) see?.(target, member);
      if (target.role === 'metadata') {
        if (others === null) place(field, member, emptied);
      } else if (target.role === 'id' || target.role === 'company') {
        if (member === null && target.role === 'company') continue;
        const number =
          typeof member === 'number' ? digitsOf(member, name, text, isSuspect || isSpelled) : null;
        const isWhole = number !== null && WHOLE.test(number);
        const identifier = isWhole ? number : member;
        if (typeof identifier !== 'string') reason ??= notText(name, member, number);
        else {
          if (identifier !== '') reason ??= check(identifier, name);
          if (target.role === 'id') id = spelled(target, identifier);
          else company = spelled(target, identifier);
        }
      }
    }
    if (id === '') {
      reason ??= `${input.idColumn} is ${Object.hasOwn(value, input.idColumn) ? 'empty' : 'missing'}`;
    }
    if (spread !== null) {
      const nested = inner.of(spread);
      const members = Object.values(spread);
      for (let at = 0; at < nested.length; at++) {
        const field = nested[at]!;
        const { name, target } = field;
        const member = cleaned(members[at]);
        const emptied = member === '' && members[at] !== '';
        const isBeside = see && Object.hasOwn(value, name) && flat(name).column === target.column;
        if (!emptied && !isBeside) see?.(target, member);
        if (target.role !== 'metadata' || constantKeys.has(target.key!)) continue;
        if (target.key === name && keys!.has(name) && Object.hasOwn(value, name)) {
          reason ??= `${quoted(name)} appears both beside metadata and inside it`;
        }
        place(field, member, emptied);
      }
    }
    if (reason !== null) return reason;
    if (others !== null)
      body = (isCompact ? afterId(text, fields[0]!, others) : null) ?? membersWithout(value, others);
    body += constants;
    let item = idKey + jsonString(id);
    if (company !== '') item += COMPANY + jsonString(company);
    if (body !== '') item += METADATA_OPEN + body.slice(1) + METADATA_CLOSE;
    return { item: `${item}}`, id, company };
  };
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
function membersWithout(object: Record<string, unknown>, others: readonly string[]): string {
  for (const name of others) object[name] = undefined;
  const json = JSON.stringify(object);
  return json === '{}' ? '' : `,${json.slice(1, -1)}`;
}

/** A value as JSON text; null if it has more levels. */
function textOf(member: unknown, maxDepth: number): string | null {
  if (typeof member === 'string') return jsonString(member);
  return typeof member === 'object' && member !== null ? writtenAgain(member, maxDepth) : String(member);
}

/** The digits of a number as they are written. */
const digitsOf = (value: number, name: string, text: string, isSpelled: boolean): string =>
  isSpelled ? text.slice(...memberSpan(text, name)!) : String(value);

/** Whether a value is converted like the text of a cell. */
const isText = (member: unknown, type: CellType): member is string | number =>
  (typeof member === 'string' && type !== 'string') ||
  (typeof member === 'number' && type === 'datetime:epoch');

/** An identifier is sent as it is, unless it is pinned to lower case. */
const spelled = ({ pinned }: Target, id: string): string => (pinned === 'lower' ? id.toLowerCase() : id);

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
  if (number === null || WHOLE.test(number))
    return `${field} is ${article(jsonTypeOf(value), value)}, not a text`;
  return /e/i.test(number)
    ? `${field} is the number ${number}, which has an exponent; write all its digits in quotes`
    : `${field} is the number ${number}, which has decimals; write it in quotes: "${number}"`;
}

function article(type: JsonType, value: unknown): string {
  if (type === 'null') return 'null';
  if (Array.isArray(value)) return 'an array';
  return type === 'integer' || type === 'object' ? `an ${type}` : `a ${type === 'string' ? 'text' : type}`;
}

/** The field of an item, or of its metadata, whose value is at fault, as the beginning of a sentence. */
function fieldAtFault(text: string, loss: string, rounds: boolean): string {
  const has = (json: string): boolean => lossIn(json, JSON.parse(json), rounds) === loss;
  const [name, json] = objectMembers(text).find(([, json]) => has(json)) ?? [];
  if (name === undefined || json === undefined) return '';
  const inner = name === METADATA ? objectMembers(json).find(([, member]) => has(member)) : undefined;
  return `${inner ? `${METADATA}.${inner[0]}` : name}: `;
}
