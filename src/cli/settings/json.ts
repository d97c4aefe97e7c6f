/**
 * Locates errors in JSON. `JSON.parse` names no line, and its message quotes the text around the error, which
 * in a config file may be the token.
 */

/** Where JSON text becomes invalid: line and column from 1, and the reason. */
export interface JsonFault {
  line: number;
  column: number;
  reason: string;
}

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)\b/y;
const SPACE = /[ \t\r\n]*/y;

class Fault extends Error {
  constructor(
    readonly offset: number,
    reason: string,
  ) {
    super(reason);
  }
}

/** The first error in a text, or null if it is JSON. */
export function jsonFault(text: string): JsonFault | null {
  try {
    const end = skip(text, value(text, skip(text, 0)));
    if (end < text.length) throw new Fault(end, 'unexpected text after the end');
    return null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const before = text.slice(0, error.offset).split('\n');
    return { line: before.length, column: before.at(-1)!.length + 1, reason: error.message };
  }
}

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

const skip = (text: string, at: number): number => match(SPACE, text, at);

function value(text: string, at: number): number {
  if (text[at] === '{') return list(text, at, '}', property);
  if (text[at] === '[') return list(text, at, ']', value);
  if (text[at] === '"') return string(text, at);
  const end = match(SCALAR, text, at);
  if (end < 0) throw new Fault(at, at < text.length ? 'expected a value' : 'unexpected end of file');
  return end;
}

function string(text: string, at: number): number {
  const end = match(STRING, text, at);
  if (end < 0) throw new Fault(at, 'the string is not closed, or contains a character that must be escaped');
  return end;
}

function property(text: string, at: number): number {
  if (text[at] !== '"') throw new Fault(at, 'expected a key in double quotes');
  const colon = skip(text, string(text, at));
  if (text[colon] !== ':') throw new Fault(colon, 'expected a colon');
  return value(text, skip(text, colon + 1));
}

function list(text: string, open: number, close: string, item: (text: string, at: number) => number): number {
  let at = skip(text, open + 1);
  if (text[at] === close) return at + 1;
  for (;;) {
    at = skip(text, item(text, at));
    if (text[at] === close) return at + 1;
    if (text[at] !== ',') throw new Fault(at, `expected a comma or ${close}`);
    at = skip(text, at + 1);
    if (text[at] === close) throw new Fault(at, `unexpected comma before ${close}`);
  }
}
