/** The items of a batch of JSON, parsed as a whole. */
import { InputError } from '../../errors.js';
import { MOST_COLUMNS, MOST_LEVELS, TOO_MANY_KEYS, TOO_MANY_LEVELS } from '../limits.js';
import type { Rows } from '../rows.js';
import { viewOf } from '../text/fours.js';
import type { OpenedInput } from '../types.js';
import { isScalar, seen, valueEnd } from './look.js';
import { jsonString } from './text.js';

/** The deepest nesting that is parsed: beyond it, a value may take many times the memory of its text. */
const PARSED_LEVELS = MOST_LEVELS + 2;

export interface JsonRecord {
  text: string;
  value: unknown;
  /** Why it was not parsed: it would take many times its size in memory. Null if it was. */
  excess: string | null;
}

/**
 * Returns the function that parses a record of a batch.
 * @throws InputError if the text is not JSON, naming the line, and in an array the item
 */
export function recordReader(batch: Rows, input: OpenedInput): (number: number) => JsonRecord {
  return (number) => {
    const bytes = textOf(batch, input, number);
    const text = bytes.toString();
    valueEnd(bytes, viewOf(bytes), 0, bytes.length);
    const { members, depth } = isScalar(bytes[0]!) ? NO_SIZE : seen;
    const beyond = depth > PARSED_LEVELS ? TOO_MANY_LEVELS : null;
    const excess = members > MOST_COLUMNS ? TOO_MANY_KEYS : beyond;
    if (excess !== null) return { text, value: undefined, excess };
    try {
      return { text, value: JSON.parse(text), excess };
    } catch (error) {
      throw notJson((error as Error).message, text, batch, number, input);
    }
  };
}

/** A row of columns becomes an object of their values. */
function textOf({ bytes, starts, ends, width }: Rows, input: OpenedInput, number: number): Buffer {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const cell = (at: number): Buffer => text.subarray(starts[at], ends[at]);
  if (input.format !== 'parquet') return cell(number);
  const members = input.columns.flatMap((name, column) => {
    const value = cell(number * width + column);
    return value.length === 0 ? [] : [`${jsonString(name)}:${value}`];
  });
  return Buffer.from(`{${members.join(',')}}`);
}

const NO_SIZE = { members: 0, depth: 0 };

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
