/** JSON as text. Strings without escapes are the common case; numbers keep their digits. */
import { isObject } from '../../util/json-object.js';
import { quoted, tooDeep } from '../wording.js';

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

export const JSON_TYPES = ['string', 'integer', 'number', 'boolean', 'null', 'object'] as const;

export type JsonType = (typeof JSON_TYPES)[number];

export function jsonTypeOf(value: unknown): JsonType {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'number';
    default:
      return value === null ? 'null' : 'object';
  }
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

/** Offset after the closing quote. A regular expression would run out of stack in a string of a few megabytes. */
function stringEnd(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** What opens, closes, and separates; the beginning of a string; or a number. */
const TOKEN = /["[\]{},]|-?\d[\d.]*(?:[eE][+-]?\d+)?/g;
const SURROGATE = /\\u[dD][89a-fA-F]/;
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*(\\ud[89a-f][\da-f]{2})/;

/**
 * Why a valid JSON text cannot be sent without loss; null if it can. A key that appears twice would lose a value, half
 * of a character cannot be UTF-8, and a number that a double cannot hold would lose digits.
 * @param rounds whether numbers may lose digits
 */
export function lossIn(json: string, rounds = false): string | null {
  /** The keys of each open object; null for an open array. */
  const open: (Set<string> | null)[] = [];
  let isKey = false;
  const tokens = new RegExp(TOKEN);
  for (let found = tokens.exec(json); found !== null; found = tokens.exec(json)) {
    const [token] = found;
    if (token === '"') {
      tokens.lastIndex = stringEnd(json, found.index);
      const literal = json.slice(found.index, tokens.lastIndex);
      // `JSON.stringify` escapes only lone surrogates.
      const [, half] =
        (SURROGATE.test(literal) && LONE_SURROGATE.exec(JSON.stringify(JSON.parse(literal)))) || [];
      if (half !== undefined) return `${half} is half of a character; no text can hold it`;
      const keys = isKey && open.at(-1);
      const key = keys && literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
      if (keys && keys.size === keys.add(key).size) return `the key ${quoted(key)} appears twice`;
    } else if (token === '{' || token === '[') open.push(token === '{' ? new Set() : null);
    else if (token === '}' || token === ']') open.pop();
    else if (token !== ',') {
      const loss = lossOfNumber(token, rounds);
      if (loss !== null) return loss;
    }
    isKey = token === '{' || token === ',';
  }
  return null;
}

function lossOfNumber(number: string, rounds: boolean): string | null {
  if (rounds && !Number.isFinite(Number(number)))
    return `${number} is too large for a number; write it in quotes`;
  if (rounds || isExactNumber(number)) return null;
  return `${number} cannot be represented exactly as a number; write it in quotes`;
}

/** The members of the JSON object in a `metadata` cell, as keys and JSON texts; or why the cell must be rejected. */
export function membersOf(cell: string, roundNumbers: boolean): [key: string, json: string][] | string {
  let value: unknown;
  try {
    value = JSON.parse(cell);
  } catch {
    return 'metadata is not a JSON object; to keep the column as text, map it to another key';
  }
  if (!isObject(value)) return 'metadata is not a JSON object';
  const loss = lossIn(cell, roundNumbers);
  if (loss !== null) return `metadata: ${loss}`;
  const members: [key: string, json: string][] = [];
  for (const [key, member] of Object.entries(value)) {
    const deep = tooDeep(member);
    if (deep !== null) return `metadata ${deep}`;
    members.push([key, JSON.stringify(member)]);
  }
  return members;
}

/** JSON text of members, each with a comma before it. */
export function membersText(members: readonly (readonly [key: string, json: string])[]): string {
  return members.map(([key, json]) => `,${jsonString(key)}:${json}`).join('');
}

const WHOLE = /^-?\d+$/;

/** Whether a JSON text is a whole number. */
export const isWhole = (json: string): boolean => WHOLE.test(json);
