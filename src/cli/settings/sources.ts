/**
 * Where a setting comes from (contract §2): its flag, its environment variable, the account's section of the config
 * file, the top of the file, or its default, in this order. Each value keeps its origin.
 */
import { posix, win32 } from 'node:path';
import { ConfigError, UsageError } from '../../engine/errors.js';
import { withoutPassword } from '../../engine/state/location.js';
import type { Clock } from '../../engine/util/clock.js';
import { GLOBAL, type Option, type RawFlags, spelled } from '../options/index.js';
import { readPath } from '../options/types.js';
import { type ConfigFile, type ConfigSection, type Scalar, valueAt } from './keys.js';

/** The part of the world that settings are read from. `World` and `Context` have it. */
export interface SettingsWorld {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  cwd: string;
  /** Aborted when reading must stop. */
  stop?: AbortSignal;
}

/** What running `token_command` needs. */
export type CommandWorld = Pick<SettingsWorld, 'env'> & { clock: Clock; stop: AbortSignal };

/** The flags that decide settings, as commander names them. */
export type SettingsFlags = Pick<
  RawFlags<typeof GLOBAL>,
  'config' | 'account' | 'region' | 'baseUrl' | 'lookupBaseUrl' | 'state' | 'requestTimeout'
>;

/** What was decided (`resolveSettings`). */
export interface Settings {
  /** Configured name of the account, or null. */
  account: string | null;
  /** All that are configured. */
  accounts: readonly string[];
  region: string;
  /** True for region `sandbox`: the service is embedded, and this process makes its hosts and token. */
  embedded: boolean;
  /**
   * Without a slash at the end. Null if none is configured: `requireBaseUrl` throws the error with the
   * commands to run.
   */
  baseUrl: string | null;
  lookupBaseUrl: string | null;
  /** Other regions of the config file that have a host. */
  otherRegions: readonly string[];
  /**
   * The token, or what has it when it is needed: a program that prints it on its first line, or a file. Null if there is
   * none, and for region `sandbox`, to which a real token is never sent.
   */
  token: Secret | { words: readonly string[] } | { path: string } | null;
  /** Where runs, jobs, and fingerprints are: a folder, or a URL that may contain a password. */
  state: { kind: 'sqlite'; folder: string } | { kind: 'postgres'; url: Secret };
  /** The folder for this machine's own files: spooled inputs and the sandbox's data. */
  stateDir: string;
  /** Time limit of one HTTP request, in milliseconds. Default 120 s. */
  timeoutMs: number;
  /** Whether to ask before anything is sent. */
  confirm: boolean;
  /** `import.*` of the file: defaults for flags of an import, by camelCase name, with values as in the file. */
  importDefaults: Readonly<Record<string, ImportDefault>>;
  /** The config file, whether or not it exists. */
  configPath: string;
  /** The origin of each value, by its name in `config list`: `region`, `base_url`, `import.chunk_size`, … */
  origins: Readonly<Record<string, string>>;
  /** Warnings to print once, such as an ignored environment variable. */
  warnings: string[];
}

/** No flag of an import is an array. */
export type ImportDefault = Exclude<Scalar, string[]>;

/** A value and its origin, as `config list` shows it. */
export type Found<T> = { value: T; origin: string };

/** A section of the config file, and the prefix of its keys: empty at the top, `accounts.prod.` in an account. */
export type Section = { section: ConfigSection; prefix: string };

/** The config file as it was read. `mode` is null if there is no file, or on Windows. */
export type ReadConfig = { path: string; exists: boolean; content: ConfigFile; mode: number | null };

export interface Sources {
  world: SettingsWorld;
  flags: SettingsFlags;
  config: ReadConfig;
  /** The account's section, if one is chosen, and the top. */
  sections: readonly Section[];
}

/** Warns that a variable is ignored, if it is set. */
export type Ignore = (variable: string, why: string) => void;

/** An environment variable. An empty one counts as absent, because CI systems pass missing secrets that way. */
export const variable = ({ env }: Pick<SettingsWorld, 'env'>, name: string): string | undefined =>
  env[name] || undefined;

/** The value of a flag, otherwise of its environment variable; null if neither is set. */
export function flagOrVariable(
  world: SettingsWorld,
  flags: SettingsFlags,
  name: keyof SettingsFlags | 'stateDir',
): Found<string> | null {
  const { env = '', config, flag }: Option = GLOBAL[name];
  const given = name === 'stateDir' ? undefined : flags[name];
  if (given !== undefined)
    return { value: given, origin: `flag ${flag === false ? `-o ${config}` : spelled(name)}` };
  const value = variable(world, env);
  return value === undefined ? null : { value, origin: `environment ${env}` };
}

/** The value of the first of these keys, such as `base_url`, in the first section of the file that has one. */
export function inFile<T extends Scalar = string>(
  { config: { path }, sections }: Pick<Sources, 'config' | 'sections'>,
  ...keys: string[]
): Found<T> | null {
  for (const { section, prefix } of sections) {
    for (const key of keys) {
      const value = valueAt(section, key.split('.')) as T | undefined;
      if (value !== undefined) return { value, origin: `${path} (${prefix}${key})` };
    }
  }
  return null;
}

/** What a value is called in errors: `config.json: regions.eu.token`. */
export const placeOf = ({ origin }: Found<unknown>): string => origin.replace(/ \(([^()]*)\)$/, ': $1');

/** A setting by its name in the table of options; null if only its default applies. */
export function find(sources: Sources, name: 'region' | 'state' | 'requestTimeout'): Found<string> | null {
  return flagOrVariable(sources.world, sources.flags, name) ?? inFile(sources, GLOBAL[name].config);
}

/** The name of the flag or variable, for errors: `--config`, `PROFILES_CONFIG`. */
export const setting = ({ origin }: Found<string>): string => origin.replace(/^(flag|environment) /, '');

/** An own property: `constructor` is a possible name. */
export const property = <T>(record: Record<string, T> | undefined, name: string): T | undefined =>
  record && Object.hasOwn(record, name) ? record[name] : undefined;

/** Turns a `ConfigError` into a `UsageError`, for values of flags. */
export function asUsage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { hint: error.hint });
    throw error;
  }
}

/** The config file: `--config`, `$PROFILES_CONFIG`, or the default of the platform. */
export const configLocation = (world: SettingsWorld, flags: SettingsFlags): Found<string> =>
  locate(world, flagOrVariable(world, flags, 'config'), `--config (or ${GLOBAL.config.env})`, {
    windows: ['APPDATA', 'profiles/config.json'],
    xdg: ['XDG_CONFIG_HOME', '.config', 'profiles/config.json'],
  });

/** This machine's own folder: `$PROFILES_STATE_DIR`, otherwise the default of the platform. */
export const stateLocation = (world: SettingsWorld): Found<string> =>
  locate(world, flagOrVariable(world, {}, 'stateDir'), `--state (or ${GLOBAL.stateDir.env})`, {
    windows: ['LOCALAPPDATA', 'profiles/state'],
    xdg: ['XDG_STATE_HOME', '.local/state', 'profiles'],
  });

/** Variables of folders, and what is below them. In place of the XDG folder, there may be one below the home folder. */
type Places = {
  windows: [variable: string, below: string];
  xdg: [variable: string, home: string, below: string];
};

/** Relative paths start from the working directory. @param what the flag and the variable that name it, for errors */
function locate(world: SettingsWorld, chosen: Found<string> | null, what: string, { windows, xdg }: Places) {
  const isWindows = world.platform === 'win32';
  const path = isWindows ? win32 : posix;
  if (chosen) return { ...chosen, value: path.resolve(world.cwd, readPath(chosen.value, setting(chosen))) };
  const [name, inHome, below] = xdg;
  const folder = variable(world, name);
  const home = variable(world, 'HOME') ?? variable(world, 'USERPROFILE');
  const appData = isWindows ? variable(world, windows[0]) : undefined;
  // Relative paths are ignored (XDG Base Directory Specification).
  const isOwn = folder !== undefined && path.isAbsolute(folder);
  const places = [appData && [appData, windows[1]], isOwn && [folder, below], home && [home, inHome, below]];
  const found = places.find(Boolean) || undefined;
  if (found) return { value: path.join(...found), origin: 'default' };
  throw new ConfigError(`no home folder found, so there is no default for ${what.split(' ')[0]}`, {
    hint: `set HOME, or use ${what}`,
  });
}

/** The folder of the state, or its URL without the password. */
export const stateName = ({ state }: Pick<Settings, 'state'>): string =>
  state.kind === 'sqlite' ? state.folder : withoutPassword(state.url.reveal());

/** A token that cannot be printed by accident. */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  reveal(): string {
    return this.#value;
  }
  /**
   * `…abcd`: the last four characters, which is all that is ever shown. Only `…` for fewer than 8 characters.
   */
  toString(): string {
    return this.#value.length < 8 ? '…' : `…${this.#value.slice(-4)}`;
  }
  toJSON(): string {
    return this.toString();
  }
  /** For `util.inspect`, which `console.log` uses. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/**
 * Trims and checks a token; null if nothing is left.
 * @param origin where it was read, for the error, which never contains the token
 * @throws ConfigError for white space, control characters, and non-ASCII characters, which headers must not
 * contain. For a line break, Node's error would print the whole header
 */
export function readToken(text: string, origin: string): Secret | null {
  const token = text.replace(/^\uFEFF/, '').trim();
  if (token === '') return null;
  if (/[^\x21-\x7e]/.test(token)) {
    const kind = /\s/.test(token) ? 'white space' : 'a control or non-ASCII character';
    throw new ConfigError(`the token from ${origin} contains ${kind}`, {
      hint: 'copy it again from the settings of your account, on one line and without "Token"',
    });
  }
  return new Secret(token);
}
