/** `profiles help [command or topic]`: the same as `--help`, plus topics that belong to no single command. */
import type { Command } from 'commander';
import type { UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/util/nearest.js';
import { usage } from '../options/index.js';
import { twoColumns } from '../output/width.js';
import { print, spec, type Tree } from './command.js';
import { furtherPage, furtherPages } from './help-page.js';
import { TOPICS } from './topics.js';

export const command = spec({
  // The words are not declared: the list of commands would show arguments only for this command.
  anyWords: true,
  more: `Topics\n${twoColumns(TOPICS.map(({ name, summary }) => [name, summary] as const))}`,
  examples: ['profiles help import', 'profiles help exit-codes'],
  run: async (words, context, tree) => {
    const help = await textAbout(words, tree);
    await print(context, { help }, `${help}\n`, 0);
  },
});

/** A topic comes before a command with its name: `profiles config --help` shows the command. @throws UsageError */
async function textAbout(words: readonly string[], { command, load }: Tree): Promise<string> {
  const topic = words.length === 1 ? TOPICS.find(({ name }) => name === words[0]) : undefined;
  if (topic) return topic.text();
  const page = words.length > 1 ? furtherPage(words.slice(0, -1).join(' '), words.at(-1)!) : null;
  if (page !== null) return page;
  let at = command.parent!;
  for (const [index, word] of words.entries()) {
    const child = at.commands.find((candidate) => candidate.name() === word);
    if (!child) throw unknown(word, at, words.slice(0, index));
    await load(child);
    at = child;
  }
  let text = '';
  at.configureOutput({ writeOut: (part) => (text += part) });
  at.outputHelp();
  return text.trimEnd();
}

function unknown(word: string, command: Command, before: readonly string[]): UsageError {
  const path = before.join(' ');
  const topics = before.length === 0 ? TOPICS.map(({ name }) => name) : [];
  // `config` is a command and a topic.
  const names = [...command.commands.map((child) => child.name()), ...furtherPages(path), ...topics];
  const all = [...new Set(names)];
  const like = nearest(word, all);
  const named = all.length > 0 ? `available: ${all.join(', ')}` : `see profiles help ${path}`;
  const meant = ['profiles help', ...before, like].join(' ');
  return usage(`no help for "${[...before, word].join(' ')}"`, like ? `did you mean "${meant}"?` : named);
}
