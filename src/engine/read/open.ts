/** Finds out what an input is before it is read: format, columns, kind, and identifier. */
import { resolve } from 'node:path';
import { type Conversion, type Format, KINDS } from '../model.js';
import { NO_RULES } from '../options/mapping-rules.js';
import { PatternFinder, textsIn, undecided } from './conversion/found.js';
import { loadConversions } from './conversion/types.js';
import { binaryFormat, formatOf, textFormat } from './formats.js';
import { cleaner } from './identifier.js';
import { DEFAULT_LIMITS } from './limits.js';
import { readRecords } from './records.js';
import { rejectsHead } from './rejects-head.js';
import type { Rows } from './rows.js';
import { selectRecords } from './selection.js';
import { firstBytes, type Head, readHead } from './text/head.js';
import { openFile, type SourceFile } from './text/source.js';
import type { InputOptions, OpenedInput } from './types.js';
import { refuseWritten } from './written.js';

/**
 * Opens an input, and examines its beginning.
 * @throws InputError if it cannot be read; UsageError for options that do not fit it
 */
export async function openInput(asked: InputOptions, signal?: AbortSignal): Promise<OpenedInput> {
  const { path } = asked;
  const location = resolve(asked.cwd, asked.location);
  const look = await firstLook({ path, location, format: asked.format });
  if (look.form) {
    await loadRules(asked);
    const file = { ...fileOf(asked, location), ...look.form };
    return decidePatterns(await formatOf(file).open(file, asked), signal);
  }
  let head = await readHead({ path, location, opened: look.opened }, asked.encoding, signal);
  refuseWritten(path, head.text);
  let options = asked;
  let again: OpenedInput['again'];
  const found = asked.rejects && (await rejectsHead(head));
  if (found) {
    const { again: rows, ...reading } = await asked.rejects!(found);
    again = rows;
    // A mapping file may hold facts of the file that the rows come from.
    const facts = { delimiter: found.delimiter ?? undefined, format: undefined, jsonPath: undefined };
    options = { ...asked, ...reading, ...facts };
    // JSON has no byte order mark, and rejects files are UTF-8 regardless of their input.
    if (found.delimiter === null) head = await readHead({ path, location }, 'utf-8', signal);
  }
  await loadRules(options);
  const isRejects = Boolean(found);
  const file = { ...fileOf(options, location), ...formOf(options, head), again, isRejects };
  return decidePatterns(await formatOf(file).open(file, options, head), signal);
}

async function loadRules({ rules, byKind }: InputOptions): Promise<void> {
  for (const one of [rules, ...KINDS.flatMap((kind) => byKind?.[kind]?.rules ?? [])]) {
    await loadConversions(one);
  }
}

/** What is known about an input before it is examined. */
function fileOf(options: InputOptions, location: string) {
  const { path, maxCellBytes, maxColumns, maxDepth, rules, decidedTypes } = options;
  const { where = [], limit = null, roundNumbers = false } = options;
  return {
    ...{ path, location, rules, constants: [], decidedTypes },
    ...{ maxCellBytes, maxColumns, maxDepth, roundNumbers },
    selection: where.length > 0 || limit !== null ? { where, absent: [], limit } : null,
  };
}

const formOf = (options: Pick<InputOptions, 'path' | 'format'>, head: Head) => {
  const { encoding, compression, stamp } = head;
  return { format: textFormat(options, head.text), encoding, compression, stamp };
};

/** Finds the patterns of date columns pinned without one, from as many rows as necessary. @throws InputError */
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
  const clean = cleaner(rules);
  const originals = formatOf(input).originals(input);
  const texts = textsIn(
    columns,
    finders.map(({ column }) => column),
  );
  for await (const batch of finders.length > 0 ? rowsTaken(input, signal) : []) {
    for (const [number, original] of originals(batch).entries()) {
      const row = texts(original);
      for (const [at, { finder }] of finders.entries()) {
        const written = row[at]!;
        const text = written === null || clean === null ? written : clean(written);
        if (text !== null && text !== '') finder.add({ line: batch.lines[number]!, text });
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

/** The selected rows, as far as this input alone decides. */
function rowsTaken(input: OpenedInput, signal: AbortSignal | undefined): AsyncIterable<Rows> {
  const { selection, columns } = input;
  const where = selection?.where.filter(([column]) => columns.includes(column)) ?? [];
  const alone = { ...input, selection: selection && { ...selection, where } };
  return selectRecords(alone, readRecords(input, { signal }), { toEnd: false });
}

/** Only the columns, whatever the rows are: a header, or the fields of the first JSON items. @throws InputError */
export async function columnsOf(source: SourceFile, signal?: AbortSignal): Promise<string[]> {
  const { path, location } = source;
  const asked = { ...DEFAULT_LIMITS, path, location, cwd: '', rules: NO_RULES };
  const look = await firstLook(source);
  const head = look.opened && (await readHead({ ...source, opened: look.opened }, undefined, signal));
  const file = { ...fileOf(asked, location), ...(look.form ?? formOf(asked, head!)) };
  return formatOf(file).columns(file, head);
}

/**
 * Examines the first bytes of a file. If it is not text, it is closed and its form is returned; a text stays open.
 * @throws InputError if it cannot be read
 */
async function firstLook(source: SourceFile & { format?: Format | undefined }) {
  const opened = await openFile(source);
  try {
    const format = await binaryFormat(source, await firstBytes(source, opened.handle));
    if (format === null) return { opened };
    await opened.handle.close();
    return { form: { format, stamp: opened.stamp, encoding: 'utf-8', compression: null } };
  } catch (error) {
    await opened.handle.close();
    throw error;
  }
}
