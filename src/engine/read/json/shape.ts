/** Where the items of a JSON text are: in an array, in an array of an object, one per line, or in sequence. */
import { UsageError } from '../../errors.js';
import { ID_FIELD, KINDS, type Kind } from '../../model.js';
import type { ArrayBelow } from '../mapping/identity.js';
import { OPEN_BRACE, viewOf } from '../text/bytes.js';
import type { Head } from '../text/head.js';
import type { InputOptions, JsonBody } from '../types.js';
import { CLOSE_BRACKET, OPEN_BRACKET, skipSpace, valueEnd } from './look.js';
import { membersAt } from './members.js';

export interface Shape extends JsonBody {
  /** The kind that the text names, if it is a request body of the service: `{"companies": […]}`. */
  kind?: Kind;
}

type Asked = Pick<InputOptions, 'path'> & Partial<Pick<InputOptions, 'format' | 'kind' | 'id' | 'jsonPath'>>;

const ARRAY: Shape = { items: 'array', path: [], others: [] };
const VALUES: Shape = { ...ARRAY, items: 'values' };
const LINES: Shape = { ...ARRAY, items: 'lines' };

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
    return { ...ARRAY, path: itemPath(asked.jsonPath) };
  }
  if (asked.format === 'ndjson') return LINES;
  if (text[start] !== OPEN_BRACE) {
    return text[start] === OPEN_BRACKET || asked.format === 'json' ? ARRAY : LINES;
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
    return { items: 'array', path: [kind], others, kind };
  }
  return asked.format !== 'json' && isLines(text) ? LINES : VALUES;
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
    // A pretty-printed object continues with another byte than a broken line and the object after it.
    if (end < 0) {
      return !/[[{,]\s*$/.test(line.toString('latin1')) && !/^\s*["}\],]/.test(text.toString('latin1', at));
    }
    if (skipSpace(line, end) < line.length) return false;
  }
  return true;
}
