/** Parses the items of a batch of JSON. */
import { InputError } from '../../errors.js';
import { tooManyKeys } from '../limits.js';
import type { Rows } from '../rows.js';
import { viewOf } from '../text/fours.js';
import type { OpenedInput } from '../types.js';
import { look, membersIn, seen } from './look.js';
import { deepestName, PARSED_LEVELS } from './text.js';

export interface JsonRecord {
  text: string;
  value: unknown;
  /** Why it was not parsed: it would take many times its size in memory. Null if it was. */
  excess: string | null;
  /** Whether the value may lack something that the text has: a member, digits, or half of a character. */
  isSuspect: boolean;
  /** Whether numbers in the text may have other digits than those of the value. */
  isSpelled: boolean;
  /** Whether the text is as `JSON.stringify` writes the value, except where names are numbers. */
  isCompact: boolean;
}

/**
 * Returns the function that parses a record of a batch.
 * @throws InputError if the text is not JSON, naming the line, and in an array the item
 */
export function recordReader(batch: Rows, input: OpenedInput): (number: number) => JsonRecord {
  const { starts, ends } = batch;
  const bytes = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
  const view = viewOf(bytes);
  return (number) => {
    const [start, end] = [starts[number]!, ends[number]!];
    look(bytes, view, start, end);
    const { members, depth, isSuspect, isSpelled, isCompact } = seen;
    const text = bytes.toString('utf8', start, end);
    const deep = depth > PARSED_LEVELS ? deepestName(text) : null;
    const excess =
      members > input.maxColumns ? tooManyKeys(members, input) : deep && `${deep} is nested too deeply`;
    if (excess !== null) return { text, value: undefined, excess, isSuspect, isSpelled, isCompact };
    try {
      const value: unknown = JSON.parse(text);
      const isWhole = depth <= input.maxDepth && membersIn(value) === members;
      return { text, value, excess, isSuspect: isSuspect || !isWhole, isSpelled, isCompact };
    } catch (error) {
      throw notJson((error as Error).message, text, batch, number, input);
    }
  };
}

export function recordText({ bytes, starts, ends }: Rows, number: number): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString('utf8', starts[number], ends[number]);
}

/** As Python, pandas, and DuckDB write them. */
const STRING = /"(?:[^"\\]|\\.)*"/gs;
const NO_NUMBER = /[:,[]\s*-?(NaN|Infinity)\s*[,}\]]/;

function notJson(message: string, text: string, batch: Rows, number: number, input: OpenedInput): InputError {
  const position = Number(/at position (\d+)/.exec(message)?.[1] ?? 0);
  const line = batch.fileLines![number]! + text.slice(0, position).split('\n').length - 1;
  const [, word] = (/'[NI]'|minus/.test(message) && NO_NUMBER.exec(text.replace(STRING, '""'))) || [];
  const item = input.body ? `item ${batch.first + number + 1}` : 'the line';
  const fault = word === undefined ? faultOf(message) : `there is no ${word} in JSON`;
  return new InputError(`${item} is not valid JSON: ${fault}`, {
    file: input.path,
    line,
    hint: word
      ? 'write null instead, or export the file again without such values'
      : input.body
        ? 'fix the item, or export the file again'
        : 'each line must be one whole item; for objects that span several lines, use JSON instead of JSON Lines',
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
