/** The types of option values: how each is written on a command line and parsed. */
import { fileURLToPath } from 'node:url';
import { UsageError } from '../../engine/errors.js';
import { type InvalidBound, wordOption } from '../../engine/options.js';
import { DURATION, DURATION_EXAMPLES, parseDuration, writeDuration } from '../../engine/util/duration.js';
import { wholeNumber } from '../../engine/util/numbers.js';
import { formatSize, parseSize, SIZE, SIZE_EXAMPLES } from '../../engine/util/size.js';

export interface Type<V = unknown> {
  /** Decides the schema of its value in the config file (`settings/schema.ts`). */
  kind: 'flag' | 'text' | 'name' | 'path' | 'word' | 'count' | 'size' | 'duration' | 'bound' | 'words';
  /** The placeholder of the value in help, without brackets. Empty for a flag. */
  placeholder: string;
  /** Parses a value. @param setting the name for the error, such as `--chunk-size` @throws UsageError */
  read(text: string, setting: string): V;
  /** The value as a user would type it. */
  write(value: V): string;
  /** Of a number, also in other units, such as milliseconds. */
  least?: number;
  words?: readonly string[];
  /** For texts in the config file: a pattern, and the error message if it does not match. */
  pattern?: RegExp;
  form?: string;
}

const type = <V>(
  kind: Type['kind'],
  placeholder: string,
  read: Type<V>['read'],
  more: Partial<Type<V>> = {},
): Type<V> => ({ kind, placeholder, read, write: String, ...more });

const asIs = (text: string): string => text;

const wrong = (setting: string, given: string, what: string, hint: string): UsageError =>
  new UsageError(`${setting}: "${given}" is not ${what}`, { hint: `write ${hint}` });

export const FLAG = type('flag', '', () => true, { write: (on: boolean) => (on ? 'on' : 'off') });

/** Reads a flag's value where it is written out: in `-o trim=true`. */
export function readBoolean(given: string, setting: string): boolean {
  if (given === 'true' || given === 'false') return given === 'true';
  throw wrong(setting, given, 'true or false', `${setting}=true`);
}

export const text = (placeholder: string, check?: { pattern: RegExp; form: string }): Type<string> =>
  type('text', placeholder, asIs, check);

/** The name of an account or a region. */
export const NAME_TYPE = type('name', 'name', asIs);
/** A program and its arguments: an array in the config file. */
export const COMMAND_TYPE = type('words', 'command', asIs);
/** An input: a path, a URL, stdin, or a member of an archive. */
export const INPUT_TYPE = type('path', 'path', asIs);

export const path = (placeholder: 'file' | 'folder' | 'path'): Type<string> =>
  type('path', placeholder, readPath);

/** Reads a path or a `file://` URL. @throws UsageError for another URL, or a pattern */
export function readPath(given: string, setting: string): string {
  const [, scheme] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(given) ?? [];
  if (scheme?.toLowerCase() === 'file' && URL.canParse(given)) return fileURLToPath(given);
  if (scheme === undefined && !given.includes('*')) return given;
  // The URL may contain a password or a signature, so the error does not show it.
  const what = scheme === undefined ? `"${given}" is a pattern` : `this is an address (${scheme}://…)`;
  const need = scheme === undefined ? 'but one path is needed' : 'but a path is needed';
  const others = scheme === undefined ? 'patterns' : 'addresses; download it, and name the file';
  throw new UsageError(`${setting}: ${what}, ${need}`, { hint: `only inputs may be ${others}` });
}

export const word = <T extends string>(placeholder: string, words: readonly T[]): Type<T> =>
  type('word', placeholder, (given, setting) => wordOption(setting, given, words), { words });

export function countType(
  least = 0,
  { placeholder = 'n', ...bounds }: { placeholder?: string; most?: number } = {},
) {
  const read = (given: string, setting: string): number => wholeNumber(given, setting, { least, ...bounds });
  return type('count', placeholder, read, { least });
}

export const SIZE_TYPE = type('size', 'size', parseSize, {
  ...{ least: 1, pattern: SIZE, form: `a size is written like ${SIZE_EXAMPLES}` },
  write: (bytes: number) => formatSize(bytes).replace(' ', ''),
});

/** @param least minimum in milliseconds: 1 if zero has no meaning */
export function duration(least = 0): Type<number> {
  const read = (given: string, setting: string): number => parseDuration(given, setting, least);
  const form = { pattern: DURATION, form: `a duration is written like ${DURATION_EXAMPLES}` };
  return type('duration', 'duration', read, { least, ...form, write: writeDuration });
}

const PERCENTAGE = /^(100(\.0+)?|\d{1,2}(\.\d+)?)%$/;

/** A count, or a percentage of the rows that were read. */
export const BOUND_TYPE = type(
  'bound',
  'n|n%',
  (given, setting): Exclude<InvalidBound, string> => {
    if (PERCENTAGE.test(given)) return { percent: Number(given.slice(0, -1)) };
    if (/^\d+$/.test(given) && Number.isSafeInteger(Number(given))) return { rows: Number(given) };
    throw wrong(setting, given, 'a number of rows or a percentage', `${setting} 10 or ${setting} 2%`);
  },
  {
    ...{ pattern: PERCENTAGE, form: 'must be a number of rows or a percentage, like 10 or 2%' },
    write: (bound) => ('rows' in bound ? String(bound.rows) : `${bound.percent}%`),
  },
);

/** A time zone by its IANA name. */
export const ZONE_TYPE = type('text', 'zone', (given, setting) => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: given });
    return given;
  } catch {
    throw wrong(setting, given, 'a time zone', `${setting} Europe/Berlin, or ${setting} UTC`);
  }
});

/** A share between 0 and 1. */
export const RATE_TYPE = type('text', 'rate', (given, setting) => {
  const [, number = 'none', percent] = /^(\d*\.?\d+)(%?)$/.exec(given) ?? [];
  const share = percent ? Number(number) / 100 : Number(number);
  if (share >= 0 && share <= 1) return share;
  throw wrong(setting, given, 'a rate', '0.1 or 10%');
});

/** A type behind the last `=` that one follows. */
const TYPED = /^(.+)=(?:string|integer|number|boolean|money|percent|date|datetime|lower|auto)(?:[:@].*)?$/s;

/**
 * Where the left side of a pair ends; -1 if it has none. The name of a column may have `=`: so `column=type` is split at the
 * last one that a type follows, and `column=key` at the last one. Other pairs are split at the first.
 */
export function pairEnd(placeholder: string, pair: string): number {
  if (placeholder === 'column=key') return pair.lastIndexOf('=');
  const typed = placeholder === 'column=type' ? TYPED.exec(pair)?.[1] : undefined;
  return typed === undefined ? pair.indexOf('=') : typed.length;
}

/** `left=right`. @param least minimum number of characters on the right */
export const pair = (placeholder: string, least = 0) =>
  type('text', placeholder, (given, setting): readonly [left: string, right: string] => {
    const at = pairEnd(placeholder, given);
    if (at >= 1 && given.length - at - 1 >= least) return [given.slice(0, at), given.slice(at + 1)];
    throw wrong(setting, given, `of the form ${placeholder}`, `${setting} ${placeholder}`);
  });

/** `column=value` or `column!=value`, split at the first `=`. */
export const CONDITION_TYPE = type('text', 'column=text', (given, setting) => {
  const { name, no, value } = /^(?<name>[^=]*?)(?<no>!?)=(?<value>.*)$/s.exec(given)?.groups ?? {};
  if (name && value !== undefined) return [name, no ? '!=' : '=', value] as const;
  const how = `${setting} 'column=value' or ${setting} 'column!=value'`;
  throw wrong(setting, given, 'of the form column=value', how);
});

/** Names, separated by commas; duplicates are removed. */
export const NAMES_TYPE = type('text', 'a,b', (given, setting) => {
  const names = given.split(',').map((name) => name.trim());
  const found = [...new Set(names.filter(Boolean))];
  if (found.length > 0) return found;
  throw new UsageError(`${setting}: no name was given`, { hint: `write ${setting} a,b` });
});
