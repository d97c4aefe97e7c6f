/** Files of a guided import: private copies of inputs that are no files, and mapping files beside the inputs. */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { InputError, ProfilesError, UsageError } from '../../engine/errors.js';
import { NUMBERS } from '../../engine/options.js';
import { type MappingFile, notSpooled } from '../../engine/read/index.js';
import {
  type AnySource,
  expandInputs,
  fetchSource,
  type Located,
  type SourceDeps,
} from '../../engine/run/sources.js';
import { noRoom, writeTrouble } from '../../engine/util/file-trouble.js';
import { privateFolder } from '../../engine/util/private-folder.js';
import { replaceFile } from '../../engine/util/replace-file.js';
import { hinted } from '../advice/hint.js';
import { errorWords } from '../advice/words.js';
import type { Context } from '../context.js';

/** Several inputs share one name, so that a later import of all of them finds it. */
const SHARED = 'profiles';
const ENDING = '.mapping.json';

/** The path of the mapping file for these inputs, without its ending. */
function stemOf(sources: readonly AnySource[]): string {
  const files = sources.flatMap((source) => (source.from === 'file' ? [source.path] : []));
  const [only = '', other] = files;
  const folders = new Set(files.map((path) => dirname(path)));
  const [folder = '.'] = folders.size === 1 && files.length === sources.length ? folders : [];
  return join(folder, only !== '' && other === undefined ? basename(only, extname(only)) : SHARED);
}

/** `companies.mapping.json`, `companies.mapping-2.json`, and so on: those that exist, and the first free one. */
function namesFor(sources: readonly AnySource[], cwd: string): { taken: string[]; free: string } {
  const stem = stemOf(sources);
  const taken: string[] = [];
  for (let path = stem + ENDING; ; path = `${stem}.mapping-${taken.length + 1}.json`) {
    if (!existsSync(resolve(cwd, path))) return { taken, free: path };
    taken.push(path);
  }
}

/** The newest mapping file beside these inputs; null if there is none. */
export const mappingBeside = (sources: readonly AnySource[], cwd: string): string | null =>
  namesFor(sources, cwd).taken.at(-1) ?? null;

/** What a mapping file may say, so that an input can be read. */
const SAID = [
  'kind_unknown',
  'no_identifier',
  'wrong_encoding',
  'title_above_header',
  'rows_in_array',
  'rows_in_sheet',
];

/** Adds the mapping file beside the inputs to an error that it may settle: without a person, none is used by itself. */
export async function withBeside(
  error: unknown,
  paths: readonly string[],
  context: Context,
): Promise<unknown> {
  if (!(error instanceof InputError) || !SAID.includes(error.problem?.code ?? '')) return error;
  const beside = mappingBeside(await expandInputs(paths, sourceDeps(context)), context.cwd);
  if (beside === null) return error;
  const { hint } = errorWords(error, context.commands);
  return hinted(new InputError(error.message, { cause: error }), [
    { do: `if ${beside} is for it`, again: { plus: ['--mapping', beside] } },
    ...(hint === undefined ? [] : [hint]),
  ]);
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
    if (!isReplaced && existsSync(place)) throw existing(`${flag}${path}`);
    await replaceFile(place, text);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const full = noRoom(path, error);
    if (full) throw full;
    throw new UsageError(`${flag}${path} cannot be written: ${writeTrouble(error)}`, { cause: error });
  }
}

const existing = (named: string): UsageError =>
  new UsageError(`${named} already exists`, {
    hint: 'choose another file, or replace this one with --force',
  });

export class Spool {
  #folder: string | undefined;
  #copies = 0;

  constructor(private readonly context: Context) {}

  async fetch(source: AnySource): Promise<Located> {
    const { stateDir, timeoutMs } = await this.context.settings();
    const folder = (): string => {
      this.#folder ??= makeFolder(stateDir, `inspect-${randomUUID()}`, source.path);
      return this.#folder;
    };
    const name = `input-${++this.#copies}`;
    const fetching = fetchSource(source, { folder, name }, sourceDeps(this.context, timeoutMs));
    for (;;) {
      const next = await fetching.next(); // progress is not shown: there is a spinner
      if (next.done) return next.value;
      if (next.value.type === 'warning') this.context.warn(next.value.message);
    }
  }

  async remove(): Promise<void> {
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }
}

function makeFolder(stateDir: string, name: string, shown: string): string {
  try {
    return privateFolder(stateDir, 'spool', name);
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    throw notSpooled(shown, join(stateDir, 'spool', name), error);
  }
}

export const sourceDeps = (context: Context, timeoutMs: number = NUMBERS.timeoutMs.default): SourceDeps => ({
  ...context,
  random: Math.random,
  download: { timeoutMs, proxy: context.env },
});
