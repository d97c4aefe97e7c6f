/** Suggests what can be typed next. */
import type { Command, Option } from 'commander';
import { settingsOf } from '../../options/flags.js';
import { builtIn, type Entry, OPTIONS, optionOf } from '../../options/index.js';
import { optionsOf, type Position } from './position.js';

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
export type Shell = (typeof SHELLS)[number];

export interface Suggestion {
  value: string;
  description: string;
}

/** The answer to the shell. `files`: whether it may also complete file names. */
export interface Suggestions {
  values: Suggestion[];
  files: boolean;
  /** The values are incomplete (`column=`), so the shell must not add a space. */
  open: boolean;
  /** The values have an order, such as newest first, which the shell must keep. */
  ordered: boolean;
}

/**
 * Values that depend on this machine. Each source is queried only when needed, and returns nothing if it
 * fails.
 */
export interface Sources {
  regions(): Promise<Suggestion[]>;
  accounts(): Promise<Suggestion[]>;
  jobs(): Promise<Suggestion[]>;
  runs(which: 'all' | 'unfinished'): Promise<Suggestion[]>;
  /** Columns of the first input file on the line that exists. */
  columns(files: readonly string[]): Promise<Suggestion[]>;
  lists(): Promise<Suggestion[]>;
  keys(): Promise<Suggestion[]>;
  topics(): Promise<Suggestion[]>;
}

type Values = (sources: Sources, at: Position) => Promise<Suggestion[]> | Suggestion[];

const words =
  (...values: string[]): Values =>
  () =>
    values.map((value) => ({ value, description: '' }));
/** Values of an option: from its type, or from the source named in the table of options. */
function optionValues(
  { type, complete }: Entry,
  sources: Sources,
  at: Position,
): Promise<Suggestion[]> | Suggestion[] {
  if (type.words) return words(...type.words)(sources, at);
  if (complete === 'settings') {
    return settingsOf(at.path).map(({ key, summary }) => ({ value: `${key}=`, description: summary }));
  }
  if (complete === 'column=') {
    // The user types the value after the `=`.
    return sources
      .columns(at.operands)
      .then((all) => all.map(({ value, description }) => ({ value: `${value}=`, description })));
  }
  if (complete === 'columns') return sources.columns(at.operands);
  if (complete === 'runs') return sources.runs('all');
  if (complete === 'folders') return [];
  return complete ? sources[complete]() : [];
}

/** For commands with one argument: suggests nothing after the first. */
const first =
  (values: Values): Values =>
  (sources, at) =>
    at.operands.length === 0 ? values(sources, at) : [];

/** Values of arguments, by the path of the command. */
const OPERAND_VALUES: Readonly<Record<string, Values>> = {
  lookups: first((sources) => sources.lists()),
  job: async (sources, at) => (await sources.jobs()).filter(({ value }) => !at.operands.includes(value)),
  resume: first((sources) => sources.runs('unfinished')),
  runs: first((sources) => sources.runs('all')),
  completion: first(words(...SHELLS)),
  help: first((sources) => sources.topics()),
  'config get': first((sources) => sources.keys()),
  'config unset': first((sources) => sources.keys()),
  'config set': configSet,
  'sandbox show': first(words('company', 'user')),
};

async function configSet(sources: Sources, at: Position): Promise<Suggestion[]> {
  if (at.operands.length === 0) return sources.keys();
  if (at.operands.length > 1) return [];
  const key = at.operands[0]!.replace(/^accounts\.[^.]+\./, '');
  const option = OPTIONS.find(({ config }) => config === key);
  return option ? optionValues(option, sources, at) : [];
}

/** Suggests what may be typed next: only values that start with the word being typed. */
export async function suggest(at: Position, sources: Sources): Promise<Suggestions> {
  const { values, files } = await candidates(at, sources);
  const awaited = optionOf(at.awaiting?.long);
  return {
    values: values.filter(({ value }) => value.startsWith(at.current) && isPlain(value)),
    files,
    open: awaited?.complete === 'column=' || awaited?.complete === 'settings',
    ordered: ORDERED.has(at.path) || awaited?.complete === 'runs',
  };
}

const ORDERED = new Set(['job', 'resume', 'runs']);

/**
 * Some shells expand completions like typed words. Ids come from the service and columns from a file, so
 * values with characters that a shell may interpret are not suggested.
 */
const isPlain = (value: string): boolean => /^[\p{L}\p{M}\p{N}_.:@%+=/-]+$/u.test(value);

async function candidates(at: Position, sources: Sources): Promise<{ values: Suggestion[]; files: boolean }> {
  if (at.awaiting) return flagValues(at.awaiting, at, sources);
  if (!at.ended && at.current.startsWith('-')) return { values: flagsOf(at), files: false };
  const own = at.operands.length === 0 ? subcommands(at.command) : [];
  const values = (await OPERAND_VALUES[at.path]?.(sources, at)) ?? [];
  return { values: [...own, ...values], files: takesFile(at) };
}

async function flagValues(awaiting: Option, at: Position, sources: Sources) {
  const option = optionOf(awaiting.long);
  if (!option) return { values: [], files: false };
  return {
    values: await optionValues(option, sources, at),
    files: option.type.kind === 'path' || option.complete === 'folders',
  };
}

const flagsOf = ({ command, path }: Position): Suggestion[] => [
  ...optionsOf(command).map(({ long, flags, description }) => ({ value: long ?? flags, description })),
  ...OPTIONS.filter(({ off }) => off?.includes(path)).map(({ long, summary }) => ({
    value: long.replace('--', '--no-'),
    description: summary,
  })),
  { value: builtIn('help').long, description: builtIn('help').summary },
];

const subcommands = (command: Command): Suggestion[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((child) => ({ value: child.name(), description: child.description() }));

function takesFile({ command, operands }: Position): boolean {
  const declared = command.registeredArguments;
  const next = declared[operands.length] ?? declared.at(-1);
  return (
    next !== undefined &&
    /^(?:files?|input)$/.test(next.name()) &&
    (next.variadic || operands.length < declared.length)
  );
}
