/**
 * Dotted keys of the config file, for `config get`, `set`, and `unset`. They come from the table of options.
 */
import { ConfigError } from '../../engine/errors.js';
import { isObject } from '../../engine/util/json-object.js';
import { didYouMean, nearest } from '../../engine/util/nearest.js';
import { defaultOf, type Entry, OPTIONS } from '../options/index.js';

/** An option in the config file, and whether it is allowed only at the top or only in an account. */
type KeyOption = Entry & { config: string; only?: 'top' | 'account' };

/** A known key: its parts, and the option that it sets. */
export type Key = ReturnType<typeof parseKey>;

/** A value in the config file. An array is a program and its arguments. */
export type Scalar = string | number | boolean | string[];

type Texts = 'token' | 'token_file' | 'region' | 'state' | 'request_timeout' | 'interval';
type Hosts = 'base_url' | 'lookup_base_url';

/** The keys at the top and under `accounts.<name>`. Written by hand: a schema derived from the table has no types. */
export interface ConfigSection extends Partial<Record<Texts, string>> {
  token_command?: string[];
  regions?: Record<string, Partial<Record<Hosts | 'token', string>>>;
  import?: Record<string, Scalar>;
  confirm?: boolean;
}
export interface ConfigFile extends ConfigSection {
  $schema?: string;
  account?: string;
  /** An account may contain the hosts of its own region directly. */
  accounts?: Record<string, ConfigSection & Partial<Record<Hosts, string>>>;
}

/**
 * Names of accounts and regions. They are parts of dotted keys, so they have no dot. `__proto__` does not
 * match, either.
 */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
/** The ways to give a token. A section of the file has one of them. */
export const TOKEN_KEYS = ['token', 'token_command', 'token_file'] as const;
export const NAME_RULE = 'a name consists of letters, digits, "-" and "_", and starts with a letter or digit';

/** All keys of the config file. `account` is allowed only at the top. */
export const KEYS: readonly KeyOption[] = OPTIONS.flatMap((option): KeyOption[] => {
  const { name, config, accountConfig } = option;
  const top = name === 'account' ? ({ only: 'top' } as const) : {};
  return [
    ...(config ? [{ ...option, config, ...top }] : []),
    ...(accountConfig ? [{ ...option, config: accountConfig, only: 'account' as const }] : []),
  ];
});

/** What the option does, as a sentence, for the schema of the config file and for help. */
export function sentence(option: Entry): string {
  const [first = '', ...rest] = option.summary;
  const value = defaultOf(option);
  return `${first.toUpperCase()}${rest.join('')}.${value === null ? '' : ` Default: ${value}.`}`;
}

/**
 * Reads a dotted key.
 * @throws ConfigError that names the nearest known key
 */
export function parseKey(name: string) {
  const path = name.split('.');
  const [, option] = keysAt(path).find(([key]) => key === name) ?? [];
  // A token is never accepted on the command line, and never printed.
  if (option) return { name, path, option, secret: option.config.split('.').at(-1) === 'token' };
  if (/^(accounts\.[^.]+\.)?regions\.sandbox\./.test(name))
    throw new ConfigError(`${name}: the sandbox is embedded and has no hosts to set`);
  throw new ConfigError(`unknown key "${name}"`, { hint: keyHint(path) });
}

/** All keys and their options, with the names of the account and region in `path`, otherwise with `<name>`. */
function keysAt(path: readonly string[]): [key: string, option: KeyOption][] {
  const nameIn = ([, name = '']: readonly string[], not = ''): string =>
    NAME.test(name) && name !== not ? name : '<name>';
  const inSection = (place: 'top' | 'account', at: readonly string[], before: string) =>
    KEYS.filter(({ only }) => only === undefined || only === place).map((option): [string, KeyOption] => [
      before + option.config.replace('<name>', nameIn(at, 'sandbox')),
      option,
    ]);
  const hasAccount = path.length === 0 || (path.length > 2 && nearest(path[0]!, ['accounts']) !== undefined);
  const ofAccount = hasAccount ? inSection('account', path.slice(2), `accounts.${nameIn(path)}.`) : [];
  return [...inSection('top', path, ''), ...ofAccount];
}

/** The hint for an unknown key: the most similar one, with the names of its account and region, or one in a section. */
export function keyHint(path: readonly string[]): string {
  const key = path.join('.');
  const below = knownKeys().filter((known) => known.endsWith(`.${key}`));
  const otherwise =
    below.length > 0 ? `it stands in a section: ${below.join(', ')}` : 'profiles help config lists the keys';
  return didYouMean(key, knownKeys(path), otherwise);
}

/** All keys, with `<name>` for accounts and regions that `path` does not name. */
export const knownKeys = (path: readonly string[] = []): string[] => keysAt(path).map(([key]) => key);

/** The value at a path; inherited properties do not count. */
export function valueAt(file: object, path: readonly string[]): Scalar | undefined {
  let at: unknown = file;
  for (const part of path) at = isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined;
  return isObject(at) ? undefined : (at as Scalar | undefined);
}

/** A copy with the value set. `undefined` removes it, and every section that becomes empty. */
export function withValue<F extends object>(file: F, path: readonly string[], value: Scalar | undefined): F {
  const [part = '', ...rest] = path;
  const { [part]: _, ...others } = file as Record<string, unknown>;
  const before = Object.hasOwn(file, part) ? (file as Record<string, unknown>)[part] : undefined;
  const next = rest.length === 0 ? value : withValue((before ?? {}) as object, rest, value);
  const isEmpty = next === undefined || (typeof next === 'object' && Object.keys(next).length === 0);
  return (isEmpty ? others : { ...file, [part]: next }) as F;
}

/** All values of a file with their paths, in the order of the file, without `$schema`. */
export const leaves = (file: object, path: string[] = []): [path: string[], value: Scalar][] =>
  Object.entries(file).flatMap(([part, value]): [string[], Scalar][] => {
    if (isObject(value)) return leaves(value, [...path, part]);
    return part === '$schema' ? [] : [[[...path, part], value as Scalar]];
  });
