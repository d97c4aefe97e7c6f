/** Dotted keys of the config file, as in `config get`, `set`, and `unset`. The table of options defines which exist. */
import { ConfigError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import { defaultOf, type Entry, OPTIONS } from '../options/index.js';

/** An option that the config file may hold, and whether only the top or only an account may. */
export type KeyOption = Entry & { config: string; only?: 'top' | 'account' };

/** A known key: its parts, and the option whose value it holds. */
export interface Key {
  /** The whole key: `accounts.prod.regions.eu.base_url`. */
  name: string;
  path: readonly string[];
  option: KeyOption;
  /** True for a token: it is never taken from the command line and never printed. */
  secret: boolean;
}

/** A value of the config file: an array is a program and its arguments. */
export type Scalar = string | number | boolean | string[];

/** Names of accounts and regions are parts of dotted keys, so they cannot contain a dot; `__proto__` is ruled out too. */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;

/** `account` first: it is allowed at the top only. */
export const KEYS: readonly KeyOption[] = OPTIONS.flatMap((option) => {
  const { name, config, accountConfig } = option;
  const keys: KeyOption[] = [];
  if (config) keys.push(name === 'account' ? { ...option, config, only: 'top' } : { ...option, config });
  if (accountConfig) keys.push({ ...option, config: accountConfig, only: 'account' });
  return keys;
});

/** The keys of the top, or of an account. */
const keysOf = (place: 'top' | 'account'): KeyOption[] =>
  KEYS.filter(({ only }) => only === undefined || only === place);

/** What the option does, as a sentence, for the config file's schema and help. */
export function sentence(option: Entry): string {
  const [first = '', ...rest] = option.summary;
  const value = defaultOf(option);
  return `${first.toUpperCase()}${rest.join('')}.${value === null ? '' : ` Default: ${value}.`}`;
}

/**
 * Reads a dotted key.
 * @throws ConfigError naming the nearest known key
 */
export function parseKey(name: string): Key {
  const path = name.split('.');
  const account = path[0] === 'accounts' && path.length > 2;
  const own = account ? path.slice(2) : path;
  const keys = account && !NAME.test(path[1]!) ? [] : keysOf(account ? 'account' : 'top');
  const option = keys.find((key) => names(key.config, own));
  if (option) {
    return { name, path, option, secret: option.name === 'token' };
  }
  if (/^(accounts\.[^.]+\.)?regions\.sandbox\./.test(name)) {
    throw new ConfigError(`${name}: the sandbox is embedded and has no hosts to set`);
  }
  const like = nearestKey(path);
  throw new ConfigError(`unknown key "${name}"`, {
    hint: like ? `did you mean "${like}"?` : 'profiles help config lists the keys',
  });
}

/** Whether a path is a key such as `regions.<name>.base_url`. */
function names(key: string, path: readonly string[]): boolean {
  const parts = key.split('.');
  return (
    parts.length === path.length &&
    parts.every((part, i) =>
      part === '<name>' ? NAME.test(path[i]!) && path[i] !== 'sandbox' : part === path[i],
    )
  );
}

/** The known key that is most similar to an unknown one; names of accounts and regions are kept. */
export function nearestKey(path: readonly string[]): string | undefined {
  return nearest(path.join('.'), knownKeys(path));
}

/** All keys, with the names in `path` filled in, otherwise `<name>`. */
export function knownKeys(path: readonly string[] = []): string[] {
  const account = NAME.test(path[1] ?? '') ? path[1]! : '<name>';
  const ofAccount = path.length === 0 || (path.length > 2 && nearest(path[0]!, ['accounts']) !== undefined);
  return [
    ...sectionKeys(path, 'top'),
    ...(ofAccount ? sectionKeys(path.slice(2), 'account').map((key) => `accounts.${account}.${key}`) : []),
  ];
}

function sectionKeys(path: readonly string[], place: 'top' | 'account'): string[] {
  const region = NAME.test(path[1] ?? '') ? path[1]! : '<name>';
  return keysOf(place).map(({ config }) => config.replace('<name>', region));
}

/** The value at a path, own properties only. */
export function valueAt(file: object, path: readonly string[]): Scalar | undefined {
  let at: unknown = file;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return typeof at === 'object' && !Array.isArray(at) ? undefined : (at as Scalar);
}

/** A copy with the value set; `undefined` removes it, and every section that becomes empty. */
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

/** Every value of a file with its dotted key, in the file's order, `$schema` left out. */
export function* leaves(file: object): Generator<[path: string[], value: Scalar]> {
  function* walk(at: object, path: string[]): Generator<[string[], Scalar]> {
    for (const [part, value] of Object.entries(at)) {
      if (typeof value === 'object' && value !== null && !Array.isArray(value))
        yield* walk(value, [...path, part]);
      else if (part !== '$schema') yield [[...path, part], value as Scalar];
    }
  }
  yield* walk(file, []);
}
