/** The pages of help, at most 80 columns wide: a command's first page, its further ones, and all settings. */
import type { Command } from 'commander';
import { settingsOf } from '../options/flags.js';
import { defaultOf, type Entry, GLOBAL, OPTIONS, optionsOf, pathOf } from '../options/index.js';
import { twoColumns, wrapTo } from '../output/width.js';
import { wordsOf } from './usage.js';

export const WIDTH = 80;
/** Where the texts of options begin, if their flags are not longer. */
const TEXTS_AT = 29;
const GLOBAL_FLAGS = '--account, --region, --state, --config, --quiet, --debug, --yes';

/** Settings that the last section names, as far as the command takes them. */
const EXAMPLES = ['retries', 'chunk_bytes', 'interval', 'max_cell', 'request_timeout'];

/** A heading, and its lines. */
type Section = readonly [heading: string, lines: string];

/** The first page of a command, without its examples. @param width of the terminal */
export function firstPage(command: Command, width: number): string {
  const path = pathOf(command);
  const columns = Math.min(width, WIDTH);
  const words = command.registeredArguments.flatMap((argument) =>
    wrapTo(`${capital(argument.name())}: ${argument.description}`, columns),
  );
  const page = (sections: readonly Section[]): string => {
    const usage = `Usage: ${usageOf(command)}`;
    const parts = [...wrapTo(sentence(command.description()), columns), '', usage, ''];
    if (words.length > 0) parts.push(...words, '');
    return `${[...parts, ...sections.flat()].join('\n')}\n`;
  };
  if (path === '*') return page(rootSections(command, columns));
  const entries = shown(optionsOf(path));
  const first = entries.filter(({ tier }) => tier !== 2);
  return page([
    ...optionSections(first, columns, path),
    ...commandSection(command, columns),
    ['More', more(path, entries, columns)],
  ]);
}

/**
 * A further page of a command: `all`, or the options of a heading that are not on its first page.
 * @returns null if there is no such page
 */
export function furtherPage(path: string, name: string): string | null {
  const entries = optionsOf(path).filter(({ hidden }) => !hidden);
  if (!isTiered(entries)) return null;
  const of = entries.filter(
    ({ heading, tier, flag }) =>
      name === 'all' || (heading?.toLowerCase() === name && (tier === 2 || flag === false)),
  );
  if (of.length === 0) return null;
  const title = name === 'all' ? `All options of profiles ${path}` : `More options of profiles ${path}`;
  const sections = optionSections(of, WIDTH, path).map(([heading, lines]) => `${heading}\n${lines}`);
  return `${title}\n\n${sections.join('\n')}`;
}

/** The names of a command's further pages. */
export function furtherPages(path: string): string[] {
  const entries = shown(optionsOf(path));
  if (!isTiered(entries)) return [];
  const headings = entries.filter(({ tier }) => tier === 2).map(({ heading }) => heading?.toLowerCase());
  return [...new Set(headings.filter((heading) => heading !== undefined)), 'all'];
}

const SETTINGS = `A setting is given for one command with -o key=value. The letters say where else
it can be:
  F  a flag: --skip-lines for skip_lines
  C  the config file: import.skip_lines, or accounts.<name>.import.skip_lines;
     request_timeout and interval are at the top, without import.
  M  a mapping file        T  a mapping file, at the top only
A flag overrides the mapping file, which overrides the config file.`;

const LETTERS = { section: 'M', top: 'T' } as const;

/** Every setting: its unit, its default, and where it may stand. */
export function settingsPage(): string {
  const keyed = OPTIONS.filter(({ key }) => key !== null);
  const once = keyed.filter(({ key }, at) => keyed.findIndex((other) => other.key === key) === at);
  const terms = once.map((entry) => `${entry.key}=${formOf(entry)}`);
  const width = Math.max(...terms.map((term) => term.length)) + 1;
  const sections = bySection(once, '*').map(([heading, entries]) => {
    const rows = entries.map((entry) => {
      const places = `${entry.flag === false ? '' : 'F'}${entry.config ? 'C' : ''}${entry.mapping ? LETTERS[entry.mapping] : ''}`;
      return [`${`${entry.key}=${formOf(entry)}`.padEnd(width)}${places}`, textOf(entry, '*')] as const;
    });
    const title = heading === 'Options' ? 'Every command' : heading;
    return `${title}\n${twoColumns(rows, { left: width + 4 })}`;
  });
  return [
    'Settings',
    SETTINGS,
    sections.join('\n'),
    `Global options\n${rowsOf(shown(optionsOf('*')), WIDTH, '*')}`,
  ].join('\n\n');
}

const capital = ([first = '', ...rest]: string): string => `${first.toUpperCase()}${rest.join('')}`;
const sentence = (text: string): string => capital(text.endsWith('.') ? text : `${text}.`);

const shown = (options: readonly Entry[]): Entry[] =>
  options.filter(({ hidden, flag }) => !hidden && flag !== false);
const isTiered = (entries: readonly Entry[]): boolean => entries.some(({ tier }) => tier === 2);

function usageOf(command: Command): string {
  const path = pathOf(command);
  if (path === '*') return 'profiles <command> [options]';
  const words = path === 'help' ? ['[command or topic]'] : wordsOf(command);
  const children =
    command.commands.length > 0 && words.length === 0 && path !== 'sandbox' ? ['<command>'] : [];
  return ['profiles', path, ...children, ...words, '[options]'].join(' ');
}

function optionSections(entries: readonly Entry[], width: number, path: string): Section[] {
  const left = Math.max(TEXTS_AT - 2, ...entries.map((entry) => termOf(entry).length + 2));
  return bySection(entries, path).map(([heading, of]) => [heading, rowsOf(of, width, path, left)]);
}

/** Commands that do not send rows have no section for that. */
const NOT_SENDING = ['inspect', 'job', 'identify user'];

/** The entries below their headings. */
function bySection(entries: readonly Entry[], path: string): (readonly [heading: string, of: Entry[]])[] {
  const headingOf = ({ heading }: Entry): string =>
    heading === null || (heading === 'Sending' && NOT_SENDING.includes(path)) ? 'Options' : heading;
  const headings = [...new Set(entries.map(headingOf))];
  return headings.map((heading) => [heading, entries.filter((entry) => headingOf(entry) === heading)]);
}

const rowsOf = (entries: readonly Entry[], width: number, path: string, left = TEXTS_AT - 2): string =>
  twoColumns(
    entries.map((entry) => [termOf(entry), textOf(entry, path)]),
    { left, width },
  );

/** `-k, --kind <kind>`, with the long flags below each other; `-o retries=<n>` for a setting without a flag. */
function termOf(entry: Entry): string {
  if (entry.flag === false) return `-o ${entry.key}=${formOf(entry)}`;
  const flags = entry.shown ?? entry.flags;
  return entry.short ? flags : `    ${flags}`;
}

const formOf = ({ type }: Entry): string =>
  type.placeholder === '' ? 'true|false' : `<${type.placeholder}>`;

function textOf(entry: Entry, path: string): string {
  const value = entry.summary.includes('(default)') ? null : defaultOf(entry);
  const off = entry.off?.includes(path) ? `; ${entry.long.replace('--', '--no-')}: now` : '';
  return `${entry.summary}${off}${value === null ? '' : ` (default: ${value})`}`;
}

function commandSection(command: Command, width: number): Section[] {
  const children = command.createHelp().visibleCommands(command);
  return children.length === 0 ? [] : [['Commands', commandRows(children, width)]];
}

function rootSections(command: Command, width: number): Section[] {
  const headings = [...new Set(command.commands.map((child) => child.helpGroup()))];
  const groups = headings.map((heading): Section => {
    const of = command.commands.filter((child) => child.helpGroup() === heading);
    return [heading, commandRows(of, width)];
  });
  return [...groups, ['Global options', rowsOf(shown(optionsOf('*')), width, '*')]];
}

function commandRows(commands: readonly Command[], width: number): string {
  const rows = commands.map((child) => [child.name(), child.description()] as const);
  return twoColumns(rows, { left: 12, width });
}

/** The last section: settings, further pages, and the names of the global options. */
function more(path: string, entries: readonly Entry[], width: number): string {
  const keys = settingsOf(path).filter(({ flag }) => flag === false);
  const named = EXAMPLES.filter((name) => keys.some(({ key }) => key === name))
    .slice(0, 2)
    .join(', ');
  const option = `-o, --option <${GLOBAL.option.type.placeholder}>`;
  const others = `any other setting: ${named}, ...`;
  const pages = furtherPages(path).flatMap((page): string[] => {
    const of = entries.filter(({ heading, tier }) => tier === 2 && heading?.toLowerCase() === page);
    const help = `profiles help ${path} ${page}`.padEnd(33);
    if (page === 'all') return [`${help}every option;  profiles help settings`];
    const names = of.map(({ long }) => long.slice(2)).slice(0, 4);
    return of.length < 5 ? [] : [`${help}${names.join(', ')}, ...`];
  });
  const lines = [...pages, GLOBAL_FLAGS].map((line) => `      ${line}`);
  const first = keys.length > 1 ? [twoColumns([[option, others]], { left: TEXTS_AT - 2, width })] : [];
  return [...first, ...lines].join('\n');
}
