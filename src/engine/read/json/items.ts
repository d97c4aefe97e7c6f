/** The items of a batch: their fields, and where their values go; and each item parsed as a whole. */

import { InputError } from '../../errors.js';
import { type Converter, converterOf } from '../conversion/types.js';
import { METADATA, type Target, targeting } from '../mapping/targets.js';
import type { Rows } from '../rows.js';
import { type Fixed, fixed, viewOf } from '../text/bytes.js';
import type { OpenedInput } from '../types.js';
import { MOST_COLUMNS, MOST_LEVELS, TOO_MANY_KEYS, TOO_MANY_LEVELS } from '../wording.js';
import { MAX_FIELDS } from './fields.js';
import { isScalar, seen, valueEnd } from './look.js';
import type { Members } from './members.js';
import { jsonString, lossIn } from './text.js';

/** A field, as the last item had it. */
export interface Field extends Previous {
  name: string;
  target: Target;
  /** `,"key":` as it is sent. */
  text: Fixed;
  /** Null unless its texts are converted. */
  converter: Converter | null;
  /** Why its name cannot be sent; null if it can. */
  half: string | null;
  /** Its name as it was written last. */
  written: Uint8Array;
  /** The last item that had it. */
  item: number;
  /** Shared by all fields with the same key: the last item that has the key. */
  key: { item: number };
}

interface Previous {
  /** The field after it in the last item: mostly, it is there in the next one, too. */
  next: Field | null;
}

/** The fields of one level. */
export class Fields {
  readonly #known = new Map<string, Field>();
  #start: Previous = { next: null };
  #last = this.#start;

  /** @param keys of both levels */
  constructor(
    private readonly targetOf: (name: string) => Target,
    private readonly keys: Map<string, { item: number }>,
  ) {}

  get size(): number {
    return this.#known.size;
  }

  /** Begins an object. */
  begin(): void {
    this.#last = this.#start;
  }

  clear(): void {
    this.#known.clear();
    this.#start = { next: null };
  }

  /** The field of a member. @throws SyntaxError for a name that is not valid JSON */
  of(member: Members): Field {
    const { bytes, nameStart, nameEnd } = member;
    let field = this.#last.next;
    if (field === null || !isWritten(field.written, bytes, nameStart, nameEnd)) {
      field = this.named(member.name);
      if (!isWritten(field.written, bytes, nameStart, nameEnd)) {
        field.written = Buffer.from(bytes.subarray(nameStart, nameEnd));
      }
      this.#last.next = field;
    }
    this.#last = field;
    return field;
  }

  /** A field that an item had. */
  had(name: string, item: number): Field | null {
    const field = this.#known.get(name);
    return field?.item === item ? field : null;
  }

  named(name: string): Field {
    const known = this.#known.get(name);
    if (known) return known;
    const target = this.targetOf(name);
    const key = this.keys.get(target.key ?? '') ?? { item: 0 };
    const text = fixed(target.key === null ? '' : `,${jsonString(target.key)}:`);
    const half = lossIn(jsonString(name));
    const converter = target.pinned && converterOf(target.pinned);
    const field = { name, target, text, converter, half, written: Buffer.alloc(0), item: 0, key, next: null };
    this.keys.set(target.key ?? '', key);
    this.#known.set(name, field);
    return field;
  }
}

function isWritten(written: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
  if (written.length !== end - start) return false;
  for (let at = 0; at < written.length; at++) if (written[at] !== bytes[start + at]) return false;
  return true;
}

/** The fields of items, and of their `metadata`. */
export class ItemFields {
  readonly #keys = new Map<string, { item: number }>();
  readonly outer: Fields;
  readonly inner: Fields;

  constructor(whole: OpenedInput) {
    // `*=string` is for texts and typed columns. Values of JSON keep their types.
    const rules = { ...whole.rules, infer: whole.rules.infer || whole.format !== 'parquet' };
    const input = { ...whole, rules };
    const flat = targeting(input, true);
    // Fields inside `metadata` are never identifiers; as columns they share the names of flat fields.
    const include = rules.include.filter((column) => column !== METADATA);
    const inside = { ...rules, include };
    const nested = targeting({ ...input, rules: inside, idColumn: null, companyIdColumn: null });
    this.outer = new Fields(flat, this.#keys);
    this.inner = new Fields((field) => {
      const { role } = flat(field);
      if (role === 'metadata' || role === 'ignored') return nested(field);
      // `metadata.company_id` is not the identifier, and `metadata.metadata` is not spread again.
      return { column: `${METADATA}.${field}`, role: 'metadata', key: field, pinned: null, because: null };
    }, this.#keys);
  }

  /**
   * Begins an item. Items may have any number of different fields, and memory must not grow with the file.
   * @returns whether all fields were forgotten
   */
  begin(): boolean {
    const areMany = this.outer.size + this.inner.size > 2 * MAX_FIELDS;
    if (areMany) {
      for (const fields of [this.outer, this.inner]) fields.clear();
      this.#keys.clear();
    }
    this.outer.begin();
    this.inner.begin();
    return areMany;
  }
}

/** The deepest nesting that is parsed: beyond it, a value may take many times the memory of its text. */
const PARSED_LEVELS = MOST_LEVELS + 2;

export interface JsonRecord {
  text: string;
  value: unknown;
  /** Why it was not parsed: it would take many times its size in memory. Null if it was. */
  excess: string | null;
}

/** Returns the function that gives the text of an item in a batch. */
function itemTexts({ bytes, starts, ends }: Rows): (number: number) => Buffer {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return (number) => text.subarray(starts[number], ends[number]);
}

/**
 * Returns the function that parses a record of a batch, from its text.
 * @throws InputError if the text is not JSON, naming the line, and in an array the item
 */
export function recordReader(
  batch: Rows,
  input: OpenedInput,
  textOf = itemTexts(batch),
): (number: number) => JsonRecord {
  return (number) => {
    const bytes = textOf(number);
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

const NO_SIZE = { members: 0, depth: 0 };

const STRING = /"(?:[^"\\]|\\.)*"/gs;
/** As Python, pandas, and DuckDB write them. */
const NO_NUMBER = /[:,[]\s*-?(NaN|Infinity)\s*[,}\]]/;

function notJson(message: string, text: string, batch: Rows, number: number, input: OpenedInput): InputError {
  const isLines = (input.json?.items ?? 'lines') === 'lines';
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
