/** Where files are by default, and how a token is read and printed. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../src/cli/settings/index.js';
import {
  configLocation,
  readToken,
  Secret,
  type SettingsFlags,
  type SettingsWorld,
  stateLocation,
} from '../../../src/cli/settings/sources.js';
import { scratch } from '../../support/cli.js';

describe('a token is one word', () => {
  it.each([
    ['abc-DEF_123.~+/=', 'abc-DEF_123.~+/='],
    ['  abc\r\n', 'abc'],
    ['\uFEFFabc\n', 'abc'],
  ])('%j is read', (text, expected) => {
    expect(readToken(text, 'here')?.reveal()).toBe(expected);
  });
  it.each(['', ' ', '\r\n', '\uFEFF'])('%j is not a token', (text) => {
    expect(readToken(text, 'here')).toBeNull();
  });
  it.each([
    'SEC RET',
    'SEC\tRET',
    'SEC\nRET',
    'SEC\r\nX-Other: RET',
    'SEC\u00a0RET',
    'SEC\u0000RET',
    'SEC\u001b[2JRET',
    'SECRÈT',
    'Token SECRET',
  ])('%j is refused without being printed', (text) => {
    expect(() => readToken(text, 'PROFILES_TOKEN')).toThrow(
      /^the token from PROFILES_TOKEN contains (white space|a control or non-ASCII character)$/,
    );
  });
});

it('a secret shows its last four characters wherever it is printed', () => {
  const secret = new Secret('0123456789abcdef');
  const printed = [
    String(secret),
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ deep: { secret } }),
    `${secret}`,
  ];
  for (const text of printed) {
    expect(text).toContain('…cdef');
    expect(text).not.toContain('9abcdef');
  }
  expect(String(new Secret('short'))).toBe('…');
});

it('the password of a state is in nothing that is printed', async () => {
  const env = { HOME: scratch(), PROFILES_STATE: 'postgres://loader:Hush/99@db.test/crm' };
  const settings = await resolveSettings(unix(env), {});
  expect(inspect(settings, { depth: 9 }) + JSON.stringify(settings)).not.toContain('Hush');
});

const unix = (env: Record<string, string>): SettingsWorld => ({ env, platform: 'linux', cwd: '/here' });
const windows = (env: Record<string, string>): SettingsWorld => ({ env, platform: 'win32', cwd: 'C:\\here' });
const HOME = { HOME: '/home/a' };
const APP_DATA = 'C:\\Users\\a\\AppData';
const ROAMING = { APPDATA: `${APP_DATA}\\Roaming`, LOCALAPPDATA: `${APP_DATA}\\Local` };

describe('where files are by default', () => {
  it.each<[SettingsWorld, SettingsFlags, string, origin?: string]>([
    [unix(HOME), {}, '/home/a/.config/profiles/config.json'],
    [unix({ ...HOME, XDG_CONFIG_HOME: '/xdg' }), {}, '/xdg/profiles/config.json'],
    [unix({ ...HOME, XDG_CONFIG_HOME: 'relative' }), {}, '/home/a/.config/profiles/config.json'],
    [unix({ ...HOME, PROFILES_CONFIG: '/etc/p.json' }), {}, '/etc/p.json', 'environment PROFILES_CONFIG'],
    [unix({ ...HOME, PROFILES_CONFIG: 'p.json' }), {}, '/here/p.json', 'environment PROFILES_CONFIG'],
    [unix({ PROFILES_CONFIG: '/etc/p.json' }), { config: 'q.json' }, '/here/q.json', 'flag --config'],
    [windows(ROAMING), {}, `${APP_DATA}\\Roaming\\profiles\\config.json`],
    [windows(ROAMING), { config: 'q.json' }, 'C:\\here\\q.json', 'flag --config'],
    [windows({ USERPROFILE: 'C:\\Users\\a' }), {}, 'C:\\Users\\a\\.config\\profiles\\config.json'],
  ])('the config file: %j %j is %s', (world, flags, value, origin = 'default') => {
    expect(configLocation(world, flags)).toEqual({ value, origin });
  });
  it.each<[SettingsWorld, string, origin?: string]>([
    [unix(HOME), '/home/a/.local/state/profiles'],
    [unix({ ...HOME, XDG_STATE_HOME: '/xdg' }), '/xdg/profiles'],
    [unix({ ...HOME, PROFILES_STATE_DIR: '.state' }), '/here/.state', 'environment PROFILES_STATE_DIR'],
    [windows(ROAMING), `${APP_DATA}\\Local\\profiles\\state`],
  ])('the state folder: %j is %s', (world, value, origin = 'default') => {
    expect(stateLocation(world)).toEqual({ value, origin });
  });
  it('without a home folder it says what to set', () => {
    const message = 'no home folder found, so there is no default for --config';
    expect(() => configLocation(unix({}), {})).toThrow(message);
    expect(configLocation(unix({}), { config: '/c.json' }).value).toBe('/c.json');
  });
});
