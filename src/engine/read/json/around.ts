/** What is around the array of items in a JSON text: where the array begins, and what is wrong outside of it. */
import type { Problem } from '../../problems.js';
import { nearest } from '../../util/nearest.js';
import { OPEN_BRACE } from '../text/bytes.js';
import type { JsonBody } from '../types.js';
import { list } from '../wording.js';
import { OPEN_BRACKET, skipSpace } from './look.js';
import { BROKEN, ENDS, membersAt } from './members.js';

/** What an error says. */
export type Fault = readonly [sentence: string, hint: string, problem?: Problem];

/** A fault, and its offset. */
interface FaultAt {
  at: number;
  fault: Fault;
}

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

/** The offset after the bracket that opens the array; -1 if the text ends before it. */
export function arrayStart(text: Buffer, { path }: JsonBody): number | FaultAt {
  let at = skipSpace(text, 0);
  for (let level = 0; at < text.length; level++) {
    const name = path[level];
    if (text[at] !== (name === undefined ? OPEN_BRACKET : OPEN_BRACE)) {
      if (level === 0) return { at, fault: NO_JSON };
      const sentence = `"${path.slice(0, level).join('.')}" is not ${name === undefined ? 'an array' : 'an object'}`;
      return { at, fault: [sentence, 'name the path to the array of items', { code: 'wrong_path' }] };
    }
    if (name === undefined) return at + 1;
    const { found, end } = membersAt(text, at);
    const member = found.find((one) => one.name === name);
    if (!member) {
      if (end === ENDS) return -1;
      if (end === BROKEN) return { at, fault: NOT_VALID };
      const names = found.map((one) => one.name);
      const like = nearest(name, names);
      const hint = like ? `did you mean "${like}"?` : `its members are ${list(names) || 'none'}`;
      return { at: end, fault: [`has no "${path.slice(0, level + 1).join('.')}"`, hint] };
    }
    at = member.start;
  }
  return -1;
}

/** What is wrong with a whole text in which the array is empty; null if nothing is. */
export function faultAround(text: Buffer, { path, others }: JsonBody): FaultAt | null {
  const json = text.toString();
  try {
    JSON.parse(json);
  } catch (error) {
    const { message } = error as Error;
    const position = Number(/ at position (\d+)/.exec(message)?.[1] ?? json.length);
    const at = Buffer.byteLength(json.slice(0, position));
    // Node 20 gives no place for short texts.
    if (at === text.length && !/^Unexpected token/.test(message))
      return { at, fault: ['the text ends after the array, before the object that it is in is closed', CUT] };
    return { at, fault: /after JSON/.test(message) ? textFollows('object that holds the array') : NOT_VALID };
  }
  let object = skipSpace(text, 0);
  for (const [level, name] of path.entries()) {
    const members = membersAt(text, object).found;
    const other = members.find((one) => others.includes(one.name) && text[one.start] === OPEN_BRACKET);
    if (level === 0 && other) {
      const hint = 'import one kind at a time: say which one to read';
      const sentence = `holds "${other.name}" beside "${path.join('.')}"`;
      return { at: other.start, fault: [sentence, hint, { code: 'both_kinds' }] };
    }
    const found = members.filter((one) => one.name === name).map(({ start }) => start);
    if (found.length > 1) {
      const sentence = `"${path.slice(0, level + 1).join('.')}" appears twice`;
      return { at: found[1]!, fault: [sentence, 'put all items into one array'] };
    }
    object = found[0]!;
  }
  return null;
}
