/** How an option is described in the table, and how its values are read. */
import { UsageError } from '../../engine/errors.js';
import { NUMBERS, type NumberOption } from '../../engine/options.js';
import TEXTS from './texts.json' with { type: 'json' };
import { countType, duration, SIZE_TYPE, type Type } from './types.js';

/** A mistake of whoever typed the command. */
export const usage = (message: string, hint?: string): UsageError => new UsageError(message, { hint });

/** Flags as commander returns them, by camelCase name. */
export type Flags = Record<string, unknown>;

/** Where completion finds values on this machine. */
export type Source = 'regions' | 'accounts' | 'settings' | 'folders';

export interface Option {
  // biome-ignore lint/suspicious/noExplicitAny: a table holds options of all types
  type: Type<any>;
  /** The key of its text, if another option has its name. */
  text?: string;
  /**
   * The value if the option is not given, in the units of its type. Without a default, the value is then
   * absent.
   */
  default?: unknown;
  /** The default in words, if it is not a value: "detected from the columns". */
  otherwise?: string;
  repeatable?: true;
  /** Each path, and of pairs each left side with another right side, may be given only once. */
  distinct?: true;
  /** On by default: its flag is `--no-<name>`. */
  negated?: true;
  /** Besides its flag with a value, these commands take `--no-<name>`. */
  off?: readonly string[];
  /** Its key in the config file: `regions.<name>.base_url`. */
  config?: string;
  /** Its key in the config file is that of `import` which follows from the name: `import.chunk_size`. */
  import?: true;
  /** A mapping file may hold it, too: only at its top, or also in the section of a kind. */
  mapping?: 'top' | 'section';
  /** On a further page of help, not on the command's first one. */
  tier?: 2;
  /** What help shows for its flag, if other flags belong to it. */
  shown?: string;
  /** Flags that it cannot be combined with. */
  conflicts?: readonly Conflict[];
  /** Without this flag, it has no effect: `--changed-only`, or `--on-failure isolate`. */
  needs?: string;
  /** Its key directly below `accounts.<name>`, if accounts have one that the top does not. */
  accountConfig?: string;
  /** The environment variable that sets it. */
  env?: string;
  complete?: Source;
  /** The name of the engine's option that it sets. */
  sets?: string;
  /** The engine's option has the same name. */
  engine?: true;
  /** It belongs to one session of a run: `resume` does not keep it, and reads its config key again. */
  ofSession?: true;
  /** False for a setting that has no flag. */
  flag?: false;
  /** Its flag, if it does not follow from the name. */
  spelled?: string;
  short?: string;
  /** The commands that take it, if they differ from those of its group. */
  commands?: readonly string[];
}

/** @param when only if this is its value */
export type Conflict = { with: string; when?: string; why?: string };

export type Table = Readonly<Record<string, Option>>;

/** A part of the table: a heading in help, and the commands that take the options. */
export interface Group {
  heading: string | null;
  /** Paths such as `config list`; `*` means every command, because the root takes the option. */
  commands: readonly string[];
  options: Table;
}

/** An option together with what is derived from its name. */
export type Entry = ReturnType<typeof entriesOf>[number];

/** Lists a group's options. */
export const entriesOf = ({ heading, commands, options }: Group) =>
  Object.entries(options).map(([name, option]) => {
    const plain = option.spelled ?? spelled(name);
    const long = option.negated ? plain.replace('--', '--no-') : plain;
    const value = option.type.placeholder === '' ? '' : ` <${option.type.placeholder}>`;
    const config = option.import ? `import.${underscored(name)}` : option.config;
    const key = keyOf(name, config, option.mapping);
    return {
      ...{ commands, ...option, ...(config !== undefined && { config }) },
      /** In camelCase, under which commander stores the value. */
      name,
      /** Of a setting for `-o`, such as `chunk_size`; null for an option that is none. */
      key,
      /** What it does: the start of a sentence, for help, completion, man page, reference, and config schema. */
      summary: TEXTS[(option.text ?? name) as keyof typeof TEXTS],
      /** What a user types to set it: `--chunk-size`, or `-o retries`. */
      typed: option.flag === false ? `-o ${key}` : long,
      /** `--chunk-size`, `--no-wait`. */
      long,
      /** In commander's notation: `--chunk-size <items>`. */
      flags: `${option.short ? `-${option.short}, ` : ''}${long}${value}`,
      heading,
    };
  });

/** The option as a command describes it, if that has a text of its own for it. */
export function describedBy(path: string, option: Entry): Entry {
  const own: string | undefined = (TEXTS as Record<string, string>)[`${option.name} of ${path}`];
  return own === undefined ? option : { ...option, summary: own };
}

/** Settings that only the config file and the environment have: which service, with whose token, and what it asks. */
const OF_CONFIG = /^(?!import\.|request_timeout$|interval$)/;

function keyOf(name: string, config: string | undefined, mapping: Option['mapping']): string | null {
  if (config !== undefined) return OF_CONFIG.test(config) ? null : config.replace('import.', '');
  return mapping ? underscored(name) : null;
}

const underscored = (name: string): string => spelled(name).slice(2).replaceAll('-', '_');

/** The flag of a name: `--chunk-size` for `chunkSize`. */
export const spelled = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** `chunkSize` for `chunk_size`: the name under which commander stores `--chunk-size`. */
export const camelCase = (key: string): string =>
  key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/** The text for help: the summary, whether the option can be repeated, and the default. */
export function descriptionOf(option: Entry): string {
  const value = defaultOf(option);
  const notes = [option.repeatable && 'repeatable', value !== null && `default: ${value}`].filter(Boolean);
  return notes.length === 0 ? option.summary : `${option.summary} (${notes.join('; ')})`;
}

/** The default as a user would type it, or in words; null if there is none to show. */
export function defaultOf({ type, default: value, otherwise }: Option): string | null {
  if (otherwise !== undefined) return otherwise;
  return value === undefined || value === null || typeof value === 'boolean' ? null : type.write(value);
}

type More = Partial<Omit<Option, 'type'>>;

/** A row of the table. @param more what else is known of the option */
// biome-ignore lint/suspicious/noExplicitAny: a table holds options of all types
export const row = <T extends Type<any>, const M extends More = Record<never, never>>(type: T, more?: M) => ({
  type,
  ...(more as M),
});

/** A fact of a file: a mapping file may hold it at its top. */
export const fact = <T, const M extends More = Record<never, never>>(type: Type<T>, more?: M) =>
  ({ ...row(type, more), tier: 2, mapping: 'top', engine: true }) as const;

/** A rule for columns or values: a mapping file may hold it for each kind. */
export const rule = <T, const M extends More = Record<never, never>>(type: Type<T>, more?: M) =>
  ({ ...row(type, more), tier: 2, mapping: 'section' }) as const;

/** A number of the engine, which has its unit, bounds, and default. */
export function number<K extends keyof typeof NUMBERS, const M extends More>(sets: K, more: M) {
  const { unit, least, most, default: value }: NumberOption = NUMBERS[sets];
  const placeholder = sets === 'chunkSize' ? 'items' : 'n';
  const counted = () => countType(least, { placeholder, ...(most && { most }) });
  const type: Type<number> = unit === 'ms' ? duration(least) : unit === 'bytes' ? SIZE_TYPE : counted();
  return { type, sets, default: value as (typeof NUMBERS)[K]['default'], ...more };
}

/** A number of the engine that has no flag, but a key below `import`. */
export const numberSetting = <K extends keyof typeof NUMBERS, const M extends More = Record<never, never>>(
  sets: K,
  more?: M,
) => ({ ...number(sets, more ?? ({} as M)), import: true, flag: false }) as const;

type Read<O> = O extends { type: Type<infer V> } ? (O extends { repeatable: true } ? V[] : V) : never;
type Or<O> = O extends { default: infer D } ? (D extends null ? null : never) : undefined;

/** The values of those options of a table that were given. */
type Given<T extends Table> = { [K in keyof T]?: Read<T[K]> };
/** Like `Given`, with defaults for the others. */
type Values<T extends Table> = { [K in keyof T]: Read<T[K]> | Or<T[K]> };

/**
 * Reads the flags of a table, from commander or from the config file.
 * @throws UsageError that names the flag
 */
export function given<T extends Table>(table: T, flags: Flags): Given<T> {
  const found: Record<string, unknown> = {};
  for (const [name, { type, repeatable, distinct, spelled: flag = spelled(name) }] of Object.entries(table)) {
    const raw = flags[name];
    if (raw === undefined) continue;
    const read = (word: unknown): unknown => type.read(String(word), flag);
    if (typeof raw === 'boolean') found[name] = raw;
    else found[name] = repeatable ? (raw as string[]).map(read) : read(raw);
    const paths = distinct && type.kind === 'path' ? (found[name] as string[]) : [];
    const again = paths.find((path, at) => paths.indexOf(path) < at);
    if (again !== undefined) throw usage(`${flag}: ${again} was given twice`, 'give it once');
    const pairs = distinct && type.kind !== 'path' ? (found[name] as [string, unknown][]) : [];
    // The same once more says nothing else: a flag of a hint may have been added to a command that has it.
    const twice = pairs.find(([left, right]) => new Map(pairs).get(left) !== right);
    const [what] = type.placeholder.split('=');
    if (twice) throw usage(`${flag}: the ${what} ${JSON.stringify(twice[0])} appears twice`, 'give it once');
  }
  return found as Given<T>;
}

/** Like `given`, with defaults for the others. @throws UsageError */
export function valuesOf<T extends Table>(table: T, flags: Flags): Values<T> {
  const defaults = Object.entries(table).map(([name, option]) => [name, option.default]);
  return { ...Object.fromEntries(defaults), ...given(table, flags) } as Values<T>;
}

/** The options of the engine that a table sets, by the engine's names. */
type EngineValues<T extends Table> = {
  [K in keyof T as T[K] extends { sets: infer S extends string }
    ? S
    : T[K] extends { engine: true }
      ? K
      : never]: Read<T[K]> | Or<T[K]>;
};

/**
 * The values for the engine, with defaults for options that were not given. @throws UsageError that names the
 * flag
 */
export function engineValues<T extends Table>(table: T, flags: Flags): EngineValues<T> {
  return named(table, valuesOf(table, flags)) as EngineValues<T>;
}

/** Like `engineValues`, without defaults. */
export const engineGiven = <T extends Table>(table: T, flags: Flags): Partial<EngineValues<T>> =>
  named(table, given(table, flags)) as Partial<EngineValues<T>>;

/** Values by the names of the engine. */
function named(table: Table, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const pairs = Object.entries(table).flatMap(([name, { sets, engine }]) => {
    const own = sets ?? (engine ? name : undefined);
    return own === undefined || !(name in values) ? [] : [[own, values[name]] as const];
  });
  return Object.fromEntries(pairs);
}

/** The flags of a table as commander returns them: texts, or booleans. */
export type RawFlags<T extends Table> = {
  -readonly [K in keyof T]?: T[K]['type'] extends Type<boolean> ? boolean : string;
};
