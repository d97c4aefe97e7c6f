/**
 * Dotted keys of the config file, for `config get`, `set`, and `unset`. They come from the table of options.
 */
import { ConfigError } from '../../engine/errors.js';
import { isObject } from '../../engine/util/json-object.js';
import { nearest } from '../../engine/util/nearest.js';
import { defaultOf, type Entry, OPTIONS } from '../options/index.js';

/** An option in the config file, and whether it is allowed only at the top or only in an account. */
export type KeyOption = Entry & { config: string; only?: 'top' | 'account' };

/** A known key: its parts, and the option that it sets. */
export interface Key {
  /** The whole key: `accounts.prod.regions.eu.base_url`. */
  name: string;
  path: readonly string[];
  option: KeyOption;
  /** True for a token, which is never accepted on the command line and never printed. */
  secret: boolean;
}

/** A value in the config file. An array is a program and its arguments. */
export type Scalar = string | number | boolean | string[];

/**
 * The keys at the top and under `accounts.<name>`. Written by hand, because a schema derived from the table
 * has no types.
 */
export interface ConfigSection {
  token?: string;
  token_command?: string[];
  token_file?: string;
  region?: string;
  state?: string;
  regions?: Record<string, { base_url?: string; lookup_base_url?: string; token?: string }>;
  import?: Record<string, Scalar>;
  confirm?: boolean;
  request_timeout?: string;
  interval?: string;
  history?: { keep?: string };
}
export interface ConfigFile extends ConfigSection {
  $schema?: string;
  account?: string;
  accounts?: Record<string, AccountSection>;
}
/** An account may contain the hosts of its own region directly. */
export interface AccountSection extends ConfigSection {
  base_url?: string;
  lookup_base_url?: string;
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
export const KEYS: readonly KeyOption[] = OPTIONS.flatMap((option) => {
  const { name, config, accountConfig } = option;
  const keys: KeyOption[] = [];
  if (config) keys.push(name === 'account' ? { ...option, config, only: 'top' } : { ...option, config });
  if (accountConfig) keys.push({ ...option, config: accountConfig, only: 'account' });
  return keys;
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
export function parseKey(name: string): Key {
  const path = name.split('.');
  const [, option] = keysAt(path).find(([key]) => key === name) ?? [];
  if (option) return { name, path, option, secret: option.config.split('.').at(-1) === 'token' };
  if (/^(accounts\.[^.]+\.)?regions\.sandbox\./.test(name)) {
    throw new ConfigError(`${name}: the sandbox is embedded and has no hosts to set`);
  }
  const like = nearestKey(path);
  throw new ConfigError(`unknown key "${name}"`, {
    hint: like ? `did you mean "${like}"?` : 'profiles help config lists the keys',
  });
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

/** The known key that is most similar to an unknown one, with the names of its account and region. */
export const nearestKey = (path: readonly string[]): string | undefined =>
  nearest(
    path.join('.'),
    keysAt(path).map(([key]) => key),
  );

/** All keys, with `<name>` for accounts and regions. */
export const knownKeys = (): string[] => keysAt([]).map(([key]) => key);

/** The value at a path; inherited properties do not count. */
export function valueAt(file: object, path: readonly string[]): Scalar | undefined {
  let at: unknown = file;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return typeof at === 'object' && !Array.isArray(at) ? undefined : (at as Scalar);
}

/** A copy with the value set. `undefined` removes it, and every section that becomes empty. */
export function withValue<F extends object>(file: F, path: readonly string[], value: Scalar | undefined): F {
  const change = (at: unknown, [part, ...rest]: readonly string[]): Record<string, unknown> => {
    const copy = { ...(at as Record<string, unknown> | undefined) };
    if (part === undefined) return copy;
    const next = rest.length === 0 ? value : change(Object.hasOwn(copy, part) ? copy[part] : undefined, rest);
    if (next === undefined || (typeof next === 'object' && Object.keys(next).length === 0)) delete copy[part];
    else copy[part] = next;
    return copy;
  };
  return change(file, path) as F;
}

/** All values of a file with their paths, in the order of the file, without `$schema`. */
export function* leaves(file: object): Generator<[path: string[], value: Scalar]> {
  function* walk(at: object, path: string[]): Generator<[string[], Scalar]> {
    for (const [part, value] of Object.entries(at)) {
      if (isObject(value)) yield* walk(value, [...path, part]);
      else if (part !== '$schema') yield [[...path, part], value as Scalar];
    }
  }
  yield* walk(file, []);
}
