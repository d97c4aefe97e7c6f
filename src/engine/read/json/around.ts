/** Reads the JSON objects around an array: where it begins, and, once it is read, whether anything else is wrong. */
import type { Problem } from '../../problems.js';
import { nearest } from '../../util/nearest.js';
import type { JsonBody } from '../types.js';
import { list } from '../wording.js';
import { BROKEN, ENDS, eachMember, OPEN_BRACE, OPEN_BRACKET, skipSpace } from './look.js';

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
    const names: string[] = [];
    const end = eachMember(text, at, (member) => names.push(member) > 0 && member === name);
    if (end === ENDS) return -1;
    if (end === BROKEN) throw fail(at, ...NOT_VALID);
    if (names.at(-1) !== name) {
      const like = nearest(name, names);
      const hint = like ? `did you mean "${like}"?` : `its members are ${list(names) || 'none'}`;
      throw fail(end, `has no "${path.slice(0, level + 1).join('.')}"`, hint);
    }
    at = end;
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
    if (at === text.length)
      throw fail(at, 'the text ends after the array, before the object that it is in is closed', CUT);
    throw fail(at, ...(/after JSON/.test(message) ? textFollows('object that holds the array') : NOT_VALID));
  }
  let object = skipSpace(text, 0);
  for (const [level, name] of path.entries()) {
    const found: number[] = [];
    eachMember(text, object, (member, value) => {
      if (member === name) found.push(value);
      if (level > 0 || !others.includes(member) || text[value] !== OPEN_BRACKET) return;
      const hint = 'import one kind at a time: say which one to read';
      throw fail(value, `holds "${member}" beside "${path.join('.')}"`, hint, { code: 'both_kinds' });
    });
    if (found.length > 1) {
      const sentence = `"${path.slice(0, level + 1).join('.')}" appears twice`;
      throw fail(found[1]!, sentence, 'put all items into one array');
    }
    object = found[0]!;
  }
}
