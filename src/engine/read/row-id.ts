/** Finds the identifier of a row as text. */
import { ID_FIELD, type Kind, type RejectedRow } from '../model.js';
import { cleaner } from './identifier.js';
import { headOf } from './item-text.js';
import { memberOf } from './json/text.js';
import type { OpenedInput } from './types.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The identifier of an item as it is sent, which is its first member. @param start where the item begins */
export function idOfItem(items: Buffer, start: number, kind: Kind): string {
  const open = start + headOf(kind).length;
  let end = items.indexOf(QUOTE, open + 1);
  if (!items.subarray(open, end).includes(BACKSLASH)) return items.toString('utf8', open + 1, end);
  // A quote after an odd number of backslashes belongs to the text.
  for (; ; end = items.indexOf(QUOTE, end + 1)) {
    let before = end - 1;
    while (items[before] === BACKSLASH) before--;
    if ((end - before) % 2 === 1) return JSON.parse(items.toString('utf8', open, end + 1)) as string;
  }
}

/** The identifier of a row as it is in the file; empty if it has none. */
export function idOfOriginal(original: RejectedRow['original'], input: OpenedInput): string {
  const { columns, idColumn, rules } = input;
  const text =
    'cells' in original
      ? (original.cells[columns.indexOf(idColumn)] ?? '')
      : (textIn(String(original.item), idColumn) ??
        textIn(String(original.item), ID_FIELD[input.kind]) ??
        '');
  return cleaner(rules)?.(text) ?? text;
}

/** A string or number in a JSON object. Numbers keep their digits as written. */
function textIn(json: string, name: string): string | null {
  try {
    const text = memberOf(json, name);
    if (text?.startsWith('"')) return JSON.parse(text) as string;
    return text !== null && /^-?\d/.test(text) ? text : null;
  } catch {
    return null;
  }
}
