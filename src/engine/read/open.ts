/** Tells what an input is before it is read: form, columns, kind and identifier. */
import { resolve } from 'node:path';
import { type Conversion, KINDS } from '../model.js';
import { NO_RULES, NUMBERS } from '../options.js';
import { loadConversions, PatternFinder, textOf, undecided } from './conversion/found.js';
import { ITEM_FORMAT_VERSION } from './csv/build.js';
import { formatOf, readerOf } from './formats.js';
import { readRecords } from './records.js';
import { selectRecords } from './selection.js';
import { toUtf8 } from './text/encoding.js';
import { readHead } from './text/head.js';
import { readBytes, type SourceFile } from './text/source.js';
import type { InputFile, InputOptions, OpenedInput, RecordBatch } from './types.js';

/** The item format since which columns are known by tolerant names, and identifiers are checked. */
const CHECKED_IDS = 2;

/**
 * Looks at the beginning of an input.
 * @throws InputError for what cannot be read; UsageError for flags that do not fit it
 */
export async function openInput(options: InputOptions, signal?: AbortSignal): Promise<OpenedInput> {
  const location = resolve(options.cwd, options.location);
  const head = await readHead({ path: options.path, location }, options.encoding, signal);
  const { encoding, compression, stamp } = head;
  const { path, maxCellBytes, rules, byKind, decidedTypes, itemFormat = ITEM_FORMAT_VERSION } = options;
  const { where = [], limit = null } = options;
  const earlier = itemFormat < CHECKED_IDS;
  for (const one of [rules, ...KINDS.flatMap((kind) => byKind?.[kind]?.rules ?? [])]) {
    await loadConversions(one);
  }
  const format = formatOf(options, head.text);
  const file: InputFile = {
    path,
    location,
    format,
    encoding,
    compression,
    rules,
    constants: [],
    maxCellBytes,
    decidedTypes,
    roundNumbers: options.roundNumbers ?? false,
    selection: where.length > 0 || limit !== null ? { where, absent: [], limit } : null,
    stamp,
    ...(earlier && { anyId: true as const }),
  };
  const text = (): AsyncIterable<Buffer> => toUtf8(readBytes(file, signal), encoding);
  const asked = { ...options, exactNames: earlier };
  return decidePatterns(await readerOf(file).open(file, asked, head, text), signal);
}

/** Finds the patterns of dates that were asked for without one: by the first rows, or as many as it takes. @throws InputError */
async function decidePatterns(input: OpenedInput, signal: AbortSignal | undefined): Promise<OpenedInput> {
  const { path, columns, rules, targets, decidedTypes } = input;
  const isCell = targets.length > 0;
  const wanted = undecided(rules.types, isCell ? columns : null);
  if (wanted.length === 0) return input;
  const decided = new Map<string, Conversion>();
  const finders = wanted.flatMap((target) => {
    const before = decidedTypes?.[columns.indexOf(target.column)];
    if (before === undefined) return [{ column: target.column, finder: new PatternFinder(path, target) }];
    decided.set(target.column, before as Conversion);
    return [];
  });
  for await (const batch of finders.length > 0 ? rowsTaken(input, signal) : []) {
    const originals = readerOf(input).original(batch, input);
    for (const [number, original] of originals.entries()) {
      for (const { column, finder } of finders) {
        const text = textOf(original, column, columns);
        if (text !== null) finder.add({ line: batch.lines[number]!, text });
      }
    }
    if (finders.every(({ finder }) => finder.decided)) break;
  }
  for (const { column, finder } of finders) {
    const type = finder.type();
    if (type !== null) decided.set(column, type);
  }
  const typeOf = (column: string): Conversion | undefined => decided.get(column);
  return {
    ...input,
    found: [...decided.keys()],
    rules: { ...rules, types: rules.types.map(([column, type]) => [column, typeOf(column) ?? type]) },
    targets: targets.map((target) => ({
      ...target,
      pinned: target.pinned && (typeOf(target.column) ?? target.pinned),
    })),
  };
}

/** The rows that are taken, as far as this input alone tells. */
function rowsTaken(input: OpenedInput, signal: AbortSignal | undefined): AsyncIterable<RecordBatch> {
  const { selection, columns } = input;
  const where = selection?.where.filter(([column]) => columns.includes(column)) ?? [];
  const alone = { ...input, selection: selection && { ...selection, where } };
  return selectRecords(alone, readRecords(input, { signal }), { toEnd: false });
}

/** The columns alone, before it is known what the rows are: a header, or the fields of the first JSON items. @throws InputError */
export async function columnsOf(source: SourceFile, signal?: AbortSignal): Promise<string[]> {
  const head = await readHead(source, undefined, signal);
  const { encoding, compression, stamp } = head;
  const format = formatOf(source, head.text);
  const maxCellBytes = NUMBERS.maxCellBytes.default;
  const { path, location } = source;
  const file = {
    path,
    location,
    format,
    encoding,
    compression,
    stamp,
    maxCellBytes,
    roundNumbers: false,
    selection: null,
  };
  const text = () => toUtf8(readBytes(file, signal), encoding);
  return readerOf(file).columns({ ...file, rules: NO_RULES, constants: [] }, head, text);
}
