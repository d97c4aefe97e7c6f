/**
 * `profiles completion <shell>`: prints a script for the shell, which calls a hidden command at each Tab. That says what can
 * be typed next: from the command tree, the table of options, and the config file.
 */
import type { Command } from 'commander';
import { LOOKUP_LISTS } from '../../engine/service/names.js';
import { readSmallFile } from '../../engine/util/read-small-file.js';
import type { Context } from '../context.js';
import * as table from '../options/index.js';
import { safeLine, writeOut } from '../output/terminal.js';
import { BUILT_IN_REGIONS, type ConfigFile, configLocation, knownKeys } from '../settings/index.js';
import { oneOf, print, type Spec, type Tree } from './command.js';
import SCRIPTS from './completion.json' with { type: 'json' };
import TEXTS from './topics.json' with { type: 'json' };

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export const command: Spec = {
  run: async ({ words: [word = ''] }, context) => {
    const shell = oneOf('shell', word, SHELLS, { all: `available shells: ${SHELLS.join(', ')}` });
    const text = await scriptFor(shell);
    await print(context, { shell, script: text }, `${text}\n`, 0);
  },
  commands: {
    complete: {
      hidden: true,
      // Never fails, because completion cannot show an error.
      run: async ({ words }, context, tree) => {
        const found = await suggest(words, tree, context).catch(() => ({ values: [], directive: 0 }));
        const lines = found.values.map(([value, about]) => `${value}\t${safeLine(about)}`);
        await writeOut(context.stdout, `${[...lines, `:${found.directive}`].join('\n')}\n`);
      },
    },
  },
};

/**
 * The completion script for a shell, without a line break at the end. bash has its own script, because the one of
 * `@bomb.sh/tab` needs the bash-completion package, evaluates what is being typed, declares read-only variables (so it
 * cannot be loaded twice), and never completes a file name.
 */
async function scriptFor(shell: (typeof SHELLS)[number]): Promise<string> {
  if (shell === 'bash') return SCRIPTS.bash.join('\n');
  const { script } = await import('@bomb.sh/tab');
  // `@bomb.sh/tab` can only print its scripts. It is synchronous, so nothing else is captured.
  const { log } = console;
  let text = '';
  console.log = (line: string) => {
    text += `${line}\n`;
  };
  try {
    script(shell, 'profiles', 'profiles completion');
  } finally {
    console.log = log;
  }
  return text.trimEnd();
}

type Suggestion = readonly [value: string, description: string];

/** Where a typed line ends. `operands`: arguments of the command so far. */
type Position = { command: Command; operands: string[]; context: Context };

/** Some shells expand completions like typed words, so values with characters that they may interpret are not suggested. */
const isPlain = (value: string): boolean => /^[\w.=-]+$/.test(value);

/** Bits of a directive, which the scripts of cobra and `@bomb.sh/tab` read. */
const DIRECTIVE = { noSpace: 2, noFiles: 4 };

/** @param words of the line; the last one is being typed */
async function suggest(words: readonly string[], { command: running, load }: Tree, context: Context) {
  const before = words.slice(0, -1);
  const isEnded = before.includes('--');
  const typed = table.typedIn(before);
  // `--config` in the typed line applies to these look-ups, too.
  const given = typed.flags.findLast(([long]) => long === '--config')?.[1];
  if (given) context.flags.config = given[1] ?? given[0]!.replace(/^[^=]*=/, '');
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
  const path = table.pathOf(command);
  const own = [...new Set([...table.optionsOf(path), ...table.optionsOf('*')])];
  const flags = own.filter(({ flag }) => flag !== false);
  const last = words.at(-1) ?? '';
  const [, flag, value = ''] = /^(--[^=]+)=(.*)$/s.exec(last) ?? [];
  /** The option whose value is being typed behind this word. */
  const taking = (name: string | undefined): table.Entry | undefined =>
    isEnded
      ? undefined
      : flags.find(({ long, short, type }) => type.placeholder !== '' && [long, `-${short}`].includes(name!));
  const option = taking(flag) ?? taking(before.at(-1));
  const current = taking(flag) ? value : last;
  const isFlag = !isEnded && current.startsWith('-');
  const look = async (): Promise<Suggestion[]> => {
    if (option) return valuesOf(option, at);
    if (!isFlag) {
      if (operands.length > 0) return [];
      return [...commandsIn(command), ...(await quietly(async () => (await OPERANDS[path]?.(at)) ?? []))];
    }
    const off = table.OPTIONS.filter((each) => each.off?.includes(path));
    return [
      ...flags.map((each): Suggestion => [each.long, table.descriptionOf(each)]),
      ...off.map(({ long, summary }): Suggestion => [long.replace('--', '--no-'), summary]),
      ['--help', table.BUILT_IN.help],
    ];
  };
  const files = option
    ? option.type.kind === 'path' || option.complete === 'folders'
    : !isFlag && takesFile(at);
  const isOpen = option?.complete === 'settings'; // its value follows
  return {
    values: (await look()).filter(([each]) => each.startsWith(current) && isPlain(each)),
    directive: (isOpen ? DIRECTIVE.noSpace : 0) + (files ? 0 : DIRECTIVE.noFiles),
  };
}

const commandsIn = (command: Command): Suggestion[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((child) => [child.name(), child.description()]);

function takesFile({ command: { registeredArguments: declared }, operands }: Position): boolean {
  const next = declared[operands.length] ?? declared.at(-1);
  const isFile = next !== undefined && /^(?:files?|input)$/.test(next.name());
  return isFile && (next.variadic || operands.length < declared.length);
}

const named = (names: readonly string[]): Suggestion[] => [...new Set(names)].map((name) => [name, '']);

/** Suggests nothing if the look-up fails. */
const quietly = (find: () => Promise<Suggestion[]>): Promise<Suggestion[]> => find().catch(() => []);

type Find = (at: Position) => Promise<Suggestion[]> | Suggestion[];

/** Values by the source that the table of options names. */
const SOURCES: Readonly<Record<NonNullable<table.Entry['complete']>, Find>> = {
  settings: ({ command }) =>
    table.settingsOf(table.pathOf(command)).map(({ key, summary }) => [`${key}=`, summary]),
  accounts: async ({ context }) => named(Object.keys((await config(context)).accounts ?? {})),
  regions: async ({ context }) => {
    const { regions, accounts } = await config(context);
    const all = [{ regions }, ...Object.values(accounts ?? {})];
    return named([...BUILT_IN_REGIONS, ...all.flatMap((each) => Object.keys(each.regions ?? {}))]);
  },
  folders: () => [],
};

/** Values of an option: from its type, or from its source. */
const valuesOf = ({ type, complete }: table.Entry, at: Position): Promise<Suggestion[]> =>
  quietly(async () => (type.words ? named(type.words) : complete ? SOURCES[complete](at) : []));

/** Values of the first argument, by the path of the command. */
const OPERANDS: Readonly<Record<string, Find>> = {
  lookups: () => named(LOOKUP_LISTS.map((list) => list.replaceAll('_', '-'))),
  completion: () => named(SHELLS),
  help: ({ command }) => {
    const topics = Object.entries(TEXTS.topics).map(([name, { summary }]): Suggestion => [name, summary]);
    return [...commandsIn(command.parent!), ...topics];
  },
  ...{ 'config get': keys, 'config set': keys, 'config unset': keys },
  'sandbox show': () => named(['company', 'user']),
};

/** Keys of the config file, with the names of the accounts and regions that it has. */
async function keys({ context }: Position): Promise<Suggestion[]> {
  const { regions, accounts } = await config(context);
  const all = ['default', 'eu', ...Object.keys(regions ?? {})].map((name) => ['regions', name, '']);
  const own = Object.keys(accounts ?? {}).map((name) => ['accounts', name, '']);
  return named([...knownKeys(), ...[...all, ...own].flatMap((path) => knownKeys(path))]);
}

/** Reads the config file without checking it: loading the schema would make completion slow. */
async function config(context: Context): Promise<ConfigFile> {
  const path = configLocation(context, context.flags).value;
  const text = await readSmallFile(path, context.stop).catch(() => '{}');
  return JSON.parse(text.toString()) as ConfigFile;
}
