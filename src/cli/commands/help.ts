/** `profiles help [command or topic]`: the same as `--help`, plus topics that belong to no single command. */
import type { Command } from 'commander';
import { Exit, type ExitCode, UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import type { Context } from '../context.js';
import { twoColumns } from '../output/two-columns.js';
import { writeJson, writeOut } from '../output/write.js';
import { type CommandEntry, declare, examples, type Wire } from './command.js';
import { furtherPage, furtherPages } from './help-page.js';
import { TOPICS } from './topics.js';

export function define(command: Command, wire: Wire, commands: readonly CommandEntry[]): void {
  // The words are not declared as arguments: the list of commands would show arguments only for this command.
  command.usage('[command or topic]').allowExcessArguments();
  const rows = TOPICS.map(({ name, summary }) => [name, summary] as const);
  command.addHelpText('after', `\nTopics\n${twoColumns(rows)}`);
  examples(command, ['profiles help import', 'profiles help exit-codes']);
  command.action(
    wire(
      (words) => [...words],
      (words, context) => run(command.parent ?? command, commands, words, context),
    ),
  );
}

async function run(
  root: Command,
  commands: readonly CommandEntry[],
  words: readonly string[],
  context: Context,
): Promise<ExitCode> {
  const text = await textAbout(root, commands, words);
  if (context.flags.json) await writeJson(context.stdout, JSON.stringify({ help: text }));
  else await writeOut(context.stdout, `${text}\n`);
  return Exit.done;
}

/**
 * A topic comes before a command with its name: `profiles config --help` shows the command. @throws
 * UsageError
 */
async function textAbout(
  root: Command,
  commands: readonly CommandEntry[],
  words: readonly string[],
): Promise<string> {
  const topic = words.length === 1 ? TOPICS.find(({ name }) => name === words[0]) : undefined;
  if (topic) return topic.text();
  const page = words.length > 1 ? furtherPage(words.slice(0, -1).join(' '), words.at(-1)!) : null;
  if (page !== null) return page;
  let command = root;
  for (const word of words) {
    const child = command.commands.find((candidate) => candidate.name() === word);
    if (!child) throw unknown(command, word, words);
    await known(root, child, commands);
    command = child;
  }
  return helpOf(command);
}

/** Declares a command: until then, the root knows only its name. */
async function known(root: Command, command: Command, commands: readonly CommandEntry[]): Promise<void> {
  const entry = commands.find(({ name }) => name === command.name());
  const unwired: Wire = () => async () => {};
  if (command.parent !== root || !entry || entry.name === 'help') return;
  await declare(entry, command, unwired, commands);
}

function unknown(command: Command, word: string, words: readonly string[]): UsageError {
  const before = words.slice(0, words.indexOf(word));
  const names = [...command.commands.map((child) => child.name()), ...furtherPages(before.join(' '))];
  // `config` is a command and a topic.
  const all = before.length === 0 ? [...new Set([...names, ...TOPICS.map(({ name }) => name)])] : names;
  const like = nearest(word, all);
  return new UsageError(`no help for "${[...before, word].join(' ')}"`, {
    hint: like
      ? `did you mean "${['profiles help', ...before, like].join(' ')}"?`
      : all.length > 0
        ? `available: ${all.join(', ')}`
        : `see profiles help ${before.join(' ')}`,
  });
}

/** Everything that `--help` prints, examples included. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text.trimEnd();
}
