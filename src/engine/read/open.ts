/** Finds out what an input is before it is read: format, columns, kind, and identifier. */
import { resolve } from 'node:path';
import type { Conversion } from '../model.js';
import { PatternFinder, undecided } from './conversion/found.js';
import { binaryFormat, formatOf, originalsIn, textFormat } from './formats.js';
import { cleaner } from './identifier.js';
import { textsIn } from './item-text.js';
import { readRecords, selectRecords } from './records.js';
import { type Head, readHead } from './text/head.js';
import { firstBytes } from './text/source.js';
import type { InputFile, InputOptions, OpenedInput } from './types.js';
import { refuseWritten, rejectsHead } from './written.js';

/**
 * Opens an input, and examines its beginning.
 * @throws InputError if it cannot be read; UsageError for options that do not fit it
 */
export async function openInput(asked: InputOptions, signal?: AbortSignal): Promise<OpenedInput> {
  const { path } = asked;
  const source = { path, location: resolve(asked.cwd, asked.location) };
  const start = await firstBytes(source, 8);
  const { stamp } = start;
  const binary = await binaryFormat({ ...source, format: asked.format }, start.bytes);
  let options = asked;
  let again: OpenedInput['again'];
  let head: Head | undefined;
  let isRejects = false;
  if (binary === null) {
    head = await readHead(source, start, asked.encoding, signal);
    refuseWritten(path, head.text);
    const found = asked.rejects && rejectsHead(head);
    if (found) {
      const { again: rows, ...reading } = await asked.rejects!(found);
      again = rows;
      isRejects = true;
      // A mapping file may hold facts of the file that the rows come from.
      const facts = { delimiter: found.delimiter ?? undefined, format: undefined, jsonPath: undefined };
      options = { ...asked, ...reading, ...facts, rejects: undefined };
      // JSON has no byte order mark, and rejects files are UTF-8 regardless of their input.
      if (found.delimiter === null) head = await readHead(source, start, 'utf-8', signal);
    }
  }
  const { maxCellBytes, rules, decidedTypes } = options;
  const { where = [], limit = null, roundNumbers = false } = options;
  const file: InputFile = {
    ...{ ...source, rules, constants: [], decidedTypes, again, isRejects, stamp },
    ...{ maxCellBytes, roundNumbers },
    format: binary ?? textFormat(options, head!.text),
    encoding: head?.encoding ?? 'utf-8',
    compression: head?.compression ?? null,
    selection: where.length > 0 || limit !== null ? { where, absent: [], limit } : null,
  };
  return decidePatterns(await formatOf(file).open(file, options, head), signal);
}

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
  const clean = cleaner(rules) ?? ((text: string) => text);
  const originals = originalsIn(input);
  const names = finders.map(({ column }) => column);
  const texts = textsIn(columns, names);
  // The selected rows, as far as this input alone decides.
  const where = input.selection?.where.filter(([column]) => columns.includes(column)) ?? [];
  const alone = { ...input, selection: input.selection && { ...input.selection, where } };
  const records = selectRecords(alone, readRecords(input, { signal }), { toEnd: false });
  for await (const batch of finders.length > 0 ? records : []) {
    for (const [number, original] of originals(batch).entries()) {
      for (const [at, written] of texts(original).entries()) {
        const text = clean(written ?? '');
        if (text !== '') finders[at]!.finder.add({ line: batch.lines[number]!, text });
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
