/** What can be typed next: from the command tree, the table of options, and what this machine knows. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { LOOKUP_LISTS } from '../../engine/service/names.js';
import type { State } from '../../engine/state/state.js';
import { readSmallFile } from '../../engine/util/read-small-file.js';
import { typedIn } from '../advice/typed.js';
import type { Context } from '../context.js';
import { settingsOf } from '../options/flags.js';
import { builtIn, descriptionOf, type Entry, OPTIONS, optionsOf, pathOf } from '../options/index.js';
import { BUILT_IN_REGIONS, type ConfigFile, configLocation, knownKeys } from '../settings/index.js';
import type { Tree } from './command.js';
import TEXTS from './topics.json' with { type: 'json' };

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
/** The maximum number of jobs or runs: a longer list would not help. */
const MOST = 50;

type Suggestion = readonly [value: string, description: string];

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

/** Where a typed line ends. */
interface Position {
  command: Command;
  /** Arguments of the command so far. */
  operands: string[];
  context: Context;
}

/**
 * Some shells expand completions like typed words. Ids come from the service and columns from a file, so values with
 * characters that a shell may interpret are not suggested.
 */
const isPlain = (value: string): boolean => /^[\p{L}\p{M}\p{N}_.:@%+=/-]+$/u.test(value);

/** @param words of the line; the last one is being typed */
export async function suggest(
  words: readonly string[],
  { command: running, load }: Tree,
  context: Context,
): Promise<Suggestions> {
  const before = words.slice(0, -1);
  const isEnded = before.includes('--');
  const typed = typedIn(before);
  // `--config` and `--state` in the typed line apply to these look-ups, too.
  for (const name of ['config', 'state'] as const) {
    const given = typed.flags.findLast(([long]) => long === `--${name}`)?.[1];
    if (given) context.flags[name] = given[1] ?? given[0]!.replace(/^[^=]*=/, '');
  }
  let command = running;
  while (command.parent) command = command.parent;
  const operands = [typed.command ?? [], typed.paths].flat();
  for (;;) {
    const child = command.commands.find((each) => each.name() === operands[0]);
    if (!child) break;
    await load(child);
    command = child;
    operands.shift();
  }
  const at = { command, operands, context };
  const path = pathOf(command);
  const own = [...new Set([...optionsOf(path), ...optionsOf('*')])];
  const flags = own.filter(({ hidden, flag }) => !hidden && flag !== false);
  const last = words.at(-1) ?? '';
  const [, flag, value] = /^(--[^=]+)=(.*)$/s.exec(last) ?? [];
  /** The option whose value is being typed behind this word. */
  const isValue = (name: string | undefined): Entry | undefined =>
    isEnded
      ? undefined
      : flags.find(({ long, short, type }) => {
          return type.placeholder !== '' && (long === name || `-${short}` === name);
        });
  const option = isValue(flag) ?? isValue(before.at(-1));
  const current = isValue(flag) ? value! : last;
  let values: Suggestion[] = [];
  let files = false;
  if (option) {
    values = await valuesOf(option, at);
    files = option.type.kind === 'path' || option.complete === 'folders';
  } else if (!isEnded && current.startsWith('-')) {
    const off = OPTIONS.filter((each) => each.off?.includes(path));
    values = [
      ...flags.map((each): Suggestion => [each.long, descriptionOf(each)]),
      ...off.map(({ long, summary }): Suggestion => [long.replace('--', '--no-'), summary]),
      [builtIn('help').long, builtIn('help').summary],
    ];
  } else {
    values = [
      ...(operands.length === 0 ? commandsIn(command) : []),
      ...(await quietly(async () => (await OPERANDS[path]?.(at)) ?? [])),
    ];
    files = takesFile(at);
  }
  return {
    values: values.filter(([each]) => each.startsWith(current) && isPlain(each)),
    files,
    open: option?.complete === 'column=' || option?.complete === 'settings',
    ordered: ['job', 'resume', 'runs'].includes(path) || option?.complete === 'runs',
  };
}

const commandsIn = (command: Command): Suggestion[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((child) => [child.name(), child.description()]);

function takesFile({ command: { registeredArguments: declared }, operands }: Position): boolean {
  const next = declared[operands.length] ?? declared.at(-1);
  if (next === undefined || !/^(?:files?|input)$/.test(next.name())) return false;
  return next.variadic || operands.length < declared.length;
}

const named = (names: readonly string[]): Suggestion[] => [...new Set(names)].map((name) => [name, '']);

/** Suggests nothing if the look-up fails, because completion cannot show an error. */
const quietly = (find: () => Promise<Suggestion[]>): Promise<Suggestion[]> => find().catch(() => []);

type Find = (at: Position) => Promise<Suggestion[]> | Suggestion[];

/** Values by the source that the table of options names. */
const SOURCES: Readonly<Record<NonNullable<Entry['complete']>, Find>> = {
  settings: ({ command }) => settingsOf(pathOf(command)).map(({ key, summary }) => [`${key}=`, summary]),
  // The user types the value after the `=`.
  'column=': async (at) => named((await columns(at)).map((column) => `${column}=`)),
  columns: async (at) => named(await columns(at)),
  runs: ({ context }) => runs(context, {}),
  accounts: async ({ context }) => named(Object.keys((await config(context)).accounts ?? {})),
  regions: async ({ context }) => {
    const { regions, accounts } = await config(context);
    const own = [{ regions }, ...Object.values(accounts ?? {})].flatMap((each) =>
      Object.keys(each.regions ?? {}),
    );
    return named([...BUILT_IN_REGIONS, ...own]);
  },
  folders: () => [],
};

/** Values of an option: from its type, or from its source. */
const valuesOf = ({ type, complete }: Entry, at: Position): Promise<Suggestion[]> =>
  quietly(async () => (type.words ? named(type.words) : complete ? SOURCES[complete](at) : []));

/** For commands with one argument: suggests nothing after the first. */
const first =
  (find: Find): Find =>
  (at) =>
    at.operands.length === 0 ? find(at) : [];

const KEYS_OF_CONFIG = first(({ context }) => keys(context));

/** Values of arguments, by the path of the command. */
const OPERANDS: Readonly<Record<string, Find>> = {
  lookups: first(() => named(LOOKUP_LISTS.map((list) => list.replaceAll('_', '-')))),
  job: async ({ operands, context }) => {
    const jobs = await inState(context, (state) => state.jobs.all());
    return jobs
      .filter(({ job_id }) => !operands.includes(job_id))
      .map(({ job_id, kind, status, submitted_at }) => [job_id, `${kind}, ${status}, ${submitted_at}`]);
  },
  resume: first(({ context }) => runs(context, { finished: false })),
  runs: first(({ context }) => runs(context, {})),
  completion: first(() => named(SHELLS)),
  help: first(({ command }) => {
    const topics = Object.entries(TEXTS.topics).map(([name, { summary }]): Suggestion => [name, summary]);
    return [...commandsIn(command.parent!), ...topics];
  }),
  'config get': KEYS_OF_CONFIG,
  'config unset': KEYS_OF_CONFIG,
  'config set': (at) => {
    if (at.operands.length === 0) return keys(at.context);
    const key = at.operands[0]!.replace(/^accounts\.[^.]+\./, '');
    const option = at.operands.length === 1 && OPTIONS.find((each) => each.config === key);
    return option ? valuesOf(option, at) : [];
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
async function columns({ operands, context: { cwd, stop } }: Position): Promise<string[]> {
  const path = operands.find((file) => existsSync(resolve(cwd, file)));
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
  const found = await inState(context, async (state) =>
    (await state.runs.all()).filter(({ finished }) => finished === (which.finished ?? finished)),
  );
  return found.map(({ run, kinds, status, started_at }) => [
    run,
    `${kinds.join(' and ')}, ${status}, ${started_at}`,
  ]);
}
