/**
 * The mapping that answers make: every column with its key and its type, as a file beside the inputs. A later import
 * with it does the same.
 */

import { existsSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { InputError, UsageError } from '../../engine/errors.js';
import { COLUMN_TYPES, KINDS, type Kind, SOME_ZONE } from '../../engine/model.js';
import { keyStyle, type MappingFile, type MappingSection } from '../../engine/read/index.js';
import type { AnySource } from '../../engine/run/sources.js';
import { noRoom, writeTrouble } from '../../engine/util/file-trouble.js';
import { replaceFile } from '../../engine/util/replace-file.js';
import type { Commands } from '../advice/commands.js';
import { apart, type Call, hinted, isTogether, type Line } from '../advice/hint.js';
import { errorWords } from '../advice/words.js';
import type { Context } from '../context.js';
import { usage } from '../options/index.js';
import { type LookOptions, sourcesOf, whileReading } from './inputs.js';
import type { Answers, Found } from './questions.js';

/** What the rows of an input are. */
type Identified = Pick<Found, 'path' | 'kind' | 'id' | 'company'>;

/** The kind whose identifiers have several names, which one mapping cannot express; undefined if there is none. */
const unshared = (found: readonly Identified[]): Kind | undefined =>
  KINDS.find((kind) => {
    const alike = found.filter((one) => one.kind === kind);
    const companies = alike.flatMap(({ company }) => company ?? []);
    return new Set(alike.map(({ id }) => id)).size > 1 || new Set(companies).size > 1;
  });

/** Whether one mapping can name the identifiers of all inputs. */
export const canShare = (found: readonly Found[]): boolean => unshared(found) === undefined;

export const notShared = (found: readonly Identified[], commands: Commands): UsageError =>
  hinted(
    usage(`the identifiers of ${unshared(found)} have different names, which one mapping cannot express`),
    oneByOne(found, 'import these files one at a time', commands),
  );

/** An import for each input. */
function oneByOne(found: readonly Identified[], what: string, commands: Commands): Line {
  if (isTogether(commands)) return 'import these files one at a time, each with the flags for its columns';
  const without = ['--guide', '--json', '--kind', '--id', '--user-id', '--company-id'];
  const [first, ...or] = found.map(({ path, kind, id, company }): Call => {
    const plus = ['--kind', kind, '--id', id, ...(company === null ? [] : ['--company-id', company])];
    return { again: apart({ command: 'import', paths: [path], without, plus }, commands) };
  });
  return { do: what, ...first!, or };
}

/**
 * One mapping for all inputs; with several, it has a section for each kind.
 * @throws UsageError if two inputs of a kind cannot share a mapping
 */
export function mappingOf(found: readonly Found[], answers: Answers, commands: Commands): MappingFile {
  if (!canShare(found)) throw notShared(found, commands);
  const [only, other] = found;
  if (only && !other) return { kind: only.kind, ...sectionOf([only], answers) };
  return Object.fromEntries(
    KINDS.flatMap((kind) => {
      const alike = found.filter((one) => one.kind === kind);
      return alike.length === 0 ? [] : [[kind, sectionOf(alike, answers)]];
    }),
  );
}

/** @param alike the inputs of a kind, of which there is at least one: its rules are for all of them */
function sectionOf(alike: readonly Found[], answers: Answers): MappingSection {
  const [{ id, rules }] = alike as [Found];
  const company = alike.find((one) => one.company !== null)?.company ?? null;
  const isAlike = ({ path }: { path: string }): boolean => alike.some((one) => one.path === path);
  const leftOut = new Set(answers.leftOut.filter(isAlike).map(({ column }) => column));
  const columns = alike.flatMap((one) => one.columns).filter(({ key }) => key !== null);
  const exclude = [
    ...new Set([...rules.exclude, ...columns.flatMap(({ column }) => (leftOut.has(column) ? [column] : []))]),
  ];
  const sent = columns.filter(({ column }) => !exclude.includes(column));
  const here = new Set(alike.flatMap(({ types }) => types.flatMap(({ markers }) => markers)));
  const nulls = [...new Set([...(rules.nulls ?? []), ...answers.nulls.filter((text) => here.has(text))])];
  const chosen = new Map(
    answers.types
      .filter((one) => isAlike(one) && one.markers.every((marker) => nulls.includes(marker)))
      .map(({ column, type }) => [column, withZone(type, answers.zone)]),
  );
  const unlike = new Set(alike.flatMap((one) => one.unlike.map(({ column }) => column)));
  const named = new Map(rules.map);
  const styled = answers.keys === null ? null : keyStyle(answers.keys);
  const types = new Map<string, string>();
  for (const column of [id, company]) {
    const isRule = rules.types.some(([name, type]) => name === column && type === 'lower');
    if (column !== null && (isRule || chosen.get(column) === 'lower')) types.set(column, 'lower');
  }
  for (const { column, type, conversion } of sent) {
    const plain = COLUMN_TYPES.find((known) => known === type);
    const own = unlike.has(column) ? 'auto' : (conversion ?? plain);
    const pinned = chosen.get(column) ?? own;
    if (pinned !== undefined) types.set(column, shared(types.get(column) ?? pinned, pinned));
  }
  return {
    id,
    ...(company !== null && { company_id: company }),
    // A column of JSON objects is spread only under its own name.
    map: Object.fromEntries(
      sent
        .filter(({ type }) => type !== 'object')
        .map(({ column, key }) => [column, named.get(column) ?? styled?.(column) ?? key!]),
    ),
    ...(rules.include.length > 0 && { include: [...rules.include] }),
    ...(exclude.length > 0 && { exclude }),
    ...(rules.set.length > 0 && { set: Object.fromEntries(rules.set) }),
    type: Object.fromEntries(types),
    empty: rules.empty,
    ...(nulls.length > 0 && { null: nulls }),
    ...(rules.trim && { trim: true }),
    ...(rules.allowIds && { allow_id: [...rules.allowIds] }),
  };
}

const withZone = (type: string, zone: string | null): string =>
  zone === null ? type : type.replace(`@${SOME_ZONE}`, `@${zone}`);

/** A type that fits a column in both; if there is none, each input goes by its own values. */
function shared(a: string, b: string): string {
  const isNumber = [a, b].every((type) => type === 'integer' || type === 'number');
  return a === b ? a : isNumber ? 'number' : 'auto';
}

/** The path of the mapping file for these inputs, without its ending: several share one, so that an import of all finds it. */
function stemOf(sources: readonly AnySource[]): string {
  const files = sources.flatMap((source) => (source.from === 'file' ? [source.path] : []));
  const [only = '', other] = files;
  const folders = new Set(files.map((path) => dirname(path)));
  const [folder = '.'] = folders.size === 1 && files.length === sources.length ? folders : [];
  return join(folder, only !== '' && other === undefined ? basename(only, extname(only)) : 'profiles');
}

/** `companies.mapping.json`, `companies.mapping-2.json`, and so on: those that exist, and the first free one. */
function namesFor(sources: readonly AnySource[], cwd: string): { taken: string[]; free: string } {
  const stem = stemOf(sources);
  const taken: string[] = [];
  for (let path = `${stem}.mapping.json`; ; path = `${stem}.mapping-${taken.length + 1}.json`) {
    if (!existsSync(resolve(cwd, path))) return { taken, free: path };
    taken.push(path);
  }
}

/** The newest mapping file beside these inputs; null if there is none. */
export const mappingBeside = (sources: readonly AnySource[], cwd: string): string | null =>
  namesFor(sources, cwd).taken.at(-1) ?? null;

/** What a mapping file may say, so that an input can be read. */
const OPEN = ['kind_unknown', 'no_identifier'];
const SAID = [...OPEN, ...'wrong_encoding title_above_header rows_in_array rows_in_sheet'.split(' ')];

/**
 * Adds to an error what the inputs show: the mapping file beside them, which without a person is not used by itself, or an
 * import for each of them, if no mapping can name the identifiers of all.
 */
export async function withBeside(
  error: unknown,
  { paths, options }: { paths: readonly string[]; options: LookOptions },
  context: Context,
) {
  const code = error instanceof InputError ? error.problem?.code : undefined;
  if (!(error instanceof InputError) || !SAID.includes(code ?? '')) return error;
  const sources = await sourcesOf(paths, context);
  const beside = mappingBeside(sources, context.cwd);
  const { hint } = errorWords(error, context.commands);
  const each = OPEN.includes(code ?? '') ? await eachApart(sources, options, context) : null;
  const other = each ?? hint;
  const others = other === undefined ? [] : [other];
  if (beside !== null)
    others.unshift({ do: `if ${beside} is for it`, again: { plus: ['--mapping', beside] } });
  return others.length > 0 ? hinted(error, others) : error;
}

/** More commands would fill a screen. */
const MOST_FILES = 10;

/** An import for each of several files; null if a mapping can be for all, or if one of them cannot be opened. */
async function eachApart(sources: readonly AnySource[], options: LookOptions, context: Context) {
  const files = sources.filter(({ from }) => from === 'file');
  if (files.length < 2 || files.length < sources.length || files.length > MOST_FILES) return null;
  return whileReading(options, context, async (inputs) => {
    if (!(await inputs.open(sources))) return null;
    const found = inputs.opened.map(({ path, kind, idColumn: id, companyIdColumn: company }) => {
      return { path, kind, id, company };
    });
    const what = 'if these commands describe the files, import them one at a time';
    return unshared(found) === undefined ? null : oneByOne(found, what, context.commands);
  }).catch(() => null); // the first error stands, whatever is wrong with the others
}

/** The first free name for a mapping file beside these inputs. */
export const freeName = (sources: readonly AnySource[], cwd: string): string => namesFor(sources, cwd).free;

/**
 * Writes the mapping to a new file.
 * @param isReplaced whether to replace a file that exists, which may be somebody's work @param flag for messages
 * @throws UsageError, OutputError
 */
export async function saveMapping(
  path: string,
  mapping: MappingFile,
  { cwd, isReplaced = false, flag = '' }: { cwd: string; isReplaced?: boolean; flag?: string },
): Promise<void> {
  const place = resolve(cwd, path);
  const text = `${JSON.stringify(mapping, null, 2)}\n`;
  try {
    if (!isReplaced && existsSync(place))
      throw usage(`${flag}${path} already exists`, 'choose another file, or replace this one with --force');
    await replaceFile(place, text);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const full = noRoom(path, error);
    if (full) throw full;
    throw new UsageError(`${flag}${path} cannot be written: ${writeTrouble(error)}`, { cause: error });
  }
}
