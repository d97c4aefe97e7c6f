/** What was answered as a command: the one to run in place of what was typed, and the same import as one command. */
import { ConfigError, InputError, UsageError } from '../../engine/errors.js';
import type { Kind } from '../../engine/model.js';
import type { ImportOptions } from '../../engine/options.js';
import type { Problem } from '../../engine/problems.js';
import type { MappingFile, MappingSection, OpenedInput } from '../../engine/read/index.js';
import { isWebAddress } from '../../engine/service/address.js';
import type { Changes, Commands } from '../advice/commands.js';
import { apart, type Command } from '../advice/hint.js';
import { shellWord } from '../advice/shell.js';
import { errorWords, saidOf } from '../advice/words.js';
import type { Answered, Context } from '../context.js';
import { OPTIONS } from '../options/index.js';
import { openPrompter } from '../prompts/index.js';
import type { Choice } from '../prompts/plain.js';
import { zones } from './ask.js';

/** A command line to run in place of the one that was typed. */
export type Instead = { argv: readonly string[]; answered: Answered };

/** Problems of which a person knows what helps: each command of the hint is an answer. */
const ANSWERED: readonly (Problem['code'] | undefined)[] = [
  ...(['zip_members', 'rows_in_sheet', 'sheet_empty', 'rows_in_array', 'names_alike'] as const),
  ...(['wrong_encoding', 'title_above_header', 'other_delimiter'] as const),
];

/**
 * Asks what an error leaves open. @returns the command line to run instead
 * @throws the error, if nothing else helps, or none of the answers; UsageError for a mapping file that does not fit
 */
export async function askInstead(error: unknown, context: Context): Promise<Instead> {
  const { commands, answered = {} } = context;
  if (!(error instanceof InputError || error instanceof UsageError || error instanceof ConfigError))
    throw error;
  const { problem } = error;
  const { message } = errorWords(error, commands);
  const instead = (changes: Changes, more: Answered = {}): Instead => {
    return { argv: commands.argv(changes), answered: { ...answered, ...more } };
  };
  if (problem?.code === 'zone_open') {
    const question = `${problem.path}: in which time zone are the times of ${problem.columns.join(', ')}?`;
    const zone = await (await openPrompter(context)).find(question, zones());
    return instead({ plus: ['--zone', zone] });
  }
  const { mapping } = answered;
  if (typeof mapping === 'string') {
    const prompter = await openPrompter(context);
    const why = `${mapping} does not fit: ${message.replace(`${mapping}: `, '')}`;
    prompter.show([why]);
    if (!(await prompter.confirm('Import without it?', true))) throw new UsageError(why, { cause: error });
    return instead({ without: ['--mapping'] }, { mapping: null });
  }
  const choices = ANSWERED.includes(problem?.code) ? answersIn(problem!, commands) : [];
  if (choices.length === 0) throw error;
  const none: Choice<Changes | null> = { value: null, label: 'none of these' };
  // Enter takes none of several: a wrong guess would be wrong data.
  const initial = choices.length > 1 ? choices.length : 0;
  const chosen = await (await openPrompter(context)).choose(message, [...choices, none], initial);
  if (chosen === null) throw error;
  return instead(chosen, { reading: true });
}

/** The commands of a hint as answers. Those for one of several files would leave out the others. */
function answersIn(problem: Problem, commands: Commands): Choice<Changes | null>[] {
  const { hint = [] } = saidOf(problem, commands);
  const lines = typeof hint === 'object' && 'length' in hint ? hint : [hint];
  const isForAll = ({ paths = commands.paths }: Changes): boolean =>
    problem.code === 'zip_members'
      ? commands.paths.includes(problem.path)
      : paths.join('\n') === commands.paths.join('\n');
  return lines.flatMap((line) => {
    if (typeof line === 'string') return [];
    return [line, ...(line.or ?? [])].flatMap((call) => {
      if (!('again' in call) || !isForAll(call.again)) return [];
      const { plus = [], paths = [] } = call.again;
      const named = paths.filter((path) => !commands.paths.includes(path));
      const words = (plus.length > 0 ? plus : named).map(shellWord).join(' ');
      const answer = line.or ? { label: words } : { label: line.do.replace(/^(?:if|to) /, ''), hint: words };
      return [{ value: call.again, ...answer }];
    });
  });
}

/** What the mapping holds, so that the command needs no flag for it. */
const MAPPED = [
  ...OPTIONS.flatMap(({ mapping, long }) => (mapping ? [long] : [])),
  ...['--map', '--exclude', '--type', '--mapping', '--guide'],
];

export interface Settled {
  mapping: MappingFile | null;
  /** Where the mapping was saved; null if it was not. */
  saved: string | null;
  skipsInvalid: boolean;
  inputs: readonly Pick<OpenedInput, 'path' | 'kind'>[];
}

/** The same import as a command, or as one for each kind. */
export type Last = Command & { again: Changes };

/** Where flags cannot say the answers, such as a key with the sign that is before a value. */
export const ANSWER_AGAIN: Last = {
  do: 'no flags can say these answers; to answer again, and save them',
  again: { plus: ['--guide'] },
};

/** The same import without questions, or with the same questions if flags cannot say the answers. */
export function lastFor(settled: Settled, { dryRun }: ImportOptions, commands: Commands): Last {
  const { mapping, saved, skipsInvalid } = settled;
  const title = `The same ${dryRun ? 'dry run' : 'import'} without questions`;
  const plus = skipsInvalid ? ['--skip-invalid'] : [];
  if (mapping === null) return { do: title, again: { without: ['--guide'], plus } };
  if (saved !== null) return { do: title, again: { without: MAPPED, plus: [...plus, '--mapping', saved] } };
  const { companies, users, ...all } = mapping;
  const sections = [all, companies, users].filter((one) => one !== undefined);
  const keys = sections.flatMap(({ map = {}, set = {} }) => [...Object.values(map), ...Object.keys(set)]);
  if (isSplit(keys)) return ANSWER_AGAIN;
  if (companies && users) return ofEach(settled, plus, title, commands) ?? ANSWER_AGAIN;
  const kind = companies ? 'companies' : users ? 'users' : all.kind;
  const flags = flagsOf({ ...all, kind, ...companies, ...users });
  return { do: title, again: { without: MAPPED, plus: [...flags, ...plus] } };
}

/** More files would fill a screen. */
const MOST_FILES = 10;

/** An import of companies, then one of users: flags are for all inputs of a command, and not for each kind. */
function ofEach({ mapping, inputs }: Settled, plus: string[], title: string, commands: Commands) {
  const { companies, users, ...all } = mapping!;
  // A condition may be about columns of one kind, and an address is shown without its query.
  const isOfAll = commands.wasTyped('--where') || inputs.some(({ path }) => isWebAddress(path));
  if (inputs.length > MOST_FILES || isOfAll) return null;
  const of = (kind: Kind, section?: MappingSection) => {
    const paths = inputs.flatMap((one) => (one.kind === kind ? [one.path] : []));
    const flags = flagsOf({ ...all, kind, ...section });
    return { again: apart({ paths, without: MAPPED, plus: [...flags, ...plus] }, commands) };
  };
  return { do: `${title}, as two commands`, ...of('companies', companies), or: [of('users', users)] };
}

/** Whether a flag would split one of these keys at its sign of equality. */
export const isSplit = (keys: readonly string[]): boolean => keys.some((key) => key.includes('='));

/** The order in which a command says a mapping: what else it says comes behind the kind. */
const ORDER = 'id company_id map include exclude set keys type empty null trim allow_id'.split(' ');

/** A mapping as flags. */
export function flagsOf({ map = {}, ...section }: MappingFile): string[] {
  const renamed = Object.fromEntries(Object.entries(map).filter(([column, key]) => column !== key));
  const sorted = Object.entries({ kind: undefined, ...section, map: renamed }).sort(
    ([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b),
  );
  return sorted.flatMap(([key, value]) => {
    const flag = `--${key.replaceAll('_', '-')}`;
    if (value === undefined || value === false || (key === 'empty' && value === 'omit')) return [];
    if (value === true) return [flag];
    const values = typeof value !== 'object' || Array.isArray(value) ? [value].flat() : Object.entries(value);
    return values.flatMap((each) => [flag, Array.isArray(each) ? each.join('=') : String(each)]);
  });
}
