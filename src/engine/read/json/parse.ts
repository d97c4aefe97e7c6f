/** Parses the items of a batch of JSON. */
import { InputError } from '../../errors.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import { excessIn } from './text.js';

export interface JsonRecord {
  /** Index of the record in its batch. */
  number: number;
  text: string;
  value: unknown;
  /** Why it was not parsed (`excessIn`); null if it was. */
  excess: string | null;
}

/** Parses the records of a batch. @throws InputError as `jsonRecord` does */
export function* jsonRecords(batch: RecordBatch, input: OpenedInput): Generator<JsonRecord> {
  for (let number = 0; number < batch.lines.length; number++) yield jsonRecord(batch, number, input);
}

/** @throws InputError if the text is not JSON, naming the line, and in an array the item */
export function jsonRecord(batch: RecordBatch, number: number, input: OpenedInput): JsonRecord {
  const text = recordText(batch, number);
  const excess = excessIn(text);
  if (excess !== null) return { number, text, value: undefined, excess };
  try {
    return { number, text, value: JSON.parse(text) as unknown, excess };
  } catch (error) {
    throw notJson((error as Error).message, text, batch, number, input);
  }
}

export function recordText({ bytes, spans }: RecordBatch, number: number): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString('utf8', spans[number * 2], spans[number * 2 + 1]);
}

/** As Python, pandas, and DuckDB write them. */
const STRING = /"(?:[^"\\]|\\.)*"/gs;
const NO_NUMBER = /[:,[]\s*-?(NaN|Infinity)\s*[,}\]]/;

function notJson(
  message: string,
  text: string,
  batch: RecordBatch,
  number: number,
  input: OpenedInput,
): InputError {
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
