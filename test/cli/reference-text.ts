/** The text of `docs/reference.md`, from the table of options and the command tree. */
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import TEXTS from '../../src/cli/commands/topics.json' with { type: 'json' };
import type { World } from '../../src/cli/context.js';
import { COMMANDS, commandTree } from '../../src/cli/main.js';
import { defaultOf, type Entry, OPTIONS, pathOf } from '../../src/cli/options/index.js';

/** The tree of one command; only `stdout` is looked at while it is made. */
async function commandOf(name: string): Promise<Command> {
  const world = { stdout: new PassThrough() } as unknown as World;
  const program = await commandTree([name], world, () => async () => {});
  return program.commands.find((command) => command.name() === name)!;
}

/** A command and those below it. */
const withChildren = (command: Command): Command[] => [
  command,
  ...command.createHelp().visibleCommands(command).flatMap(withChildren),
];

export async function allCommands(): Promise<Command[]> {
  const roots = await Promise.all(COMMANDS.map(({ name }) => commandOf(name)));
  return roots.flatMap(withChildren);
}

const prose = (text: string): string => text.replaceAll('<', '&lt;').replaceAll('*', '\\*');
const code = (text: string | null | undefined): string => (text ? `\`${text}\`` : '');

const list = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n');

const WHERE = { section: '*mapping*', top: '*top*' } as const;

/** What can be typed: what it does, its default, and where else it may stand. `of` says which commands have it. */
function optionLine(option: Entry, of = ''): string {
  const value = defaultOf(option);
  const { placeholder } = option.type;
  const setting = `-o ${option.key}=${placeholder ? `<${placeholder}>` : 'true'}`;
  const places = [
    ...(option.config ? [code(option.config)] : []),
    ...(option.mapping ? [WHERE[option.mapping]] : []),
    ...(option.env ? [code(option.env)] : []),
  ];
  const text = [
    prose(option.summary),
    ...(option.off ? [`${code(option.long.replace('--', '--no-'))} (${option.off.join(', ')}): now`] : []),
    ...(option.repeatable ? ['repeatable'] : []),
    ...(value ? [`default ${option.otherwise === undefined ? code(value) : prose(value)}`] : []),
  ];
  const typed = code(option.flag === false && option.key !== null ? setting : option.flags);
  return `${typed}${of && ` (${of})`}: ${text.join('; ')}${places.length > 0 ? ` · ${places.join(', ')}` : ''}`;
}

const optionList = (options: readonly Entry[]): string => list(options.map((option) => optionLine(option)));

/** `history …` is the command with all of its subcommands. */
function shortened(names: readonly string[], all: readonly string[]): string {
  const families = new Map<string, string[]>();
  for (const name of names) {
    const [first = ''] = name.split(' ');
    families.set(first, [...(families.get(first) ?? []), name]);
  }
  return [...families]
    .flatMap(([first, members]) => {
      const whole = all.filter((name) => name.startsWith(`${first} `));
      return whole.length > 0 && whole.every((name) => members.includes(name)) ? [`${first} …`] : members;
    })
    .map(code)
    .join(', ');
}

/** The options of the same commands, in the order of the table. */
function optionsByCommands(all: readonly string[]): [names: string, options: Entry[]][] {
  const groups = new Map<string, Entry[]>();
  for (const option of OPTIONS) {
    if (option.commands.includes('*')) continue;
    const names = shortened(option.commands, all);
    groups.set(names, [...(groups.get(names) ?? []), option]);
  }
  return [...groups];
}

const usage = (command: Command): string =>
  [
    pathOf(command),
    ...command.registeredArguments.map((argument) => {
      const word = argument.variadic ? `${argument.name()}...` : argument.name();
      return argument.required ? `<${word}>` : `[${word}]`;
    }),
  ].join(' ');

/** What can be typed, without those that only hold others. An argument is explained once. */
function commandLines(commands: readonly Command[]): string[] {
  const said = new Set<string>();
  const holds = ['config', 'identify', 'state'];
  return commands
    .filter((command) => !holds.includes(pathOf(command)))
    .map((command) => {
      const words = command.registeredArguments
        .map((argument) => `; \`${argument.name()}\`: ${prose(argument.description)}`)
        .filter((text) => !said.has(text) && said.add(text));
      return `${code(`profiles ${usage(command)}`)}: ${prose(command.description())}${words.join('')}`;
    });
}

export async function referenceText(): Promise<string> {
  const commands = await allCommands();
  const everywhere = OPTIONS.filter((option) => option.commands.includes('*') && option.flag !== false);
  const settings = OPTIONS.filter((option) => option.flag === false && option.commands.includes('*'));
  const groups = optionsByCommands(commands.map(pathOf));
  const small = groups.filter(([, options]) => options.length < 3);
  return `${[
    '# Reference',
    'Made from the program itself: `npm run reference` writes this page. `profiles <command> --help` shows the same for one command, and `profiles help` lists topics, such as `types` and `settings`.',
    'A flag or `-o` overrides the environment, which overrides the config file, which overrides the default. Durations read `500ms`, `30s`, `5m`, `2h`. Sizes read `64KiB` and `4MiB` (binary, as is `4M`) or `4MB` (decimal), or a number of bytes. Behind a dot stand the config key, the environment variable, and where a mapping file may hold the option: in a section of *mapping*, or only at its *top*.',
    '## Options of every command',
    optionList(everywhere),
    '`-h, --help` shows help, `--version` prints the version.',
    '## Settings without a flag',
    list(
      settings.map((option) => {
        const names = [option.env, option.config].filter(Boolean).map(code).join(', ');
        const value = defaultOf(option);
        return `${names}: ${prose(option.summary)}${value ? `; default ${code(value)}` : ''}`;
      }),
    ),
    '## Commands',
    list(commandLines(commands)),
    '## Options of single commands',
    'An option with `-o` has no flag, and `history …` is the command with its subcommands. `apply` keeps what is in the plan, and `resume` what is in the run, unless an option says otherwise. The `--no-` form, such as `--no-changed-only`, switches off what the config file switches on.',
    ...groups
      .filter((group) => !small.includes(group))
      .flatMap(([names, options]) => [`### ${names}`, optionList(options)]),
    '### Others',
    list(small.flatMap(([names, options]) => options.map((option) => optionLine(option, names)))),
    '## Usual variables',
    list(
      Object.entries(TEXTS.usual).map(
        ([name, text]) => `${name.split(', ').map(code).join(', ')}: ${prose(text)}`,
      ),
    ),
  ].join('\n\n')}\n`;
}
