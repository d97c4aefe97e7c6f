/** The description of an option in the table, and how its values are read. */
import { UsageError } from '../../engine/errors.js';
import { NUMBERS, type NumberOption } from '../../engine/options.js';
import { countType, duration, SIZE_TYPE, type Type } from './types.js';

/** Flags as commander returns them, by camelCase name. */
export type Flags = Record<string, unknown>;

/** Where completion finds values on this machine; `column=` is the beginning of a value. */
export type Source = 'regions' | 'accounts' | 'runs' | 'columns' | 'column=';

export interface Option {
  // biome-ignore lint/suspicious/noExplicitAny: a table holds options of all types
  type: Type<any>;
  /** What it does: the start of a sentence, for help, completion, man page, reference and config schema. */
  summary: string;
  /** In the units of the type. Used if the option is not given; an option without a default is then absent. */
  default?: unknown;
  /** The default in words, if it is not a value: "detected from the columns". */
  otherwise?: string;
  repeatable?: true;
  /** Of pairs that may be repeated: each with another left side. */
  distinct?: true;
  /** On unless switched off: its flag is `--no-<name>`. */
  negated?: true;
  /** Its key in the config file: `import.chunk_size`. */
  config?: string;
  /** Its key directly below `accounts.<name>`, if only accounts have it. */
  accountConfig?: string;
  /** The environment variable that sets it. */
  env?: string;
  complete?: Source;
  /** The option of the engine that it sets. */
  sets?: string;
  /** False for a setting that has no flag. */
  flag?: false;
  hidden?: true;
  /** Its flag, if that does not follow from its name. */
  spelled?: string;
  short?: string;
  /** Commands that take it, if they differ from those of its group. */
  commands?: readonly string[];
}

export type Table = Readonly<Record<string, Option>>;

/** A part of the table: a heading in help, and the commands that take its options. */
export interface Group {
  heading: string | null;
  /** Paths such as `config list`; `*` means every command, because the root takes the option. */
  commands: readonly string[];
  options: Table;
}

/** An option with what follows from its name. */
export interface Entry extends Option {
  /** camelCase, as commander names its value. */
  name: string;
  /** `--chunk-size`, `--no-wait`. */
  long: string;
  /** As commander takes it: `--chunk-size <items>`. */
  flags: string;
  heading: string | null;
  commands: readonly string[];
}

/** Lists a group's options. */
export const entriesOf = ({ heading, commands, options }: Group): Entry[] =>
  Object.entries(options).map(([name, option]) => {
    const plain = option.spelled ?? spelled(name);
    const long = option.negated ? plain.replace('--', '--no-') : plain;
    const value = option.type.placeholder === '' ? '' : ` <${option.type.placeholder}>`;
    const flags = `${option.short ? `-${option.short}, ` : ''}${long}${value}`;
    return { commands, ...option, name, long, flags, heading };
  });

/** Makes the flag of a name: `chunkSize` becomes `--chunk-size`. */
export const spelled = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** The text for help: the summary, whether the option is repeatable, and the default. */
export function descriptionOf(option: Option): string {
  const notes = [
    ...(option.repeatable ? ['repeatable'] : []),
    ...(defaultOf(option) === null ? [] : [`default: ${defaultOf(option)}`]),
  ];
  return notes.length === 0 ? option.summary : `${option.summary} (${notes.join('; ')})`;
}

/** The default as it could be typed, or in words; null if there is none to show. */
export function defaultOf({ type, default: value, otherwise }: Option): string | null {
  if (otherwise !== undefined) return otherwise;
  return value === undefined || value === null || typeof value === 'boolean' ? null : type.write(value);
}

/** Units and bounds of a number of the engine, for the beginning of a row of the table. */
export function engineNumber<K extends keyof typeof NUMBERS>(sets: K, placeholder?: string) {
  const { unit, least, default: value }: NumberOption = NUMBERS[sets];
  const types = {
    ms: () => duration(least),
    bytes: () => SIZE_TYPE,
    count: () => countType(least, placeholder === undefined ? {} : { placeholder }),
  };
  return { type: types[unit](), sets, default: value as (typeof NUMBERS)[K]['default'] };
}

type Read<O> = O extends { type: Type<infer V>; repeatable: true }
  ? V[]
  : O extends { type: Type<infer V> }
    ? V
    : never;
type Or<O> = O extends { default: infer D } ? (D extends null ? null : never) : undefined;

/** The options of a table that were given. */
export type Given<T extends Table> = { [K in keyof T]?: Read<T[K]> };
/** The same, with defaults for the others. */
export type Values<T extends Table> = { [K in keyof T]: Read<T[K]> | Or<T[K]> };

/**
 * Reads the flags of a table, from commander or the config file.
 * @throws UsageError naming the flag
 */
export function given<T extends Table>(table: T, flags: Flags): Given<T> {
  const found: Record<string, unknown> = {};
  for (const [name, { type, repeatable, distinct, spelled: flag = spelled(name) }] of Object.entries(table)) {
    const raw = flags[name];
    if (raw === undefined) continue;
    const read = (word: unknown): unknown => type.read(String(word), flag);
    if (typeof raw === 'boolean') found[name] = raw;
    else found[name] = repeatable ? (raw as string[]).map(read) : read(raw);
    if (distinct) refuseRepeated(found[name] as [string, unknown][], flag, type.placeholder);
  }
  return found as Given<T>;
}

function refuseRepeated(
  pairs: readonly (readonly [string, unknown])[],
  flag: string,
  placeholder: string,
): void {
  const [what] = placeholder.split('=');
  const seen = new Set<string>();
  for (const [left] of pairs) {
    if (seen.has(left)) {
      throw new UsageError(`${flag}: the ${what} ${JSON.stringify(left)} appears twice`, {
        hint: 'give it once',
      });
    }
    seen.add(left);
  }
}

/** The same, with defaults. @throws UsageError */
export function valuesOf<T extends Table>(table: T, flags: Flags): Values<T> {
  const defaults = Object.entries(table).map(([name, option]) => [name, option.default]);
  return { ...Object.fromEntries(defaults), ...given(table, flags) } as Values<T>;
}

/** The engine's options that a table sets, by the engine's names. */
export type EngineValues<T extends Table> = {
  [K in keyof T as T[K] extends { sets: infer S extends string } ? S : never]: Read<T[K]> | Or<T[K]>;
};

/** Values for the engine: as given, or the default. @throws UsageError naming the flag */
export function engineValues<T extends Table>(table: T, flags: Flags): EngineValues<T> {
  const values: Record<string, unknown> = valuesOf(table, flags);
  const pairs = Object.entries(table).flatMap(([name, { sets }]) =>
    sets === undefined ? [] : [[sets, values[name]] as const],
  );
  return Object.fromEntries(pairs) as EngineValues<T>;
}

/** Flags of a table as commander returns them: texts, or whether a flag was given. */
export type RawFlags<T extends Table> = {
  -readonly [K in keyof T]?: T[K]['type'] extends Type<boolean> ? boolean : string;
};
