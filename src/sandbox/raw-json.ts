/**
 * Splits JSON text into the texts of its parts, so that values can be kept as they were written: `1.10` stays
 * `1.10`, and no number becomes a double. The text must be valid JSON (`JSON.parse` has accepted it), because
 * nothing is checked here.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const SPACE = 0x20;
// `{` and `[` differ in one bit, and so do `}` and `]`. No other character that JSON allows between values
// gives these codes.
const opens = (code: number): boolean => (code | 0x20) === 0x7b;
const closes = (code: number): boolean => (code | 0x20) === 0x7d;

/**
 * The members of an object: the text of each value by its key. The last value of a repeated key wins, as with
 * `JSON.parse`.
 */
export function members(json: string): Map<string, string> {
  const found = new Map<string, string>();
  eachMember(json, space(json, 0), (key, start, end) => found.set(key, json.slice(start, end)));
  return found;
}

/** Visits the members of the object at index `at`, in order. Returns the index after the object. */
export function eachMember(
  json: string,
  at: number,
  visit: (key: string, start: number, end: number) => void,
): number {
  let i = space(json, at + 1);
  while (json.charCodeAt(i) === QUOTE) {
    const keyEnd = stringEnd(json, i);
    const start = space(json, space(json, keyEnd) + 1); // skips the colon
    const end = valueEnd(json, start);
    visit(JSON.parse(json.slice(i, keyEnd)) as string, start, end);
    i = next(json, end);
  }
  return i + 1;
}

/** Visits the elements of the array at index `at`, in order. Returns the index after the array. */
export function eachElement(json: string, at: number, visit: (start: number, end: number) => void): number {
  let i = space(json, at + 1);
  while (!closes(json.charCodeAt(i))) {
    const end = valueEnd(json, i);
    visit(i, end);
    i = next(json, end);
  }
  return i + 1;
}

/** The index of the first character from `i` on that is not white space. */
export function space(json: string, i: number): number {
  let at = i;
  while (json.charCodeAt(at) <= SPACE) at++;
  return at;
}

/** The index of what follows a value, after the comma if there is one. */
function next(json: string, end: number): number {
  const i = space(json, end);
  return json.charCodeAt(i) === COMMA ? space(json, i + 1) : i;
}

function valueEnd(json: string, at: number): number {
  const first = json.charCodeAt(at);
  if (first === QUOTE) return stringEnd(json, at);
  if (opens(first)) return containerEnd(json, at);
  let i = at;
  for (let c = first; c > SPACE && c !== COMMA && !closes(c); c = json.charCodeAt(i)) i++;
  return i;
}

function containerEnd(json: string, at: number): number {
  let depth = 0;
  for (let i = at; ; i++) {
    const c = json.charCodeAt(i);
    if (c === QUOTE) i = stringEnd(json, i) - 1;
    else if (opens(c)) depth++;
    else if (closes(c) && --depth === 0) return i + 1;
  }
}

function stringEnd(json: string, at: number): number {
  let i = json.indexOf('"', at + 1);
  while (json.charCodeAt(i - 1) === BACKSLASH && escaped(json, i)) i = json.indexOf('"', i + 1);
  return i + 1;
}

/** Whether a quote is escaped: an odd number of backslashes is before it. */
function escaped(json: string, quote: number): boolean {
  let i = quote - 1;
  while (json.charCodeAt(i) === BACKSLASH) i--;
  return (quote - i) % 2 === 0;
}
