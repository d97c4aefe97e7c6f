/** Converts a JSON item, flat or in the service's shape, to what the service expects (spec: Company, User). */

import { isObject } from '../../json-object.js';
import type { CellType } from '../../model.js';
import { type Converter, converterOf, sentAs } from '../conversion/converter.js';
import { misfit } from '../conversion/type.js';
import { cleaner, identifierCheck } from '../identifier.js';
import { COMPANY, headOf, METADATA_CLOSE, METADATA_OPEN } from '../item-text.js';
import { METADATA, type Target, targeting } from '../mapping/targets.js';
import { otherRun } from '../rejects-rows.js';
import type { OpenedInput } from '../types.js';
import type { Refusal } from '../wording.js';
import { quoted, shown } from '../wording.js';
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
export type Layout = (value: unknown, text: string, see?: SeeField) => LaidOut | Refusal;

export const isLaidOut = (laid: LaidOut | Refusal): laid is LaidOut =>
  typeof laid === 'object' && 'item' in laid;

/** Targets of fields, which are met one by one: those of items, and those of their `metadata`. */
export interface ItemTargets {
  flat: (field: string) => Target;
  nested: (field: string) => Target;
}

export function targetsOfItems(input: OpenedInput): ItemTargets {
  const flat = cached(targeting(input));
  return { flat, nested: memberTargeting(input, flat) };
}

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
  const { flat, nested } = targetsOfItems(input);
  const constants = membersText(input.constants);
  const constantKeys = new Set(input.rules.set.map(([key]) => key));
  const idKey = headOf(input.kind);
  const empty = { omit: null, null: 'null', string: '""' }[input.rules.empty];
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
  const writtenNumber = (text: string, field: string): string => text.slice(...memberSpan(text, field)!);

  return (value, text, see) => {
    if (!isObject(value)) return `is ${article(jsonTypeOf(value), value)}, not an object`;
    const other = input.again ? otherRun(value._profiles_run, input.again.runs) : null;
    if (other !== null) return other;
    const numbers = withoutIds(value, text);
    const loss = lossIn(numbers, value, input.roundNumbers);
    // The first reason is reported, but all fields are visited, so that the plan knows them.
    let reason: Refusal | null =
      loss === null ? null : `${fieldAtFault(numbers, loss, input.roundNumbers)}${loss}`;
    let id = '';
    let company = '';
    let spread: Record<string, unknown> | null = null;
    const members = new Map<string, string>();

    for (const field of Object.keys(value)) {
      const target = flat(field);
      const written = value[field];
      const member = cleaned(written);
      if (target.role === 'spread') {
        if (isObject(member)) spread = member;
        else if (member !== null)
          reason ??= `${field} is ${article(jsonTypeOf(member), member)}, not an object`;
        continue;
      }
      const emptied = member === '' && written !== '';
      if (!emptied) see?.(target, member);
      if (target.role === 'metadata') emptied ? placeEmpty(target) : place(target, member);
      else if (target.role === 'id' || target.role === 'company') {
        if (member === null && target.role === 'company') continue;
        const number = typeof member === 'number' ? writtenNumber(text, field) : null;
        const isWhole = number !== null && WHOLE.test(number);
        const identifier = isWhole ? number : member;
        if (typeof identifier !== 'string') reason ??= notText(field, member, number);
        else {
          if (identifier !== '') reason ??= check(identifier, field);
          if (target.role === 'id') id = spelled(target, identifier);
          else company = spelled(target, identifier);
        }
      }
    }
    if (id === '') {
      reason ??= `${input.idColumn} is ${Object.hasOwn(value, input.idColumn) ? 'empty' : 'missing'}`;
    }
    for (const field of spread ? Object.keys(spread) : []) {
      const target = nested(field);
      const written = spread![field];
      const member = cleaned(written);
      const emptied = member === '' && written !== '';
      const isBeside = see && Object.hasOwn(value, field) && flat(field).column === target.column;
      if (!emptied && !isBeside) see?.(target, member);
      if (target.role !== 'metadata' || constantKeys.has(target.key!)) continue;
      if (target.key === field && members.has(field) && Object.hasOwn(value, field)) {
        reason ??= `${quoted(field)} appears both beside metadata and inside it`;
      }
      if (emptied) placeEmpty(target);
      else place(target, member);
    }
    if (reason !== null) return reason;
    let body = '';
    for (const member of members.values()) body += member;
    body += constants;
    const head = idKey + jsonString(id) + (company === '' ? '' : COMPANY + jsonString(company));
    const item = `${head}${body === '' ? '' : METADATA_OPEN + body.slice(1) + METADATA_CLOSE}}`;
    return { item, id, company };

    /** Treats a value that cleaning emptied like an empty cell. */
    function placeEmpty({ key }: Target): void {
      if (members.has(key!)) reason ??= `two fields both map to the key ${quoted(key!)}`;
      if (empty !== null) members.set(key!, `,${jsonString(key!)}:${empty}`);
    }

    function place({ column, key, pinned }: Target, member: unknown): void {
      if (members.has(key!)) reason ??= `two fields both map to the key ${quoted(key!)}`;
      let json: string | null;
      if (pinned !== null && isText(member, pinned)) {
        // Like an empty cell.
        if (member === '' && empty === null) return;
        json = converted(column, member, pinned);
      } else {
        if (pinned !== null && !isOfType(jsonTypeOf(member), pinned)) {
          reason ??= {
            reason: `${column}: ${shown(member)} is not of type ${pinned}`,
            cause: { column, code: 'type', type: pinned },
          };
        }
        json = typeof member === 'string' ? jsonString(member) : writtenAgain(member);
        if (json === null) reason ??= `${column} is nested too deeply`;
      }
      members.set(key!, `,${jsonString(key!)}:${json}`);
    }

    function converted(column: string, member: string | number, type: CellType): string | null {
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
    }
  };
}

/** Whether a value is converted like the text of a cell. */
const isText = (member: unknown, type: CellType): member is string | number =>
  (typeof member === 'string' && type !== 'string') ||
  (typeof member === 'number' && type === 'datetime:epoch');

/** An identifier is sent as it is, unless it is pinned to lower case. */
const spelled = ({ pinned }: Target, id: string): string => (pinned === 'lower' ? id.toLowerCase() : id);

const WHOLE = /^-?\d+$/;

/** JSON values keep their types; a pinned type only checks those that are not text. `null` fits: it removes the key. */
export function isOfType(actual: JsonType, type: CellType): boolean {
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
