/** JSON as text. Strings without escapes are the common case; numbers keep their digits. */

import { isObject } from '../../util/json-object.js';
import { tooDeep } from '../limits.js';
import { quoted } from '../wording.js';
import { isSpace } from './bytes.js';

/** A JSON string literal. */
export function jsonString(text: string): string {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Quotes, backslashes, and control characters need an escape; of surrogates, lone ones.
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code < 0xe000)) {
      return JSON.stringify(text);
    }
  }
  return `"${text}"`;
}

/** Far more characters than any double is printed with. */
const MOST_DIGITS = 400;

const DECIMAL = /^(-?)0*(\d*)(?:\.(\d*?)0*)?(?:[eE]([+-]?\d+))?$/;

/** Sign, significant digits, and the power of ten of the last digit; null for text that is not a decimal. */
function significand(text: string): string | null {
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const fraction = match[3] ?? '';
  const digits = (match[2]! + fraction).replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  if (short === '') return '0';
  const power = Number(match[4] ?? 0) - fraction.length + (digits.length - short.length);
  return `${match[1]}${short}e${power}`;
}

/**
 * Whether a double keeps all digits of a JSON number: those of `0.1` and `1e22`, but not of `9007199254740993` and
 * `1e400`.
 */
export function isExactNumber(text: string): boolean {
  if (text.length > MOST_DIGITS) return false;
  const value = Number(text);
  return Number.isFinite(value) && significand(text) === significand(String(value));
}

/** Numbers with fewer digits and no exponent are always exact, so most texts need no further check. */
const SUSPECT = /[\d.]{16}|(?:^|[:,[\s])-?[\d.]+[eE]/;
const NUMBER = /-?\d[\d.]*(?:[eE][+-]?\d+)?/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The first number of a valid JSON text that a double cannot hold, as written; null if there is none.
 * @param rounds whether an approximate double is good enough
 */
export function inexactNumber(json: string, rounds = false): string | null {
  if (!SUSPECT.test(json)) return null;
  for (let at = 0; at < json.length; ) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(json, at);
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      NUMBER.lastIndex = at;
      const [number] = NUMBER.exec(json)!;
      if (rounds ? !Number.isFinite(Number(number)) : !isExactNumber(number)) return number;
      at += number.length;
    } else at++;
  }
  return null;
}

/** Offset after the closing quote. A regular expression would run out of stack in a string of a few megabytes. */
function stringEnd(json: string, start: number): number {
  let at = start + 1;
  for (let code = json.charCodeAt(at); code !== QUOTE; code = json.charCodeAt(at)) {
    at += code === BACKSLASH ? 2 : 1;
  }
  return at + 1;
}

/** The members of a valid JSON object: decoded names, and where their values are. None for any other value. */
function* memberSpans(json: string): Generator<[name: string, start: number, end: number]> {
  let at = spaceEnd(json, 0);
  if (json[at] !== '{') return;
  for (at = spaceEnd(json, at + 1); json.charCodeAt(at) === QUOTE; at = spaceEnd(json, at + 1)) {
    const nameEnd = stringEnd(json, at);
    const name = JSON.parse(json.slice(at, nameEnd)) as string;
    const start = spaceEnd(json, spaceEnd(json, nameEnd) + 1);
    at = valueEnd(json, start);
    yield [name, start, at];
    at = spaceEnd(json, at);
  }
}

/** The members of a valid JSON object: decoded names and the texts of their values. None for any other value. */
export const objectMembers = (json: string): [name: string, value: string][] =>
  Array.from(memberSpans(json), ([name, start, end]) => [name, json.slice(start, end)]);

/** The first key that appears twice in one object of a valid JSON text, at any depth; null if there is none. */
export function repeatedKey(json: string): string | null {
  /** The keys of each open object; null for an open array. */
  const open: (Set<string> | null)[] = [];
  let isKey = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      const end = stringEnd(json, at);
      const keys = open.at(-1);
      if (isKey && keys) {
        const text = json.slice(at + 1, end - 1);
        const key = text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
        if (keys.has(key)) return key;
        keys.add(key);
        isKey = false;
      }
      at = end - 1;
    } else if (code === 0x7b || code === 0x5b) {
      isKey = code === 0x7b;
      open.push(isKey ? new Set() : null);
    } else if (code === 0x7d || code === 0x5d) open.pop();
    else if (code === 0x2c) isKey = open.at(-1) != null;
  }
  return null;
}

const SURROGATE = /\\u[dD][89a-fA-F]/;
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*(\\ud[89a-f][\da-f]{2})/;

/**
 * The escape of the first lone surrogate in a string or name of a valid JSON text; null if there is none. A lone
 * surrogate is half of a character, which UTF-8 cannot represent.
 */
export function loneSurrogate(json: string, value: () => unknown = () => JSON.parse(json)): string | null {
  if (!SURROGATE.test(json)) return null;
  // `JSON.stringify` escapes only lone surrogates.
  const again = JSON.stringify(value());
  return SURROGATE.test(again) ? (LONE_SURROGATE.exec(again)?.[1] ?? null) : null;
}

/**
 * Why a valid JSON text cannot be sent without loss; null if it can. A key that appears twice would lose a value, and
 * a number that a double cannot hold would lose digits.
 * @param rounds whether numbers may lose digits
 */
export function lossIn(json: string, value: unknown, rounds: boolean): string | null {
  const key = repeatedKey(json);
  if (key !== null) return `the key ${quoted(key)} appears twice`;
  const half = loneSurrogate(json, () => value);
  if (half !== null) return `${half} is half of a character; no text can hold it`;
  const number = inexactNumber(json, rounds);
  if (number === null) return null;
  return rounds && !Number.isFinite(Number(number)) ? tooLarge(number) : inexact(number);
}

function spaceEnd(json: string, start: number): number {
  let at = start;
  while (isSpace(json.charCodeAt(at))) at++;
  return at;
}

/** Offset after the value, without the white space that follows. */
function valueEnd(json: string, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(json, at) - 1;
      if (depth === 0) return at + 1;
    } else if (code === 0x5b || code === 0x7b) depth++;
    else if (code === 0x5d || code === 0x7d) {
      if (depth === 0) return at; // closes the container of the value
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (code === 0x2c || isSpace(code))) return at;
  }
  return json.length;
}

/** Where the value of a member is in a valid JSON object: of the last with that name. Null if there is none. */
export function memberSpan(json: string, name: string): [start: number, end: number] | null {
  let found: [number, number] | null = null;
  for (const [key, start, end] of memberSpans(json)) if (key === name) found = [start, end];
  return found;
}

/** The deepest nesting that is parsed, so that the columns of the first items are known. */
export const PARSED_LEVELS = 128 * 1024;

/** The member of an item, or of its metadata, that is nested more deeply than is parsed. */
export function deepestName(item: string): string {
  let depth = 0;
  /** Where the last string began and ended, and the last names of the item and of its metadata. */
  let [start, end] = [0, 0];
  const names = ['', ''];
  for (let at = 0; at < item.length && depth <= PARSED_LEVELS; at++) {
    const code = item.charCodeAt(at);
    if (code === QUOTE) {
      start = at;
      for (at++; at < item.length && item.charCodeAt(at) !== QUOTE; at++) {
        if (item.charCodeAt(at) === BACKSLASH) at++;
      }
      end = at + 1;
    } else if (code === 0x3a) {
      if (depth === 1 || depth === 2) names[depth - 1] = item.slice(start, end);
    } else if (code === 0x5b || code === 0x7b) depth++;
    else if (code === 0x5d || code === 0x7d) depth--;
  }
  try {
    return JSON.parse(names[names[0] === '"metadata"' ? 1 : 0]!) as string;
  } catch {
    return 'it';
  }
}

/** A parsed value as JSON text; null if it has more levels. */
export function writtenAgain(value: unknown, maxDepth: number): string | null {
  let json: string;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  return isDeeperThan(maxDepth, json) ? null : json;
}

function isDeeperThan(levels: number, json: string): boolean {
  if (json.length <= 2 * levels) return false; // each level opens and closes
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(json, at) - 1;
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > levels) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

/** The members of the JSON object in a `metadata` cell, as keys and JSON texts; or why the cell must be rejected. */
export function membersOf(
  cell: string,
  { roundNumbers, maxDepth }: { roundNumbers: boolean; maxDepth: number },
): [key: string, json: string][] | string {
  let value: unknown;
  try {
    value = JSON.parse(cell);
  } catch {
    return 'metadata is not a JSON object; to keep the column as text, map it to another key';
  }
  if (!isObject(value)) return 'metadata is not a JSON object';
  const loss = lossIn(cell, value, roundNumbers);
  if (loss !== null) return `metadata: ${loss}`;
  const members: [key: string, json: string][] = [];
  for (const [key, member] of Object.entries(value)) {
    const json = writtenAgain(member, maxDepth);
    if (json === null) return `metadata ${tooDeep(member, maxDepth)}`;
    members.push([key, json]);
  }
  return members;
}

/** JSON text of members, each with a comma before it. */
export function membersText(members: readonly (readonly [key: string, json: string])[]): string {
  return members.map(([key, json]) => `,${jsonString(key)}:${json}`).join('');
}

const inexact = (number: string): string =>
  `${number} cannot be represented exactly as a number; write it in quotes`;
const tooLarge = (number: string): string => `${number} is too large for a number; write it in quotes`;
