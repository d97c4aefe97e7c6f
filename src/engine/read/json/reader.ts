/** Reads JSON arrays, request bodies of the service, and JSON Lines. The first items show kind and identifier. */
import { InputError, UsageError } from '../../errors.js';
import type { Kind } from '../../model.js';
import { isObject } from '../../util/json-object.js';
import type { TextReader } from '../format.js';
import { limitIn } from '../limits.js';
import { identify, inArray } from '../mapping/id-column.js';
import { METADATA } from '../mapping/targets.js';
import type { Rows } from '../rows.js';
import type { Head } from '../text/head.js';
import { type Splitter, splitText } from '../text/splitter.js';
import type { InputFile, InputOptions, OpenedInput } from '../types.js';
import { ArraySplitter } from './array-splitter.js';
import { buildJson } from './build.js';
import { NdjsonSplitter } from './items.js';
import { isLaidOut, jsonLayout } from './layout.js';
import { recordReader } from './parse.js';
import { scanJson } from './scan.js';
import { arraysBelow, shapeOf } from './shape.js';
import { JsonTotals, placeOf } from './totals.js';

export const jsonReader: TextReader = {
  extensions: { json: 'json', ndjson: 'ndjson', jsonl: 'ndjson' },
  recognize(start, named, path) {
    // A CSV header may begin with a bracket, but not like this.
    if (/^\[\s*(?:[[{\]"\d-]|$)/.test(start) && named !== 'csv' && named !== 'tsv') return 'json';
    if (/^\[\s*(?:\{\s*"|\])/.test(start)) return 'json';
    // The exact format is known only when it is opened.
    if (/^\{\s*(?:"|\}|$)/.test(start)) return 'ndjson';
    if (named === 'json') {
      throw new InputError('is not JSON: it begins with neither [ nor {', {
        file: path,
        hint: 'if it is CSV, name the format',
        problem: { code: 'wrong_format', likely: 'csv' },
      });
    }
    return named === 'ndjson' ? named : null;
  },
  open,
  async columns(file, head, text) {
    const { kind: _, ...shape } = shapeOf(head, { path: file.path, kind: 'companies' });
    const fields = await firstFields({ ...file, ...UNKNOWN, ...shape }, head, text);
    return [...(fields?.flat ?? [])];
  },
  rows: (text, input, { signal }) => splitText(text, split(input), input, signal),
  scan: scanJson,
  totals: (input) => new JsonTotals(input),
  build: buildJson,
  // Parsed, too: the text of a record that is not JSON must not be compared or shown as an item.
  original(batch, input) {
    const read = recordReader(batch, input);
    return Array.from(batch.lines, (_, number) => ({ item: read(number).text }));
  },
  item(input, _, original) {
    const text = 'item' in original ? String(original.item) : '';
    const laid = jsonLayout(input)({
      value: JSON.parse(text),
      text,
      isSuspect: true,
      isSpelled: true,
      isCompact: false,
    });
    return isLaidOut(laid) ? JSON.parse(laid.item) : null;
  },
  placeOf,
};

function split({ path, body }: OpenedInput): Splitter {
  return body === null ? new NdjsonSplitter(path) : new ArraySplitter(path, body);
}

/** @throws InputError if the first items have no identifier; UsageError for options that do not fit them */
async function open(
  file: InputFile,
  options: InputOptions,
  head: Head,
  text: () => AsyncIterable<Buffer>,
): Promise<OpenedInput> {
  const { kind: found, ...shape } = shapeOf(head, options);
  if (found && options.kind && found !== options.kind) {
    throw new UsageError(`kind ${options.kind}: ${options.path} contains {"${found}": […]}`, {
      hint: 'leave the kind out',
      problem: { code: 'kind_mismatch', path: options.path, kind: options.kind, found },
    });
  }
  const kind = options.kind ?? found;
  const opened: OpenedInput = { ...file, ...UNKNOWN, ...shape };
  const below = opened.body?.items === 'array' ? [] : arraysBelow(head, options);
  const fields = await firstFields(opened, head, text).catch((error: Error) => {
    const [array] = below;
    const isTooLong = error instanceof InputError && error.problem?.code === 'item_too_long';
    throw array && isTooLong ? new InputError(error.message, inArray(file.path, array.path, null)) : error;
  });
  if (fields) {
    const { flat, nested } = fields;
    const columns = [...flat, ...[...nested].filter((field) => !flat.has(field))];
    return { ...opened, columns, ...identify([...flat], { ...options, kind, below }) };
  }
  // Without items, any kind is possible.
  const { path, rules, byKind } = options;
  const identity = identify(['user_id', 'company_id'], { path, rules, byKind, kind: kind ?? 'companies' });
  return { ...opened, ...identity };
}

/** Values that are not known before the first items are read. */
const UNKNOWN = {
  kind: 'companies' as Kind,
  delimiter: null,
  columns: [] as string[],
  targets: [],
  idColumn: '',
  companyIdColumn: null,
};

/** How much text is split at a time to find the first items. */
const STEP_BYTES = 128 * 1024;

/** The first items, from the part of the text already read, unless the first one is longer. */
async function firstItems(
  opened: OpenedInput,
  head: Head,
  text: () => AsyncIterable<Buffer>,
): Promise<Rows | null> {
  const splitter = split(opened);
  for (let at = 0; at < head.text.length; at += STEP_BYTES) {
    const batch = splitter.push(head.text.subarray(at, at + STEP_BYTES));
    if (batch) return batch;
  }
  if (head.whole) return splitter.end();
  for await (const batch of splitText(text(), split(opened), opened)) return batch;
  return null;
}

/** Fields of the first items, and of their metadata; null if there are no items. */
async function firstFields(...where: Parameters<typeof firstItems>): Promise<ItemFields | null> {
  const batch = await firstItems(...where);
  return batch && fieldsOf(batch, where[0]);
}

interface ItemFields {
  flat: Set<string>;
  nested: Set<string>;
}

function fieldsOf(batch: Rows, opened: OpenedInput): ItemFields {
  const flat = new Set<string>();
  const nested = new Set<string>();
  const add = (fields: Set<string>, value: object): void => {
    for (const field of Object.keys(value)) if (fields.size < opened.maxColumns) fields.add(field);
  };
  let refused: InputError | null = null;
  const read = recordReader(batch, opened);
  for (let number = 0; number < batch.lines.length; number++) {
    const { value, excess } = read(number);
    if (excess !== null) {
      const line = batch.fileLines?.[number] ?? null;
      const limit = limitIn(excess);
      refused ??= new InputError(`an item ${excess}`, {
        file: opened.path,
        ...(line !== null && { line }),
        hint: 'leave some keys out, or make it flatter',
        ...(limit && { problem: { code: 'too_many_columns', columns: limit.needed } }),
      });
    }
    if (!isObject(value)) continue;
    add(flat, value);
    const metadata = value[METADATA];
    if (isObject(metadata)) add(nested, metadata);
  }
  if (refused && flat.size === 0) throw refused;
  return { flat, nested };
}
