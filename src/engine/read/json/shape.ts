/**
 * Where the items of a JSON text are: in an array, in an array of an object, one per line, or in sequence; and, once they
 * are read, whether anything else is wrong with what is around them.
 */
import { UsageError } from '../../errors.js';
import { type Format, ID_FIELD, KINDS, type Kind } from '../../model.js';
import type { Problem } from '../../problems.js';
import { nearest } from '../../util/nearest.js';
import type { ArrayBelow } from '../mapping/identity.js';
import { viewOf } from '../text/fours.js';
import type { Head } from '../text/head.js';
import type { InputOptions, JsonBody } from '../types.js';
import { list } from '../wording.js';
import { CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, skipSpace, valueEnd } from './look.js';
import { BROKEN, ENDS, membersAt } from './members.js';

export interface Shape {
  format: Format;
  body: JsonBody | null;
  /** The kind that the text names, if it is a request body of the service: `{"companies": […]}`. */
  kind?: Kind | undefined;
}

type Asked = Pick<InputOptions, 'path'> & Partial<Pick<InputOptions, 'format' | 'kind' | 'id' | 'jsonPath'>>;

const ARRAY: JsonBody = { items: 'array', path: [], others: [] };
const VALUES: JsonBody = { items: 'values', path: [], others: [] };
const LINES: Shape = { format: 'ndjson', body: null };

/** @throws UsageError for options that do not fit the text, and for a body of both kinds if none was requested */
export function shapeOf({ text, whole }: Pick<Head, 'text' | 'whole'>, asked: Asked): Shape {
  const start = skipSpace(text, 0);
  if (asked.jsonPath !== undefined) {
    if (asked.format === 'ndjson') {
      throw new UsageError('jsonPath is for a single JSON document, not for JSON Lines', {
        hint: 'leave the path or the format out',
        problem: { code: 'path_of_lines', format: asked.format },
      });
    }
    return { format: 'json', body: { ...ARRAY, path: itemPath(asked.jsonPath) } };
  }
  if (asked.format === 'ndjson') return LINES;
  if (text[start] !== OPEN_BRACE) {
    return text[start] === OPEN_BRACKET || asked.format === 'json' ? { format: 'json', body: ARRAY } : LINES;
  }
  const { found, end } = membersAt(text, start);
  // An object with an identifier is an item, and no request body.
  const identifiers: (string | undefined)[] = [...Object.values(ID_FIELD), asked.id];
  const isItem = found.some(({ name }) => identifiers.includes(name));
  const arrays = isItem ? [] : found.filter((member) => isRows(text, member.start)).map(({ name }) => name);
  const held = KINDS.filter((kind) => arrays.includes(kind));
  const alone = end < 0 || found.length === 1 || (whole && skipSpace(text, end) === text.length);
  if (held.length > 0 && alone) {
    if (held.length > 1 && !asked.kind) throw holdsBoth(asked.path);
    const kind = held.find((each) => each === asked.kind) ?? held[0]!;
    const others = asked.kind ? [] : KINDS.filter((other) => other !== kind);
    return { format: 'json', body: { items: 'array', path: [kind], others }, kind };
  }
  if (asked.format !== 'json' && isLines(text)) return LINES;
  return { format: 'json', body: VALUES };
}

/** Splits a path such as `data.items`. @param called for messages @throws UsageError for an empty name */
export function itemPath(text: string, called = 'jsonPath'): string[] {
  const path = text.split('.');
  if (path.every((name) => name !== '')) return path;
  throw new UsageError(`${called}: "${text}" must be names separated by dots`, {
    hint: 'such as data.items',
    problem: { code: 'bad_path', path: text },
  });
}

const holdsBoth = (path: string): UsageError =>
  new UsageError(`${path} contains companies and users`, {
    hint: 'import one kind at a time: say which one to read',
    problem: { code: 'both_kinds' },
  });

/** How many levels deep to look for arrays. */
const MOST_LEVELS = 8;

/** The arrays of objects inside a text that is one object; none if more text follows it, or a path was given. */
export function arraysBelow({ text, whole }: Pick<Head, 'text' | 'whole'>, asked: Asked): ArrayBelow[] {
  const start = skipSpace(text, 0);
  if (text[start] !== OPEN_BRACE || asked.jsonPath !== undefined || asked.format === 'ndjson') return [];
  const found: ArrayBelow[] = [];
  const visit = (object: number, above: readonly string[]): number => {
    const { found: members, end } = membersAt(text, object);
    for (const { name, start: value } of members) {
      if (!/^[^.\\]+$/.test(name)) continue; // cannot be part of a path
      const path = [...above, name];
      if (text[value] === OPEN_BRACE && path.length < MOST_LEVELS) visit(value, path);
      const first = skipSpace(text, value + 1);
      if (text[value] === OPEN_BRACKET && text[first] === OPEN_BRACE) {
        found.push({ path: path.join('.'), names: membersAt(text, first).found.map(({ name }) => name) });
      }
    }
    return end;
  };
  const end = visit(start, []);
  const alone = end < 0 ? !whole : skipSpace(text, end) === text.length;
  return alone ? found : [];
}

/** Whether a value is an array of objects, or an empty one. */
function isRows(text: Buffer, start: number): boolean {
  const begins = text[start] === OPEN_BRACKET ? text[skipSpace(text, start + 1)] : undefined;
  return begins === OPEN_BRACE || begins === CLOSE_BRACKET;
}

/** How much of a text to examine to tell whether it has one object per line. */
const LOOK_BYTES = 64 * 1024;

/** Whether each object is alone on its line. A broken line counts too: it is reported when it is read. */
function isLines(text: Buffer): boolean {
  for (let at = skipSpace(text, 0); at < Math.min(text.length, LOOK_BYTES); at = skipSpace(text, at)) {
    const lineEnd = text.indexOf('\n', at);
    const line = text.subarray(at, lineEnd < 0 ? text.length : lineEnd);
    if (line[0] !== OPEN_BRACE) return true;
    const end = valueEnd(line, viewOf(line), 0, line.length);
    at += line.length;
    // A pretty-printed object goes on with another byte than a broken line and the object after it.
    if (end < 0) {
      return !/[[{,]\s*$/.test(line.toString('latin1')) && !/^\s*["}\],]/.test(text.toString('latin1', at));
    }
    if (skipSpace(line, end) < line.length) return false;
  }
  return true;
}

/** What an error says. */
export type Fault = readonly [sentence: string, hint: string, problem?: Problem];
/** Makes the error that names the line of an offset. */
type Fail = (at: number, ...fault: Fault) => Error;

export const CUT = 'the file may be cut off: export it again';
const NOT_VALID: Fault = ['what is around the array is not valid JSON', 'fix it, or export the file again'];
const NO_JSON: Fault = [
  'is not a JSON array, and not {"companies": […]} or {"users": […]}',
  'name the format, if it is not JSON',
  { code: 'wrong_format', likely: null },
];

export const textFollows = (what: string): Fault => [
  `text follows the end of the ${what}`,
  'if it is more items, put all items into one array, or write them as JSON Lines (one item per line); otherwise, remove it',
];

/** The offset after the bracket that opens the array; -1 if the text ends before it. @throws what `fail` makes */
export function arrayStart(text: Buffer, { path }: JsonBody, fail: Fail): number {
  let at = skipSpace(text, 0);
  for (let level = 0; at < text.length; level++) {
    const name = path[level];
    if (text[at] !== (name === undefined ? OPEN_BRACKET : OPEN_BRACE)) {
      if (level === 0) throw fail(at, ...NO_JSON);
      const sentence = `"${path.slice(0, level).join('.')}" is not ${name === undefined ? 'an array' : 'an object'}`;
      throw fail(at, sentence, 'name the path to the array of items', { code: 'wrong_path' });
    }
    if (name === undefined) return at + 1;
    const { found, end } = membersAt(text, at);
    const member = found.find((one) => one.name === name);
    if (!member) {
      if (end === ENDS) return -1;
      if (end === BROKEN) throw fail(at, ...NOT_VALID);
      const names = found.map((one) => one.name);
      const like = nearest(name, names);
      const hint = like ? `did you mean "${like}"?` : `its members are ${list(names) || 'none'}`;
      throw fail(end, `has no "${path.slice(0, level + 1).join('.')}"`, hint);
    }
    at = member.start;
  }
  return -1;
}

/** Checks a whole text in which the array is empty. @throws what `fail` makes */
export function checkAround(text: Buffer, { path, others }: JsonBody, fail: Fail): void {
  const json = text.toString();
  try {
    JSON.parse(json);
  } catch (error) {
    const { message } = error as Error;
    const position = Number(/ at position (\d+)/.exec(message)?.[1] ?? json.length);
    const at = Buffer.byteLength(json.slice(0, position));
    // Node 20 gives no place for short texts.
    if (at === text.length && !/^Unexpected token/.test(message))
      throw fail(at, 'the text ends after the array, before the object that it is in is closed', CUT);
    throw fail(at, ...(/after JSON/.test(message) ? textFollows('object that holds the array') : NOT_VALID));
  }
  let object = skipSpace(text, 0);
  for (const [level, name] of path.entries()) {
    const members = membersAt(text, object).found;
    const other = members.find((one) => others.includes(one.name) && text[one.start] === OPEN_BRACKET);
    if (level === 0 && other) {
      const hint = 'import one kind at a time: say which one to read';
      const sentence = `holds "${other.name}" beside "${path.join('.')}"`;
      throw fail(other.start, sentence, hint, { code: 'both_kinds' });
    }
    const found = members.filter((one) => one.name === name).map(({ start }) => start);
    if (found.length > 1) {
      const sentence = `"${path.slice(0, level + 1).join('.')}" appears twice`;
      throw fail(found[1]!, sentence, 'put all items into one array');
    }
    object = found[0]!;
  }
}
