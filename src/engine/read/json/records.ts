/** Parses the items of a batch of JSON. */
import { InputError } from '../../errors.js';
import { tooManyKeys } from '../limits.js';
import type { Rows } from '../rows.js';
import type { OpenedInput } from '../types.js';
import { SUSPECT } from './look.js';
import { TOO_DEEP } from './tokenizer.js';

export interface JsonRecord {
  text: string;
  value: unknown;
  /** What `look` saw; `SUSPECT` also if a member is missing. */
  kind: number;
  /** Why it was not parsed: it would take many times its size in memory. Null if it was. */
  excess: string | null;
}

/**
 * Returns the function that parses a record of a batch.
 * @throws InputError if the text is not JSON, naming the line, and in an array the item
 */
export function recordReader(batch: Rows, input: OpenedInput): (number: number) => JsonRecord {
  const { maxColumns } = input;
  const { kinds, members } = batch;
  const textOf = textReader(batch);
  return (number) => {
    const text = textOf(number);
    const kind = kinds[number]!;
    const count = members![number]!;
    const excess =
      count > maxColumns ? tooManyKeys(count, input) : kind & TOO_DEEP ? 'is nested too deeply' : null;
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

export function textReader({ bytes, starts, ends }: Rows): (number: number) => string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return (number) => buffer.toString('utf8', starts[number], ends[number]);
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
