/** `profiles help [command or topic]`: the same as `--help`, plus topics that belong to no single command. */
import { didYouMean } from '../../engine/util/nearest.js';
import { OPTIONS as FAULT_OPTIONS, FAULTS, WHEN } from '../../sandbox/faults.js';
import { OPTIONS, usage } from '../options/index.js';
import { twoColumns } from '../output/width.js';
import { KEYS, sentence } from '../settings/index.js';
import { print, type Spec, type Tree } from './command.js';
import { furtherPage, furtherPages, settingsPage } from './help-page.js';
import TEXTS from './topics.json' with { type: 'json' };

export const command: Spec = {
  // The words are not declared: the list of commands would show arguments only for this command.
  anyWords: true,
  more: () => [
    'Topics',
    twoColumns(Object.entries(TEXTS.topics).map(([name, { summary }]) => [name, summary])),
  ],
  run: async ({ words }, context, tree) => {
    const help = await textAbout(words, tree);
    await print(context, { help }, `${help}\n`, 0);
  },
};

/** What stands in the texts of topics where they name it in braces. */
const TABLES: Readonly<Record<string, () => string | Promise<string>>> = {
  types: async () => {
    const { TYPES } = await import('../../engine/read/index.js'); // which few topics need
    return twoColumns([...TYPES.flatMap(({ examples }) => examples), ...Object.entries(TEXTS.types)]);
  },
  variables: () => twoColumns(OPTIONS.flatMap(({ env, summary }) => (env ? [[env, summary] as const] : []))),
  usual: () => twoColumns(Object.entries(TEXTS.usual)),
  keys: () => {
    const own = KEYS.filter(({ config }) => !config.startsWith('import.'));
    return twoColumns([
      ...own.map(
        (option) =>
          [(option.only === 'account' ? `accounts.<name>.` : '') + option.config, sentence(option)] as const,
      ),
      ...Object.entries(TEXTS.keys),
    ]);
  },
  settings: () => settingsPage().settings,
  global: () => settingsPage().global,
  what: () =>
    twoColumns(
      Object.entries(FAULTS).map(([name, { help }]) => [name === 'status' ? '<status>' : name, help]),
    ),
  when: () => twoColumns(Object.values(WHEN).map(([form, help]) => [form, help])),
  options: () => twoColumns(Object.entries(FAULT_OPTIONS).map(([name, [, help]]) => [name, help])),
};

async function textOf({ text }: { text: readonly string[] }): Promise<string> {
  const lines: string[] = [];
  for (const line of text) {
    const [, name] = /^\{(\w+)\}$/.exec(line) ?? [];
    lines.push(name === undefined ? line : await TABLES[name]!());
  }
  return lines.join('\n');
}

/** A topic comes before a command with its name: `profiles config --help` shows the command. @throws UsageError */
async function textAbout(words: readonly string[], { command, load }: Tree): Promise<string> {
  const [topic] = Object.entries(TEXTS.topics).filter(([name]) => words.join(' ') === name);
  if (topic) return textOf(topic[1]);
  const page = words.length > 1 ? furtherPage(words.slice(0, -1).join(' '), words.at(-1)!) : null;
  if (page !== null) return page;
  let at = command.parent!;
  for (const [index, word] of words.entries()) {
    const child = at.commands.find((candidate) => candidate.name() === word);
    if (!child) {
      const before = words.slice(0, index);
      const others = [...furtherPages(before.join(' ')), ...(index === 0 ? Object.keys(TEXTS.topics) : [])];
      // `config` is a command and a topic.
      const all = [...new Set([...at.commands.map((each) => each.name()), ...others])];
      const named = all.length > 0 ? `available: ${all.join(', ')}` : `see profiles help ${before.join(' ')}`;
      const hint = didYouMean(word, all, named, ['profiles help', ...before, ''].join(' '));
      throw usage(`no help for "${[...before, word].join(' ')}"`, hint);
    }
    await load(child);
    at = child;
  }
  let text = '';
  at.configureOutput({ writeOut: (part) => (text += part) });
  at.outputHelp();
  return text.trimEnd();
}
