import { describe, expect, it } from 'vitest';
import {
  configLocation,
  type SettingsFlags,
  type SettingsWorld,
  stateLocation,
} from '../../../src/cli/settings/sources.js';

const unix = (env: Record<string, string>): SettingsWorld => ({ env, platform: 'linux', cwd: '/here' });
const windows = (env: Record<string, string>): SettingsWorld => ({ env, platform: 'win32', cwd: 'C:\\here' });
const ROAMING = { APPDATA: 'C:\\Users\\a\\AppData\\Roaming', LOCALAPPDATA: 'C:\\Users\\a\\AppData\\Local' };

describe('config file', () => {
  it.each<[SettingsWorld, SettingsFlags, string, string]>([
    [unix({ HOME: '/home/a' }), {}, '/home/a/.config/profiles/config.json', 'default'],
    [unix({ HOME: '/home/a', XDG_CONFIG_HOME: '/xdg' }), {}, '/xdg/profiles/config.json', 'default'],
    [
      unix({ HOME: '/home/a', XDG_CONFIG_HOME: 'relative' }),
      {},
      '/home/a/.config/profiles/config.json',
      'default',
    ],
    [
      unix({ HOME: '/home/a', PROFILES_CONFIG: '/etc/p.json' }),
      {},
      '/etc/p.json',
      'environment PROFILES_CONFIG',
    ],
    [unix({ HOME: '/home/a', PROFILES_CONFIG: 'p.json' }), {}, '/here/p.json', 'environment PROFILES_CONFIG'],
    [
      unix({ HOME: '/home/a', PROFILES_CONFIG: '/etc/p.json' }),
      { config: 'q.json' },
      '/here/q.json',
      'flag --config',
    ],
    [windows(ROAMING), {}, 'C:\\Users\\a\\AppData\\Roaming\\profiles\\config.json', 'default'],
    [windows(ROAMING), { config: 'q.json' }, 'C:\\here\\q.json', 'flag --config'],
    [windows({ USERPROFILE: 'C:\\Users\\a' }), {}, 'C:\\Users\\a\\.config\\profiles\\config.json', 'default'],
  ])('%j %j is %s', (world, flags, value, origin) => {
    expect(configLocation(world, flags)).toEqual({ value, origin });
  });
});

describe('state folder', () => {
  it.each<[SettingsWorld, string, string]>([
    [unix({ HOME: '/home/a' }), '/home/a/.local/state/profiles', 'default'],
    [unix({ HOME: '/home/a', XDG_STATE_HOME: '/xdg' }), '/xdg/profiles', 'default'],
    [
      unix({ HOME: '/home/a', PROFILES_STATE_DIR: '.state' }),
      '/here/.state',
      'environment PROFILES_STATE_DIR',
    ],
    [windows(ROAMING), 'C:\\Users\\a\\AppData\\Local\\profiles\\state', 'default'],
  ])('%j is %s', (world, value, origin) => {
    expect(stateLocation(world)).toEqual({ value, origin });
  });
});

it('without a home folder it says what to set', () => {
  expect(() => configLocation(unix({}), {})).toThrow(
    'no home folder found, so there is no default for --config',
  );
  expect(configLocation(unix({}), { config: '/c.json' }).value).toBe('/c.json');
});
