/**
 * The pages of help, at most 80 columns wide: a command's first page, its further ones, and all settings. Also help for
 * those who typed something else: words and flags of other programs, and commander's errors.
 */

import type { Command, CommanderError } from 'commander';
import type { UsageError } from '../../engine/errors.js';
import { didYouMean } from '../../engine/util/nearest.js';
import {
  defaultOf,
  type Entry,
  GLOBAL,
  OPTIONS,
  optionsOf,
  pathOf,
  settingsOf,
  usage,
} from '../options/index.js';
import { twoColumns, wrapTo } from '../output/width.js';
import TEXTS from './topics.json' with { type: 'json' };

const WIDTH = 80;
/** Where the texts of options begin, if their flags are not longer. */
const LEFT = 27;
const GLOBAL_FLAGS = '--account, --region, --state, --config, --quiet, --debug, --yes';
/** Settings that the last section names, as far as the command takes them. */
const EXAMPLES = ['retries', 'chunk_bytes', 'interval', 'max_cell', 'request_timeout'];

/** A heading, and its lines. */
type Section = readonly [heading: string, lines: string];

/** The first page of a command, without its examples. @param width of the terminal */
export function firstPage(command: Command, width: number): string {
  const path = pathOf(command);
  const columns = Math.min(width, WIDTH);
  const entries = shown(optionsOf(path));
  const words = command.registeredArguments.flatMap((argument) =>
    wrapTo(`${capital(argument.name())}: ${argument.description}`, columns),
  );
  const children = command.createHelp().visibleCommands(command);
  const listed = (heading: string, of: readonly Command[]): Section => {
    const rows = of.map((child) => [child.name(), child.description()] as const);
    return [heading, twoColumns(rows, { left: 12, width: columns })];
  };
  const first = entries.filter(({ tier }) => tier !== 2);
  const sections: Section[] =
    path === '*'
      ? groups(command.commands, (child) => child.helpGroup()).map((group) => listed(...group))
      : optionSections(first, columns, path);
  if (path === '*') sections.push(['Global options', rowsOf(entries, columns, '*')]);
  else {
    if (children.length > 0) sections.push(listed('Commands', children));
    sections.push(['More', more(path, entries, columns)]);
  }
  const text = capital(command.description().replace(/\.?$/, '.'));
  const head = [...wrapTo(text, columns), '', `Usage: ${usageOf(command)}`, ''];
  const about = words.length > 0 ? [...words, ''] : [];
  return `${[...head, ...about, ...sections.flat()].join('\n')}\n`;
}

/**
 * A further page of a command: `all`, or the options of a heading that are not on its first page.
 * @returns null if there is no such page
 */
export function furtherPage(path: string, name: string): string | null {
  if (furtherPages(path).length === 0) return null;
  const of = optionsOf(path).filter(({ heading, tier, flag }) => {
    return name === 'all' || (heading?.toLowerCase() === name && (tier === 2 || flag === false));
  });
  if (of.length === 0) return null;
  const sections = optionSections(of, WIDTH, path).map((section) => section.join('\n'));
  return `${name === 'all' ? 'All' : 'More'} options of profiles ${path}\n\n${sections.join('\n')}`;
}

/** The names of a command's further pages. */
export function furtherPages(path: string): string[] {
  const second = shown(optionsOf(path)).filter(({ tier }) => tier === 2);
  const names = second.flatMap(({ heading }) => heading?.toLowerCase() ?? []);
  return second.length === 0 ? [] : [...new Set(names), 'all'];
}

const PLACES = { section: 'M', top: 'T' } as const;

/** Every setting: its unit, its default, and where it may stand; and the options of every command. */
export function settingsPage(): { settings: string; global: string } {
  const keyed = OPTIONS.filter(({ key }) => key !== null);
  const once = keyed.filter(({ key }, at) => keyed.findIndex((other) => other.key === key) === at);
  const termOf = (entry: Entry): string => `${entry.key}=${formOf(entry)}`;
  const width = Math.max(...once.map((entry) => termOf(entry).length)) + 1;
  const sections = bySection(once, '*').map(([heading, entries]) => {
    const rows = entries.map((entry) => {
      const { flag, config, mapping } = entry;
      const places = `${flag === false ? '' : 'F'}${config ? 'C' : ''}${mapping ? PLACES[mapping] : ''}`;
      return [termOf(entry).padEnd(width) + places, textOf(entry, '*')] as const;
    });
    return `${heading === 'Options' ? 'Every command' : heading}\n${twoColumns(rows, { left: width + 4 })}`;
  });
  return { settings: sections.join('\n'), global: rowsOf(shown(optionsOf('*')), WIDTH, '*') };
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

const shown = (options: readonly Entry[]): Entry[] => options.filter(({ flag }) => flag !== false);

function usageOf(command: Command): string {
  const path = pathOf(command);
  if (path === '*') return 'profiles <command> [options]';
  const words = path === 'help' ? ['[command or topic]'] : wordsOf(command);
  const isGroup = command.commands.length > 0 && words.length === 0 && path !== 'sandbox';
  return ['profiles', path, ...(isGroup ? ['<command>'] : []), ...words, '[options]'].join(' ');
}

/** The arguments of a command, as its usage shows them: `<kind> <id>`. */
const wordsOf = ({ registeredArguments }: Command): string[] =>
  registeredArguments.map((argument) => {
    const word = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? `<${word}>` : `[${word}]`;
  });

function groups<T>(all: readonly T[], headingOf: (one: T) => string): [heading: string, of: T[]][] {
  const headings = [...new Set(all.map(headingOf))];
  return headings.map((heading) => [heading, all.filter((one) => headingOf(one) === heading)]);
}

/** Commands that do not send rows have no section for that. */
const NOT_SENDING = ['inspect', 'job', 'identify user'];

const bySection = (entries: readonly Entry[], path: string): [heading: string, of: Entry[]][] =>
  groups(entries, ({ heading }) =>
    heading === null || (heading === 'Sending' && NOT_SENDING.includes(path)) ? 'Options' : heading,
  );

function optionSections(entries: readonly Entry[], width: number, path: string): Section[] {
  const left = Math.max(LEFT, ...entries.map((entry) => termOf(entry).length + 2));
  return bySection(entries, path).map(([heading, of]) => [heading, rowsOf(of, width, path, left)]);
}

function rowsOf(entries: readonly Entry[], width: number, path: string, left = LEFT): string {
  const rows = entries.map((entry) => [termOf(entry), textOf(entry, path)] as const);
  return twoColumns(rows, { left, width });
}

/** `-k, --kind <kind>`, with the long flags below each other; `-o retries=<n>` for a setting without a flag. */
function termOf(entry: Entry): string {
  if (entry.flag === false) return `-o ${entry.key}=${formOf(entry)}`;
  return (entry.short ? '' : '    ') + (entry.shown ?? entry.flags);
}

const formOf = ({ type }: Entry): string =>
  type.placeholder === '' ? 'true|false' : `<${type.placeholder}>`;

function textOf(entry: Entry, path: string): string {
  const value = defaultOf(entry);
  const off = entry.off?.includes(path) ? `; ${entry.long.replace('--', '--no-')}: now` : '';
  return `${entry.summary}${off}${value === null ? '' : ` (default: ${value})`}`;
}

/** The last section: settings, further pages, and the names of the global options. */
function more(path: string, entries: readonly Entry[], width: number): string {
  const keys = settingsOf(path).flatMap(({ key, flag }) => (flag === false ? [key!] : []));
  const named = EXAMPLES.filter((name) => keys.includes(name)).slice(0, 2);
  const option = `-o, --option <${GLOBAL.option.type.placeholder}>`;
  const others = `any other setting: ${named.join(', ')}, ...`;
  const pages = furtherPages(path).flatMap((page): string[] => {
    const help = `profiles help ${path} ${page}`.padEnd(33);
    if (page === 'all') return [`${help}every option;  profiles help settings`];
    const of = entries.filter(({ heading, tier }) => tier === 2 && heading?.toLowerCase() === page);
    const names = of.slice(0, 4).map(({ long }) => long.slice(2));
    return of.length < 5 ? [] : [`${help}${names.join(', ')}, ...`];
  });
  const lines = [...pages, GLOBAL_FLAGS].map((line) => `      ${line}`);
  const first = keys.length > 1 ? [twoColumns([[option, others]], { left: LEFT, width })] : [];
  return [...first, ...lines].join('\n');
}

const said = (texts: Readonly<Record<string, string>>, word: string): string | undefined =>
  Object.hasOwn(texts, word) ? texts[word] : undefined;

export function unknownCommand(word: string, names: readonly string[]): UsageError {
  const meant = didYouMean(word, names, 'see profiles --help', 'profiles ');
  return usage(`unknown command "${word}"`, said(TEXTS.commands, word) ?? meant);
}

/** What to use instead of a flag that does not exist. */
function insteadOf(flag: string): string | undefined {
  const key = flag.replace(/^--(no-)?/, '').replaceAll('-', '_');
  const option = OPTIONS.find((each) => each.key === key && each.flag === false);
  const known = said(TEXTS.flags, flag);
  if (known !== undefined || option === undefined) return known;
  const value = option.type.kind !== 'flag' ? `<${option.type.placeholder}>` : !flag.startsWith('--no-');
  return `did you mean -o ${key}=${value}?`;
}

/**
 * Rewrites the errors of commander, which are terse and give no advice.
 * @param command the command that commander was parsing; the hint refers to its help
 */
export function usageError({ code, message }: CommanderError, command: Command): UsageError {
  const [first = '', suggestion = ''] = message.replace(/^error: /, '').split('\n');
  const [, quoted = ''] = /'(.*)'/.exec(first) ?? [];
  const path = pathOf(command);
  const name = path === '*' ? 'profiles' : `profiles ${path}`;
  const help = `see ${name} --help`;
  const { args, registeredArguments: declared } = command;
  const form = [name, ...wordsOf(command)].join(' ');
  if (code === 'commander.missingArgument') {
    const about = declared.find((argument) => argument.name() === quoted)?.description;
    return usage(`missing required argument "${quoted}"`, about ? `${form}: ${about}` : form);
  }
  if (code === 'commander.optionMissingArgument') return usage(`option ${quoted} needs a value`, help);
  if (code === 'commander.unknownOption') {
    const like = /^\(Did you mean (.*\?)\)$/.exec(suggestion)?.[1];
    const meant = insteadOf(quoted.split('=')[0]!) ?? (like ? `did you mean ${like}` : help);
    return usage(`unknown option ${quoted}`, meant);
  }
  if (code !== 'commander.excessArguments') return usage(first, help);
  const { length } = declared;
  const taken = length === 0 ? 'no arguments' : length === 1 ? '1 argument' : `${length} arguments`;
  const given = args.length === 1 ? `"${args[0]}" was given` : `${args.length} were given`;
  return usage(`${path} takes ${taken}, but ${given}`, length === 0 ? help : form);
}
