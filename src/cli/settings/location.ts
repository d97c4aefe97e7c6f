/** Where the config file and the state folder are, by flag, environment, and platform (contract §2). */
import { posix, win32 } from 'node:path';
import { ConfigError, UsageError } from '../../engine/errors.js';
import { withoutPassword } from '../../engine/state/location.js';
import { GLOBAL, spelled } from '../options/index.js';
import { readPath } from '../options/types.js';
import type { Settings, SettingsFlags, SettingsWorld } from './types.js';

/** A value and its origin, as `config list` shows it. */
export interface Found<T> {
  value: T;
  origin: string;
}

/**
 * The value of an environment variable. An empty one counts as absent, because CI systems pass missing
 * secrets that way.
 */
export function variable(world: SettingsWorld, name: string): string | undefined {
  return world.env[name] || undefined;
}

/** The value of a flag, otherwise of its environment variable; null if neither is set. */
export function flagOrVariable(
  world: SettingsWorld,
  flags: SettingsFlags,
  name: 'config' | 'account' | 'region' | 'state',
): Found<string> | null {
  const flag = flags[name];
  if (flag !== undefined) return { value: flag, origin: `flag ${spelled(name)}` };
  return fromVariable(world, GLOBAL[name].env);
}

function fromVariable(world: SettingsWorld, env: string): Found<string> | null {
  const value = variable(world, env);
  return value === undefined ? null : { value, origin: `environment ${env}` };
}

/** The name of the flag or variable, for errors: `--config`, `PROFILES_CONFIG`. */
export const setting = ({ origin }: Found<string>): string => origin.replace(/^(flag|environment) /, '');

/**
 * `--config`, otherwise `$PROFILES_CONFIG`, otherwise the default of the platform. Relative paths start from
 * the working directory.
 */
export function configLocation(world: SettingsWorld, flags: SettingsFlags): Found<string> {
  return locate(world, {
    chosen: flagOrVariable(world, flags, 'config'),
    what: `--config (or ${GLOBAL.config.env})`,
    windows: ['APPDATA', 'profiles', 'config.json'],
    xdg: 'XDG_CONFIG_HOME',
    home: ['.config'],
    below: ['profiles', 'config.json'],
  });
}

/** The folder of the state, or its URL without the password. */
export const stateName = ({ state }: Pick<Settings, 'state'>): string =>
  state.kind === 'sqlite' ? state.folder : withoutPassword(state.url.reveal());

/** This machine's own folder: `$PROFILES_STATE_DIR`, otherwise the default of the platform. */
export function stateLocation(world: SettingsWorld): Found<string> {
  return locate(world, {
    chosen: fromVariable(world, GLOBAL.stateDir.env),
    what: `--state (or ${GLOBAL.stateDir.env})`,
    windows: ['LOCALAPPDATA', 'profiles', 'state'],
    xdg: 'XDG_STATE_HOME',
    home: ['.local', 'state'],
    below: ['profiles'],
  });
}

interface Places {
  chosen: Found<string> | null;
  /** The flag and the variable that name it, for errors. */
  what: string;
  windows: [variable: string, ...below: string[]];
  xdg: string;
  home: string[];
  below: string[];
}

function locate(world: SettingsWorld, places: Places): Found<string> {
  const path = world.platform === 'win32' ? win32 : posix;
  const { chosen, what } = places;
  if (chosen) return { ...chosen, value: path.resolve(world.cwd, readPath(chosen.value, setting(chosen))) };
  if (world.platform === 'win32') {
    const [name, ...below] = places.windows;
    const folder = variable(world, name);
    if (folder) return { value: path.join(folder, ...below), origin: 'default' };
  }
  const xdg = variable(world, places.xdg);
  // Relative paths are ignored (XDG Base Directory Specification).
  if (xdg && path.isAbsolute(xdg)) return { value: path.join(xdg, ...places.below), origin: 'default' };
  const home = variable(world, 'HOME') ?? variable(world, 'USERPROFILE');
  if (!home) {
    const [flag] = what.split(' ');
    throw new ConfigError(`no home folder found, so there is no default for ${flag}`, {
      hint: `set HOME, or use ${what}`,
    });
  }
  return { value: path.join(home, ...places.home, ...places.below), origin: 'default' };
}

/** Turns a `ConfigError` into a `UsageError`, for values of flags. */
export function asUsage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { hint: error.hint });
    throw error;
  }
}
