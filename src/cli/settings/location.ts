/** Where the config file and the state folder are (contract §2), by flag, environment and platform. */
import { posix, win32 } from 'node:path';
import { ConfigError } from '../../engine/errors.js';
import type { SettingsFlags, SettingsWorld } from './world.js';

/** A value and where it came from, as `config list` shows it. */
export interface Found<T> {
  value: T;
  origin: string;
}

/** A variable that is set to nothing counts as absent: CI systems pass a missing secret that way. */
export function variable(world: SettingsWorld, name: string): string | undefined {
  return world.env[name] || undefined;
}

/** `--config`, else `$PROFILES_CONFIG`, else the platform's place. Relative paths count from the working directory. */
export function configLocation(world: SettingsWorld, flags: SettingsFlags): Found<string> {
  return locate(world, {
    flag: ['--config', flags.config],
    variable: 'PROFILES_CONFIG',
    windows: ['APPDATA', 'profiles', 'config.json'],
    xdg: 'XDG_CONFIG_HOME',
    home: ['.config'],
    below: ['profiles', 'config.json'],
  });
}

/** `--state-dir`, else `$PROFILES_STATE_DIR`, else the platform's place. */
export function stateLocation(world: SettingsWorld, flags: SettingsFlags): Found<string> {
  return locate(world, {
    flag: ['--state-dir', flags.stateDir],
    variable: 'PROFILES_STATE_DIR',
    windows: ['LOCALAPPDATA', 'profiles', 'state'],
    xdg: 'XDG_STATE_HOME',
    home: ['.local', 'state'],
    below: ['profiles'],
  });
}

interface Places {
  flag: [name: string, value: string | undefined];
  variable: string;
  windows: [variable: string, ...below: string[]];
  xdg: string;
  home: string[];
  below: string[];
}

function locate(world: SettingsWorld, places: Places): Found<string> {
  const path = world.platform === 'win32' ? win32 : posix;
  const [flag, given] = places.flag;
  if (given !== undefined) return { value: path.resolve(world.cwd, given), origin: `flag ${flag}` };
  const named = variable(world, places.variable);
  if (named) return { value: path.resolve(world.cwd, named), origin: `environment ${places.variable}` };
  if (world.platform === 'win32') {
    const [name, ...below] = places.windows;
    const folder = variable(world, name);
    if (folder) return { value: path.join(folder, ...below), origin: 'default' };
  }
  const xdg = variable(world, places.xdg);
  // A relative path there is to be ignored (XDG Base Directory Specification).
  if (xdg && path.isAbsolute(xdg)) return { value: path.join(xdg, ...places.below), origin: 'default' };
  const home = variable(world, 'HOME') ?? variable(world, 'USERPROFILE');
  if (!home) {
    throw new ConfigError(`no home folder is known, so there is no place for ${flag}`, {
      hint: `set HOME, or give ${flag} (or ${places.variable})`,
    });
  }
  return { value: path.join(home, ...places.home, ...places.below), origin: 'default' };
}
