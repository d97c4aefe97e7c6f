/** What can be typed next: from the command tree, the table of options, and what this machine knows. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command, Option } from 'commander';
import { LOOKUP_LISTS } from '../../engine/service/names.js';
import type { State } from '../../engine/state/state.js';
import { readSmallFile } from '../../engine/util/read-small-file.js';
import type { Context } from '../context.js';
import { settingsOf } from '../options/flags.js';
import { builtIn, type Entry, OPTIONS, optionOf, pathOf, spelled } from '../options/index.js';
import { BUILT_IN_REGIONS, type ConfigFile, configLocation, knownKeys } from '../settings/index.js';
import type { Tree } from './command.js';

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
/** The maximum number of jobs or runs: a longer list would not help. */
const MOST = 50;

export interface Suggestion {
  value: string;
  description: string;
}

/** The answer to the shell. */
export interface Suggestions {
  values: Suggestion[];
  /** Whether the shell may also complete file names. */
  files: boolean;
  /** The values are incomplete (`column=`), so the shell must not add a space. */
  open: boolean;
  /** The values have an order, such as newest first, which the shell must keep. */
  ordered: boolean;
}

/** Where in the command tree a typed line is. */
interface Position {
  command: Command;
  /** Arguments of the command so far. */
  operands: string[];
  /** The flag that takes the word being typed as its value. */
  awaiting: Option | null;
  /** Whether `--` was typed: no later word is a flag. */
  ended: boolean;
  /** The word being typed; for `--flag=val` only the value. */
  current: string;
}

/** @param words of the line; the last one is being typed */
export async function suggest(words: readonly string[], tree: Tree, context: Context): Promise<Suggestions> {
  const at = await locate(words, tree, context);
  const { values, files } = await candidates(at, context);
  const complete = optionOf(at.awaiting?.long)?.complete;
  return {
    values: values.filter(({ value }) => value.startsWith(at.current) && isPlain(value)),
    files,
    open: complete === 'column=' || complete === 'settings',
    ordered: ['job', 'resume', 'runs'].includes(pathOf(at.command)) || complete === 'runs',
  };
}

/**
 * Some shells expand completions like typed words. Ids come from the service and columns from a file, so values with
 * characters that a shell may interpret are not suggested.
 */
const isPlain = (value: string): boolean => /^[\p{L}\p{M}\p{N}_.:@%+=/-]+$/u.test(value);

const takesValue = ({ required, optional }: Option): boolean => required || optional;

async function locate(
  words: readonly string[],
  { command, load }: Tree,
  context: Context,
): Promise<Position> {
  const root = rootOf(command);
  const at: Position = { command: root, operands: [], awaiting: null, ended: false, current: '' };
  // `--config` and `--state` in the typed line apply to these look-ups, too.
  const note = ({ long }: Option, value: string): void => {
    for (const name of ['config', 'state'] as const) if (long === spelled(name)) context.flags[name] = value;
  };
  const optionAt = (name: string): Option | undefined =>
    flagsAt(at.command).find(({ long, short }) => long === name || short === name);
  for (const word of words.slice(0, -1)) {
    const [name = '', ...value] = word.split('=');
    const child = at.operands.length === 0 && at.command.commands.find((each) => each.name() === word);
    if (at.awaiting) {
      note(at.awaiting, word);
      at.awaiting = null;
    } else if (!at.ended && word === '--') at.ended = true;
    else if (!at.ended && word.length > 1 && word.startsWith('-')) {
      const option = optionAt(name);
      if (option && takesValue(option) && value.length > 0) note(option, value.join('='));
      else if (option && takesValue(option)) at.awaiting = option;
    } else if (child) {
      if (at.command === root) await load(child);
      at.command = child;
    } else at.operands.push(word);
  }
  at.current = words.at(-1) ?? '';
  const [, flag = '', value = ''] = /^(--[^=]+)=(.*)$/s.exec(at.current) ?? [];
  const option = at.ended ? undefined : optionAt(flag);
  if (option && takesValue(option)) {
    at.awaiting = option;
    at.current = value;
  }
  return at;
}

const rootOf = (command: Command): Command => (command.parent ? rootOf(command.parent) : command);

/** The flags of a command, and those of every command. */
function flagsAt(command: Command): Option[] {
  const root = rootOf(command);
  const all = root === command ? root.options : [...command.options, ...root.options];
  return all.filter((option) => !option.hidden && option.long !== '--version');
}

async function candidates(at: Position, context: Context): Promise<Pick<Suggestions, 'values' | 'files'>> {
  const { command, awaiting, ended, current, operands } = at;
  const path = pathOf(command);
  if (awaiting) {
    const option = optionOf(awaiting.long);
    const files = option?.type.kind === 'path' || option?.complete === 'folders';
    return { values: option ? await valuesOf(option, at, context) : [], files };
  }
  if (!ended && current.startsWith('-')) {
    const off = OPTIONS.filter((option) => option.off?.includes(path)).map(({ long, summary }) => {
      return { value: long.replace('--', '--no-'), description: summary };
    });
    const help = { value: builtIn('help').long, description: builtIn('help').summary };
    const flags = flagsAt(command).map(({ long, flags, description }) => {
      return { value: long ?? flags, description };
    });
    return { values: [...flags, ...off, help], files: false };
  }
  const children = operands.length === 0 ? commandsIn(command) : [];
  const words = await quietly(async () => (await OPERANDS[path]?.(at, context)) ?? []);
  return { values: [...children, ...words], files: takesFile(at) };
}

const commandsIn = (command: Command): Suggestion[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((child) => ({ value: child.name(), description: child.description() }));

function takesFile({ command: { registeredArguments: declared }, operands }: Position): boolean {
  const next = declared[operands.length] ?? declared.at(-1);
  if (next === undefined || !/^(?:files?|input)$/.test(next.name())) return false;
  return next.variadic || operands.length < declared.length;
}

const named = (names: readonly string[]): Suggestion[] =>
  [...new Set(names)].map((value) => ({ value, description: '' }));

/** Suggests nothing if the look-up fails, because completion cannot show an error. */
const quietly = (find: () => Promise<Suggestion[]>): Promise<Suggestion[]> => find().catch(() => []);

/** Values of an option: from its type, or from the source named in the table of options. */
function valuesOf({ type, complete }: Entry, at: Position, context: Context): Promise<Suggestion[]> {
  if (type.words) return Promise.resolve(named(type.words));
  return quietly(async () => {
    switch (complete) {
      case 'settings':
        return settingsOf(pathOf(at.command)).map(({ key, summary }) => {
          return { value: `${key}=`, description: summary };
        });
      case 'column=': // the user types the value after the `=`
        return named((await columns(at.operands, context)).map((column) => `${column}=`));
      case 'columns':
        return named(await columns(at.operands, context));
      case 'runs':
        return await runs(context, {});
      case 'accounts':
        return named(Object.keys((await config(context)).accounts ?? {}));
      case 'regions': {
        const { regions, accounts } = await config(context);
        const own = Object.values(accounts ?? {}).flatMap((account) => Object.keys(account.regions ?? {}));
        return named([...BUILT_IN_REGIONS, ...Object.keys(regions ?? {}), ...own]);
      }
      default:
        return [];
    }
  });
}

type Find = (at: Position, context: Context) => Promise<Suggestion[]> | Suggestion[];

/** For commands with one argument: suggests nothing after the first. */
const first =
  (find: Find): Find =>
  (at, context) =>
    at.operands.length === 0 ? find(at, context) : [];

/** Values of arguments, by the path of the command. */
const OPERANDS: Readonly<Record<string, Find>> = {
  lookups: first(() => named(LOOKUP_LISTS.map((list) => list.replaceAll('_', '-')))),
  job: async ({ operands }, context) => {
    const jobs = await inState(context, (state) => state.jobs.all());
    return jobs
      .filter(({ job_id }) => !operands.includes(job_id))
      .map(({ job_id, kind, status, submitted_at }) => {
        return { value: job_id, description: `${kind}, ${status}, ${submitted_at}` };
      });
  },
  resume: first((_, context) => runs(context, { finished: false })),
  runs: first((_, context) => runs(context, {})),
  completion: first(() => named(SHELLS)),
  help: first(async ({ command }) => {
    const { TOPICS } = await import('./topics.js');
    const topics = TOPICS.map(({ name, summary }) => ({ value: name, description: summary }));
    return [...commandsIn(command.parent!), ...topics];
  }),
  'config get': first((_, context) => keys(context)),
  'config unset': first((_, context) => keys(context)),
  'config set': (at, context) => {
    if (at.operands.length === 0) return keys(context);
    const key = at.operands[0]!.replace(/^accounts\.[^.]+\./, '');
    const option = at.operands.length === 1 && OPTIONS.find((each) => each.config === key);
    return option ? valuesOf(option, at, context) : [];
  },
  'sandbox show': first(() => named(['company', 'user'])),
};

/** Keys of the config file, with the names of its accounts and regions. */
async function keys(context: Context): Promise<Suggestion[]> {
  const { accounts = {}, regions = {} } = await config(context);
  const fill = (all: string[], slot: string, names: readonly string[]): string[] =>
    all.flatMap((key) => {
      return key.includes(`${slot}.<name>`) ? names.map((name) => key.replace('<name>', name)) : [key];
    });
  const inAccounts = fill(knownKeys(), 'accounts', Object.keys(accounts));
  return named(fill(inAccounts, 'regions', ['default', 'eu', ...Object.keys(regions)]));
}

/** Columns of the first input file on the line that exists. */
async function columns(files: readonly string[], { cwd, stop }: Context): Promise<string[]> {
  const path = files.find((file) => existsSync(resolve(cwd, file)));
  if (path === undefined) return [];
  const { columnsOf } = await import('../../engine/read/index.js');
  return columnsOf({ path, location: resolve(cwd, path) }, stop);
}

/** Reads the config file without checking it: loading the schema would make completion slow. */
async function config(context: Context): Promise<ConfigFile> {
  const path = configLocation(context, context.flags).value;
  const text = await readSmallFile(path, context.stop).catch(() => '{}');
  return JSON.parse(text.toString()) as ConfigFile;
}

/** Reads the state without creating one. */
async function inState<T>(context: Context, look: (opened: State) => Promise<T[]>): Promise<T[]> {
  const { statePlace } = await import('./recorded.js');
  if (!(await statePlace(context)).exists) return [];
  return (await look(await context.state())).slice(0, MOST);
}

async function runs(context: Context, which: { finished?: boolean }): Promise<Suggestion[]> {
  const found = await inState(context, (state) => state.runs.all(which));
  return found.map(({ run, kinds, status, started_at }) => {
    return { value: run, description: `${kinds.join(' and ')}, ${status}, ${started_at}` };
  });
}
