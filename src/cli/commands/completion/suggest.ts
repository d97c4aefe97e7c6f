/** What can stand where a line has arrived. */
import type { Command, Option } from 'commander';
import { FORMATS } from '../../../engine/model.js';
import { optionsOf, type Position } from './position.js';

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
export type Shell = (typeof SHELLS)[number];

export interface Suggestion {
  value: string;
  description: string;
}

/** What the shell is told. `files`: it may complete file names itself. */
export interface Suggestions {
  values: Suggestion[];
  files: boolean;
  /** The values are the beginning of a word (`column=`): no space after it. */
  open: boolean;
  /** The values stand in an order that means something: newest first. */
  ordered: boolean;
}

/** Values that only the machine knows. Each is asked when it is needed; one that fails knows nothing. */
export interface Sources {
  regions(): Promise<Suggestion[]>;
  accounts(): Promise<Suggestion[]>;
  jobs(): Promise<Suggestion[]>;
  runs(which: 'all' | 'unfinished'): Promise<Suggestion[]>;
  /** Columns of the input files on the line. */
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
const columns: Values = (sources, at) => sources.columns(at.operands);
/** `column=`, for a flag whose value goes on. */
const columnsOpen: Values = async (sources, at) =>
  (await sources.columns(at.operands)).map(({ value, description }) => ({ value: `${value}=`, description }));

/** Values of flags, by their long name. */
const FLAG_VALUES: Readonly<Record<string, Values>> = {
  '--region': (sources) => sources.regions(),
  '--account': (sources) => sources.accounts(),
  '--kind': words('companies', 'users'),
  '--format': words(...FORMATS),
  '--types': words('auto', 'strings'),
  '--empty': words('omit', 'null', 'string'),
  '--encoding': words('utf-8', 'utf-16le', 'windows-1252', 'iso-8859-1', 'shift_jis', 'gb18030'),
  '--forget': (sources) => sources.runs('all'),
  '--id': columns,
  '--company-id': columns,
  '--include': columns,
  '--exclude': columns,
  '--map': columnsOpen,
  '--type': columnsOpen,
};

/** For a command of one argument: nothing behind it. */
const first =
  (values: Values): Values =>
  (sources, at) =>
    at.operands.length === 0 ? values(sources, at) : [];

/** Values of arguments, by the command's path. */
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
  if (key === 'region') return sources.regions();
  if (key === 'account') return sources.accounts();
  const flag = FLAG_VALUES[`--${key.replace(/^import\./, '').replaceAll('_', '-')}`];
  return key.startsWith('import.') && flag ? flag(sources, at) : [];
}

/** Decides what may be typed next; only what begins like the word being typed is left. */
export async function suggest(at: Position, sources: Sources): Promise<Suggestions> {
  const { values, files } = await candidates(at, sources);
  return {
    values: values.filter(({ value }) => value.startsWith(at.current) && isPlain(value)),
    files,
    open: at.awaiting !== null && OPEN.has(at.awaiting.long ?? ''),
    ordered: ORDERED.has(at.path) || at.awaiting?.long === '--forget',
  };
}

const OPEN = new Set(['--map', '--type']);
const ORDERED = new Set(['job', 'resume', 'runs']);

/**
 * Some shells take completions as words to be expanded. Ids come from the service and columns from a file: what
 * could mean anything to a shell is not offered.
 */
const isPlain = (value: string): boolean => /^[\p{L}\p{M}\p{N}_.:@%+=/-]+$/u.test(value);

async function candidates(at: Position, sources: Sources): Promise<{ values: Suggestion[]; files: boolean }> {
  if (at.awaiting) return flagValues(at.awaiting, at, sources);
  if (!at.ended && at.current.startsWith('-')) return { values: flagsOf(at.command), files: false };
  const own = at.operands.length === 0 ? subcommands(at.command) : [];
  const values = (await OPERAND_VALUES[at.path]?.(sources, at)) ?? [];
  return { values: [...own, ...values], files: takesFile(at) };
}

async function flagValues(option: Option, at: Position, sources: Sources) {
  const choices = option.argChoices?.map((value) => ({ value, description: '' }));
  const values = choices ?? (await FLAG_VALUES[option.long ?? '']?.(sources, at)) ?? [];
  return { values, files: /<(file|path|folder)>/.test(option.flags) };
}

const flagsOf = (command: Command): Suggestion[] => [
  ...optionsOf(command).map(({ long, flags, description }) => ({ value: long ?? flags, description })),
  { value: '--help', description: 'show help' },
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
    next !== undefined && /^files?$/.test(next.name()) && (next.variadic || operands.length < declared.length)
  );
}
