/** Reads `-o key=value` into the flags, and checks which flags can stand together. */
import { UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/util/nearest.js';
import { OPTIONS, optionsOf } from './index.js';
import { type Entry, type Flags, spelled } from './option.js';
import { pair, readBoolean } from './types.js';

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
  const pairs = ((flags.option ?? []) as string[]).map((text) => pair('key=value').read(text, '-o'));
  const all: Flags = { ...flags };
  const known = settingsOf(path);
  const seen = new Set<string>();
  for (const [key, value] of pairs) {
    const option = known.find((each) => each.key === key);
    if (option === undefined) throw unknownSetting(path, key, known);
    const { name, type, repeatable, typed } = option;
    if (flags[name] !== undefined || (seen.has(key) && !repeatable)) {
      const twice =
        flags[name] === undefined
          ? `-o ${key} was given twice`
          : `-o ${key} and ${typed} are the same setting`;
      throw new UsageError(twice, { hint: 'give it once' });
    }
    const setting = `-o ${key}`;
    if (type.kind === 'flag') all[name] = readBoolean(value, setting);
    else {
      type.read(value, setting);
      all[name] = repeatable ? [...((all[name] as string[] | undefined) ?? []), value] : value;
    }
    seen.add(key);
  }
  return all;
}

function unknownSetting(path: string, key: string, known: readonly Entry[]): UsageError {
  const own = OPTIONS.find(({ config, key: setting }) => config === key && setting === null);
  if (own) {
    const elsewhere = own.flag === false ? `profiles config set ${key}` : own.long;
    return new UsageError(`-o ${key}: this is a setting of the config file`, { hint: `use ${elsewhere}` });
  }
  const keys = known.map((option) => option.key!);
  if (OPTIONS.some((option) => option.key === key)) {
    return new UsageError(`-o ${key} has no effect on profiles ${path}`, {
      hint: `its settings: ${keys.join(', ')}`,
    });
  }
  const like = (Object.hasOwn(RENAMED, key) ? RENAMED[key] : undefined) ?? nearest(key, keys);
  return new UsageError(`-o ${key}: unknown setting`, {
    hint: like ? `did you mean ${like}?` : 'profiles help settings lists them',
  });
}

/**
 * Checks the flags of a command line against the columns `conflicts` and `needs` of the table.
 * @param below defaults from the config file, which can be what a flag needs
 * @throws UsageError
 */
export async function checkFlags(path: string, flags: Flags, below: () => Promise<Flags>): Promise<void> {
  const options = allOf(path);
  const given = options.filter((option) => isGiven(option, flags));
  for (const option of given) {
    for (const { with: other, when, why } of option.conflicts ?? []) {
      if (when !== undefined && flags[option.name] !== when) continue;
      if (!holds(other, options, flags)) continue;
      const own = when === undefined ? option.typed : `${option.typed} ${when}`;
      throw new UsageError(`${own} and ${other} cannot be combined${why ? `: ${why}` : ''}`, {
        hint: 'leave one out',
      });
    }
  }
  for (const { typed, needs } of given) {
    if (needs === undefined || !options.some(({ long }) => long === needs.split(' ')[0])) continue;
    if (holds(needs, options, flags) || holds(needs, options, { ...(await below()), ...flags })) continue;
    throw new UsageError(`${typed} has no effect without ${needs}`, {
      hint: `add ${needs}, or leave ${typed} out`,
    });
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
