/** The items of a batch of JSON: how they are listed, and how they are parsed. */
import { InputError } from '../../errors.js';
import { tooManyKeys } from '../limits.js';
import { CellLists, type Rows } from '../rows.js';
import type { OpenedInput } from '../types.js';
import { SUSPECT, seen } from './look.js';

/** The deepest nesting that is parsed: beyond it, a value takes many times the memory of its text. */
const PARSED_LEVELS = 128 * 1024;
/** The bit of an item's kind, beside those of `look`. */
const TOO_DEEP = 8;

/** Items as `look` saw them, each one cell. */
export class ItemList {
  readonly #cells = new CellLists(4096);
  #members: number[] = [];

  constructor(private readonly maxDepth: number) {}

  /** Adds the item that was looked at last. */
  add(start: number, end: number): void {
    const { depth, kind, members } = seen;
    const deep = (depth > this.maxDepth ? SUSPECT : 0) | (depth > PARSED_LEVELS ? TOO_DEEP : 0);
    this.#cells.push(start, end, kind | deep);
    this.#members.push(members);
  }

  take(): Pick<Rows, 'starts' | 'ends' | 'kinds' | 'members' | 'width'> {
    const members = Uint32Array.from(this.#members);
    this.#members = [];
    return { ...this.#cells.take(), members, width: 1 };
  }
}

export interface JsonRecord {
  text: string;
  value: unknown;
  /** What `look` saw; `SUSPECT` also if a member is missing. */
  kind: number;
  /** Why it was not parsed: it would take many times its size in memory, or its format refused it. Null if it was. */
  excess: string | null;
}

/**
 * Returns the function that parses a record of a batch.
 * @throws InputError if the text is not JSON, naming the line, and in an array the item
 */
export function recordReader(batch: Rows, input: OpenedInput): (number: number) => JsonRecord {
  const { bytes, starts, ends, kinds, members } = batch;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const refused = new Map(batch.odd?.map(({ number, reason }) => [number, reason]));
  return (number) => {
    const text = buffer.toString('utf8', starts[number], ends[number]);
    const kind = kinds[number]!;
    const count = members![number]!;
    const excess =
      refused.get(number) ??
      (count > input.maxColumns
        ? tooManyKeys(count, input)
        : kind & TOO_DEEP
          ? 'is nested too deeply'
          : null);
    if (excess !== null) return { text, value: undefined, kind, excess };
    try {
      const value: unknown = JSON.parse(text);
      const isWhole = (kind & SUSPECT) !== 0 || membersIn(value) === count;
      return { text, value, kind: isWhole ? kind : kind | SUSPECT, excess };
    } catch (error) {
      throw notJson((error as Error).message, text, batch, number, input);
    }
  };
}

/** How many members a parsed value has, at all depths: fewer than its text if a name appears twice. */
function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const one of value) members += membersIn(one);
    return members;
  }
  // Twice as fast as making lists of names and values.
  for (const name in value) {
    members++;
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === 'object') members += membersIn(member);
  }
  return members;
}

const STRING = /"(?:[^"\\]|\\.)*"/gs;
/** As Python, pandas, and DuckDB write them. */
const NO_NUMBER = /[:,[]\s*-?(NaN|Infinity)\s*[,}\]]/;

function notJson(message: string, text: string, batch: Rows, number: number, input: OpenedInput): InputError {
  const isLines = !input.json?.body;
  const position = Number(/at position (\d+)/.exec(message)?.[1] ?? 0);
  const line = (batch.fileLines ?? batch.lines)[number]! + text.slice(0, position).split('\n').length - 1;
  const [, word] = (/'[NI]'|minus/.test(message) && NO_NUMBER.exec(text.replace(STRING, '""'))) || [];
  const item = isLines ? 'the line' : `item ${batch.first + number + 1}`;
  const fault = word === undefined ? faultOf(message) : `there is no ${word} in JSON`;
  const advice = isLines
    ? 'each line must be one whole item; for objects that span several lines, use JSON instead of JSON Lines'
    : 'fix the item, or export the file again';
  return new InputError(`${item} is not valid JSON: ${fault}`, {
    file: input.path,
    line,
    hint: word ? 'write null instead, or export the file again without such values' : advice,
  });
}

/** The parser's message as a sentence, without its positions, which do not count from the beginning of the file. */
function faultOf(message: string): string {
  if (/after JSON/.test(message)) return 'it contains more than one value';
  if (/end of JSON|Unterminated string/.test(message)) return 'it ends in the middle of a value';
  if (/double-quoted property name/.test(message)) {
    return 'there is a comma before a closing brace, or a name without quotes';
  }
  return message
    .replace(/(?: in JSON)? at position.*/s, '')
    .replace(/, (?:\.{3})?".*is not valid JSON$/s, '');
}
