/** Reads JSON arrays, request bodies of the service, and JSON Lines. The first items show kind and identifier. */
import { InputError, UsageError } from '../../errors.js';
import type { Kind } from '../../model.js';
import type { InputFormat } from '../format.js';
import { identify, inArray } from '../mapping/identity.js';
import { METADATA } from '../mapping/targets.js';
import { toUtf8 } from '../text/encoding.js';
import type { Head } from '../text/head.js';
import { splitText } from '../text/splitter.js';
import type { InputFile, InputOptions, OpenedInput } from '../types.js';
import { MOST_COLUMNS } from '../wording.js';
import { FieldCounter, JsonTotals, placeOf } from './fields.js';
import { recordReader } from './items.js';
import { objectMembers } from './members.js';
import { arraysBelow, shapeOf } from './shape.js';
import { JsonTokenizer } from './tokenizer.js';
import { JsonWriter } from './writer.js';

export const jsonFormat: InputFormat<JsonWriter> = {
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
  rows: (input, { bytes }) => splitText(toUtf8(bytes, input.encoding), tokenizerOf(input), input),
  writer: (input) => new JsonWriter(input),
  counter: (_, writer) => new FieldCounter(writer.values),
  totals: (input) => new JsonTotals(placeOf(input)),
  placeOf,
};

const tokenizerOf = ({ path, json }: OpenedInput): JsonTokenizer => new JsonTokenizer(path, json!);

/** @throws InputError if the first items have no identifier; UsageError for options that do not fit them */
async function open(file: InputFile, options: InputOptions, head?: Head): Promise<OpenedInput> {
  const { kind: found, ...json } = shapeOf(head!, options);
  if (found && options.kind && found !== options.kind) {
    throw new UsageError(`kind ${options.kind}: ${options.path} contains {"${found}": […]}`, {
      hint: 'leave the kind out',
      problem: { code: 'kind_mismatch', path: options.path, kind: options.kind, found },
    });
  }
  const kind = options.kind ?? found;
  const format = json.items === 'lines' ? 'ndjson' : 'json';
  const opened: OpenedInput = { ...file, ...UNKNOWN, format, json };
  const below = json.items === 'array' ? [] : arraysBelow(head!, options);
  const fields = await firstFields(opened, head!).catch((error: Error) => {
    const [array] = below;
    const isTooLong = error instanceof InputError && error.problem?.code === 'item_too_long';
    throw array && isTooLong ? new InputError(error.message, inArray(file.path, array.path, null)) : error;
  });
  if (fields) {
    const { flat, nested } = fields;
    return {
      ...opened,
      columns: [...new Set([...flat, ...nested])],
      ...identify([...flat], { ...options, kind, below }),
    };
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

/** Fields of the first items, and of their metadata; null if there are no items. */
async function firstFields(
  opened: OpenedInput,
  head: Head,
): Promise<Record<'flat' | 'nested', Set<string>> | null> {
  const [flat, nested] = [new Set<string>(), new Set<string>()];
  const add = (fields: Set<string>, json: string): void => {
    for (const [name, value] of objectMembers(json, MOST_COLUMNS)) {
      if (fields.size < MOST_COLUMNS) fields.add(name);
      if (fields === flat && name === METADATA) add(nested, value);
    }
  };
  for await (const batch of splitText(head.again(), tokenizerOf(opened), opened)) {
    const read = recordReader(batch, opened);
    for (let number = 0; number < batch.lines.length; number++) add(flat, read(number).text);
    return { flat, nested };
  }
  return null;
}
