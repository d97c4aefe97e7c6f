/**
 * The table of all options. Flags, parsing, the config file's schema, help, completion, the man page, and
 * `docs/reference.md` are derived from it. Every command loads it, so it must not import anything large.
 */
import type { Command } from 'commander';
import type { UsageError } from '../../engine/errors.js';
import type { ImportOptions } from '../../engine/options.js';
import { nearest } from '../../engine/util/nearest.js';
import type { Entry, Flags, Group } from './option.js';
import { describedBy, descriptionOf, entriesOf, spelled, usage, valuesOf } from './option.js';
import * as table from './table.js';
import { pair, readBoolean } from './types.js';

export * from './option.js';
export * from './table.js';
export { pairEnd } from './types.js';

const LISTS = 'lookups,jobs,runs,history,history company,history user,config list,sandbox list'.split(',');

const { READING, COLUMNS, SELECTING, SENDING, REJECTING, WAITING, SEND } = table;

/** The groups in the order of help. `*` means every command. */
const GROUPS: readonly Group[] = [
  { heading: null, commands: ['*'], options: { ...table.GLOBAL, ...table.FLAGLESS } },
  { heading: 'Reading', commands: ['import', 'inspect'], options: { ...READING, ...COLUMNS } },
  { heading: 'Reading', commands: ['import'], options: SELECTING },
  { heading: 'Sending', commands: ['import'], options: { ...SENDING, ...REJECTING, ...WAITING } },
  { heading: 'Sending', commands: SEND, options: table.RETRYING },
  { heading: 'Results', commands: SEND, options: table.REPORTING },
  { heading: null, commands: [], options: table.OTHERS },
  { heading: null, commands: [], options: table.UNLOCK },
  { heading: 'Results', commands: LISTS, options: { ...table.RESULT, ...table.LISTING } },
  { heading: null, commands: ['sandbox'], options: table.SANDBOX },
];

export const OPTIONS: readonly Entry[] = GROUPS.flatMap(entriesOf);

/** The option of a flag, such as `--region` or `-k`. */
const optionOf = (flag: string | undefined): Entry | undefined =>
  OPTIONS.find((option) => option.long === flag || `-${option.short}` === flag);

/** The words of a command line, as `again` repeats them: commander keeps no order, and no spelling. */
export type Typed = ReturnType<typeof typedIn>;

/** The option that is called so: `--chunk-size`, or `-o retries`. */
export const optionTyped = (name: string): Entry | undefined => OPTIONS.find(({ typed }) => typed === name);

/** What the setting of `-o key=value` is called: its flag, or `-o key` if it has none. */
const settingName = (pair: string): string => {
  const [key = ''] = pair.split('=', 1);
  return OPTIONS.find((option) => option.key === key)?.typed ?? `-o ${key}`;
};

const takesValue = (option: Entry | undefined): boolean =>
  option !== undefined && option.type.placeholder !== '';

/** `flags`: what each option is called (`--chunk-size`, or `-o retries`), and its words. */
export function typedIn(argv: readonly string[]) {
  const words: string[] = [];
  const flags: [name: string, words: string[]][] = [];
  const left = [...argv];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word === '--') {
      words.push(...left);
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      words.push(word);
      continue;
    }
    const isShort = !word.startsWith('--');
    const [name = word] = isShort ? [word.slice(0, 2)] : word.split('=', 1);
    const option = optionOf(name);
    // `-nk users` is `-n -k users`.
    if (isShort && word.length > 2 && !takesValue(option)) {
      left.unshift(name, `-${word.slice(2)}`);
      continue;
    }
    const parts = takesValue(option) && name === word && left.length > 0 ? [word, left.shift()!] : [word];
    const setting = option?.name === 'option' ? parts.at(-1)!.replace(/^-o|^--option=/, '') : null;
    flags.push([setting === null ? (option?.long ?? name) : settingName(setting), parts]);
  }
  const [command, ...paths] = words;
  return { command, paths, flags };
}

/** What commands keep that do not read `import.*` of the config file. */
const KEPT: Readonly<Record<string, string>> = { apply: 'as in the plan', resume: 'as in the run' };

/** The options of a command, with the defaults and config keys that apply to it. */
export function optionsOf(path: string): Entry[] {
  const readsConfig = path === 'import' || path === 'inspect';
  return OPTIONS.filter(({ commands }) => commands.includes(path)).map((each) => {
    const option = describedBy(path, each);
    const { config, ofSession, ...own } = option;
    if (readsConfig || !config?.startsWith('import.') || (ofSession && path === 'resume')) return option;
    const isKept = !ofSession || (path === 'apply' && option.name === 'wait');
    return { ...own, ...(isKept && KEPT[path] && { otherwise: KEPT[path] }) };
  });
}

/** Declares the options of a command and of its subcommands. */
export function declareOptions(command: Command): void {
  for (const option of optionsOf(pathOf(command))) {
    if (option.flag === false) continue;
    const declared = command.createOption(option.flags, descriptionOf(option));
    // Otherwise, commander would store `--input` and `--no-input` under the same name.
    if (option.spelled) declared.attributeName = () => option.name;
    if (option.repeatable) declared.argParser((value: string, before: string[] = []) => [...before, value]);
    else if (takesValue(option))
      declared.argParser((value: string, before?: string) => {
        if (before !== undefined) throw usage(`${option.typed} was given twice`, 'give it once');
        return value;
      });
    command.addOption(declared);
    // The opposite flag turns off what the config file, the plan, or the run turns on.
    const isSwitch = option.type.kind === 'flag' && (option.config || option.otherwise);
    if (isSwitch || option.off?.includes(pathOf(command)))
      command.addOption(command.createOption(option.long.replace('--', '--no-')).hideHelp());
  }
  for (const child of command.commands) declareOptions(child);
}

/** The path of a command, such as `config list`; `*` for the root. */
export function pathOf(command: Command): string {
  const names: string[] = [];
  for (let at = command; at.parent; at = at.parent) names.unshift(at.name());
  return names.length === 0 ? '*' : names.join(' ');
}

/** Keys under other names. */
const RENAMED: Readonly<Record<string, string>> = {
  ...{ wait_timeout: 'wait', isolate: 'on_failure', continue_on_error: 'on_failure' },
  ...{ timeout: 'request_timeout', batch_size: 'chunk_size', max_errors: 'max_invalid' },
};

/** The options of a command, those of every command included. */
const allOf = (path: string): Entry[] => [...(path === '*' ? [] : optionsOf(path)), ...optionsOf('*')];

/** The keys that `-o` takes on a command. */
export const settingsOf = (path: string): Entry[] => allOf(path).filter(({ key }) => key !== null);

/**
 * Adds the settings of `-o` to the flags, as if each had been given by a flag.
 * @param path of the command, such as `identify user`
 * @throws UsageError for an unknown key, a wrong value, or a setting that is also given by its flag
 */
export function withSettings(path: string, flags: Flags): Flags {
  const all: Flags = { ...flags };
  const known = settingsOf(path);
  const seen = new Set<string>();
  for (const text of (flags.option ?? []) as string[]) {
    const [key, value] = pair('key=value').read(text, '-o');
    const option = known.find((each) => each.key === key);
    if (option === undefined) throw unknownSetting(path, key, known);
    const { name, type, repeatable, typed } = option;
    const setting = `-o ${key}`;
    if (flags[name] !== undefined)
      throw usage(`${setting} and ${typed} are the same setting`, 'give it once');
    if (seen.has(key) && !repeatable) throw usage(`${setting} was given twice`, 'give it once');
    if (type.kind !== 'flag') type.read(value, setting);
    const before = (all[name] ?? []) as string[];
    all[name] = type.kind === 'flag' ? readBoolean(value, setting) : repeatable ? [...before, value] : value;
    seen.add(key);
  }
  return all;
}

function unknownSetting(path: string, key: string, known: readonly Entry[]): UsageError {
  const own = OPTIONS.find(({ config, key: setting }) => config === key && setting === null);
  if (own) {
    const elsewhere = own.flag === false ? `profiles config set ${key}` : own.long;
    return usage(`-o ${key}: this is a setting of the config file`, `use ${elsewhere}`);
  }
  const keys = known.map((option) => option.key!);
  if (OPTIONS.some((option) => option.key === key))
    return usage(`-o ${key} has no effect on profiles ${path}`, `its settings: ${keys.join(', ')}`);
  const like = (Object.hasOwn(RENAMED, key) ? RENAMED[key] : undefined) ?? nearest(key, keys);
  const hint = like ? `did you mean ${like}?` : 'profiles help settings lists them';
  return usage(`-o ${key}: unknown setting`, hint);
}

/**
 * Checks the flags of a command line against the columns `conflicts` and `needs` of the table.
 * @param below defaults from the config file, which can be what a flag needs
 * @throws UsageError
 */
export async function checkFlags(path: string, flags: Flags, below: () => Promise<Flags>): Promise<void> {
  const options = allOf(path);
  // Commander takes the options of a command for its subcommands, too.
  const [group = ''] = path.split(' ');
  const other = optionsOf(group).find(
    (option) => isGiven(option, flags) && !options.some(({ name }) => name === option.name),
  );
  if (other)
    throw usage(
      `${other.long} is for ${group} alone: ${path} does not take it`,
      `see profiles ${path} --help`,
    );
  const given = options.filter((option) => isGiven(option, flags));
  for (const { name, typed, conflicts = [] } of given) {
    for (const { with: other, when, why } of conflicts) {
      if ((when !== undefined && flags[name] !== when) || !holds(other, options, flags)) continue;
      const own = when === undefined ? typed : `${typed} ${when}`;
      throw usage(`${own} and ${other} cannot be combined${why ? `: ${why}` : ''}`, 'leave one out');
    }
  }
  for (const { typed, needs } of given) {
    if (needs === undefined || !options.some(({ long }) => long === needs.split(' ')[0])) continue;
    if (holds(needs, options, flags) || holds(needs, options, { ...(await below()), ...flags })) continue;
    throw usage(`${typed} has no effect without ${needs}`, `add ${needs}, or leave ${typed} out`);
  }
}

const isGiven = ({ name, negated }: Entry, flags: Flags): boolean =>
  negated ? flags[name] === false : flags[name] !== undefined && flags[name] !== false;

/** Whether a flag stands there as it is written: `--resume`, `--no-wait`, `--on-failure isolate`. */
function holds(term: string, options: readonly Entry[], flags: Flags): boolean {
  const [long = '', value] = term.split(' ');
  const off = options.find((option) => spelled(option.name).replace('--', '--no-') === long);
  if (off) return flags[off.name] === false;
  const option = options.find((each) => each.long === long);
  if (option === undefined) return false;
  return value === undefined ? isGiven(option, flags) : flags[option.name] === value;
}

/** How an import is reported. `form`: what output that others read shows. `page`: the name of the report, as it was given. */
export type Report = ReturnType<typeof reportOf>;

/** @param below `import.*` of the config file */
export function reportOf(flags: Flags, below: Flags) {
  const { reportValues, report = null } = valuesOf(table.REPORTING, { ...below, ...flags });
  const mode = flags.json ? 'json' : flags.ndjson ? 'ndjson' : 'text';
  return { mode, form: reportValues ? 'full' : 'shared', page: report } as const;
}

/** How long to wait: without a limit, at most as long as `--wait` says, or with `--no-wait` not at all. */
export function waitingIn(flags: Flags): Pick<ImportOptions, 'wait' | 'waitTimeoutMs'> {
  const { wait } = valuesOf({ wait: table.WAITING.wait }, flags) as { wait: number | false | null };
  return { wait: wait !== false, waitTimeoutMs: wait === false ? null : wait };
}
