/** The text of `docs/reference.md`, from the table of options and the command tree. */
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { COMMANDS } from '../../src/cli/commands/index.js';
import { MEANING, TOPICS, USUAL } from '../../src/cli/commands/topics.js';
import type { World } from '../../src/cli/context.js';
import { commandTree } from '../../src/cli/main.js';
import { defaultOf, type Entry, IN_MAPPING, OPTIONS, pathOf } from '../../src/cli/options/index.js';
import { Exit } from '../../src/engine/errors.js';

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

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
const code = (text: string | null | undefined): string => (text ? `\`${text.replaceAll('|', '\\|')}\`` : '');

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function optionTable(options: readonly Entry[]): string {
  const rows = options.map((option) => {
    const value = defaultOf(option);
    const typed = option.otherwise === undefined ? code(value) : cell(value ?? '');
    const places = [
      ...(option.config ? [code(option.config)] : []),
      ...(option.mapping ? [IN_MAPPING[option.mapping]] : []),
      ...(option.env ? [code(option.env)] : []),
    ];
    return [
      code(option.flag === false && option.key !== null ? `-o ${option.key}` : option.flags),
      `${cell(option.summary)}${option.off ? `; ${code(option.long.replace('--', '--no-'))} (${option.off.join(', ')}): now` : ''}${option.repeatable ? '; repeatable' : ''}`,
      cell(option.type.description),
      typed,
      places.join(', '),
    ];
  });
  return table(['option', 'what it does', 'type', 'default', 'also in'], rows);
}

/** The options of the same commands, in the order of the table. */
function optionsByCommands(): [names: string, options: Entry[]][] {
  const groups = new Map<string, Entry[]>();
  for (const option of OPTIONS) {
    if (option.hidden || option.commands.includes('*')) continue;
    const names = option.commands.map((name) => code(name)).join(', ');
    groups.set(names, [...(groups.get(names) ?? []), option]);
  }
  return [...groups];
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${cell(text.slice(1))}.`;

const usage = (command: Command): string =>
  [
    pathOf(command),
    ...command.registeredArguments.map((argument) => {
      const word = argument.variadic ? `${argument.name()}...` : argument.name();
      return argument.required ? `<${word}>` : `[${word}]`;
    }),
  ].join(' ');

function commandRow(command: Command): string[] {
  const words = command.registeredArguments.map(
    (argument) => `\`${argument.name()}\`: ${cell(argument.description)}`,
  );
  return [code(`profiles ${usage(command)}`), [sentence(command.description()), ...words].join(' ')];
}

export async function referenceText(): Promise<string> {
  const commands = await allCommands();
  const everywhere = OPTIONS.filter((option) => option.commands.includes('*') && option.flag !== false);
  const settings = OPTIONS.filter((option) => option.flag === false && option.commands.includes('*'));
  const variables = OPTIONS.flatMap((option) =>
    option.env
      ? [[code(option.env), cell(option.summary), code(option.flag === false ? '' : option.long)]]
      : [],
  );
  return `${[
    '# Reference',
    'All commands and options, made from the program itself: `npm run reference` writes this file.',
    'A flag overrides the environment, the environment overrides the config file, and the config file overrides the default. Durations read `500ms`, `30s`, `5m`, `2h`. Sizes read `64KiB` and `4MiB` (binary, as is `4M`) or `4MB` (decimal), or a number of bytes.',
    '## Options of every command',
    optionTable(everywhere),
    '`-h, --help` shows help, `--version` prints the version.',
    '## Settings without a flag',
    table(
      ['environment', 'config key', 'what it is', 'type', 'default'],
      settings.map((option) => [
        code(option.env),
        code(option.config),
        cell(option.summary),
        cell(option.type.description),
        code(defaultOf(option)),
      ]),
    ),
    '## Commands',
    table(['command', 'what it does'], commands.map(commandRow)),
    '## Options of single commands',
    'An option with `-o` has no flag. `apply` keeps what is in the plan, and `resume` what is in the run, unless an option says otherwise. An option of the config file that is on or off is switched off by its `--no-` form, such as `--no-changed-only`.',
    ...optionsByCommands().flatMap(([names, options]) => [`### ${names}`, optionTable(options)]),
    '## Exit codes',
    table(
      ['code', 'meaning'],
      Object.entries(MEANING).map(([name, meaning]) => [
        String(Exit[name as keyof typeof Exit]),
        cell(meaning),
      ]),
    ),
    'When several apply, the first of 4, 6, 7, 3, 5 is used.',
    '## Environment',
    table(['variable', 'meaning', 'flag'], variables),
    table(
      ['usual variables', 'meaning'],
      USUAL.map(([name, text]) => [name.split(', ').map(code).join(', '), cell(text)]),
    ),
    '## Topics of `profiles help`',
    table(
      ['topic', 'about'],
      TOPICS.map(({ name, summary }) => [code(name), cell(summary)]),
    ),
  ].join('\n\n')}\n`;
}
