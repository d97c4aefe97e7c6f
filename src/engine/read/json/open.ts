/** Tells what a JSON input is by its first items: kind and identifier. */
import { UsageError } from '../../errors.js';
import type { Kind } from '../../model.js';
import { identify } from '../mapping/id-column.js';
import { METADATA } from '../mapping/targets.js';
import type { InputOptions } from '../open.js';
import { readRecords } from '../records.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import { BODY } from './array-splitter.js';
import { isObject } from './layout.js';
import { jsonRecords } from './parse.js';

/**
 * @param file what is known of the input apart from its content's form
 * @param text its beginning
 * @throws InputError when its first items hold no identifier; UsageError for flags that do not fit it
 */
export async function openJson(
  file: Omit<OpenedInput, keyof typeof UNKNOWN | 'body'>,
  options: InputOptions,
  text: Buffer,
  signal: AbortSignal | undefined,
): Promise<OpenedInput> {
  const body = bodyOf(text);
  if (body && options.kind && body !== options.kind) {
    throw new UsageError(`--kind ${options.kind}: ${options.path} holds {"${body}": […]}`, {
      hint: 'leave --kind out',
    });
  }
  const kind = options.kind ?? body ?? undefined;
  const opened: OpenedInput = { ...file, ...UNKNOWN, body };
  const fields = await jsonFields(file, text, signal);
  if (fields) {
    const { flat, nested } = fields;
    const columns = [...flat, ...[...nested].filter((field) => !flat.has(field))];
    return { ...opened, columns, ...identify([...flat], { ...options, kind }) };
  }
  // An array without items may be anything.
  const identity = identify(['user_id', 'company_id'], { path: options.path, kind: kind ?? 'companies' });
  return { ...opened, ...identity };
}

/** Fields of the first items, and of their metadata; null where there are no items. @throws InputError */
export async function jsonFields(
  file: Omit<OpenedInput, keyof typeof UNKNOWN | 'body'>,
  text: Buffer,
  signal?: AbortSignal,
): Promise<{ flat: Set<string>; nested: Set<string> } | null> {
  const opened = { ...file, ...UNKNOWN, body: bodyOf(text) };
  for await (const batch of readRecords(opened, { signal })) return fieldsOf(batch, opened);
  return null;
}

/** What is not known before the first items are read. */
const UNKNOWN = {
  kind: 'companies' as Kind,
  delimiter: null,
  columns: [] as string[],
  idColumn: '',
  companyIdColumn: null,
};

/** `{"companies": [` or `{"users": [`: the service's own body says what it holds. */
function bodyOf(text: Buffer): Kind | null {
  const bracket = text.indexOf('[');
  const match = BODY.exec(text.subarray(0, Math.max(bracket, 0)).toString());
  return (match?.[1] as Kind | undefined) ?? null;
}

/** Fields of the items themselves, and of their metadata. */
function fieldsOf(batch: RecordBatch, opened: OpenedInput): { flat: Set<string>; nested: Set<string> } {
  const flat = new Set<string>();
  const nested = new Set<string>();
  for (const { value } of jsonRecords(batch, opened)) {
    if (!isObject(value)) continue;
    for (const field of Object.keys(value)) flat.add(field);
    const metadata = value[METADATA];
    if (isObject(metadata)) for (const field of Object.keys(metadata)) nested.add(field);
  }
  return { flat, nested };
}
